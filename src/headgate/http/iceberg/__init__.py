"""The Iceberg REST protocol: each handler decodes, calls a use case, and encodes."""
