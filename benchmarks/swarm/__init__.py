"""Many clients at once, played by Locust: tables are dropped while others load and commit."""
