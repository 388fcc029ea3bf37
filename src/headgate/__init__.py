"""Headgate: a lakehouse catalog on one compare-and-swap kernel."""

__version__ = "0.1.0"
