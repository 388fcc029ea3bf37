"""Tests with whole tables; they need pyiceberg with pyarrow, SQLite and pyiceberg-core."""
