"""The suite of the Iceberg REST server: ours against Iceberg's own, in one run on one machine."""
