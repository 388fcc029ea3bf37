"""The one table of settings, and how their values are put together."""
