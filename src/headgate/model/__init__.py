"""Names, entities and Iceberg metadata as plain values; nothing here waits, reads or writes."""
