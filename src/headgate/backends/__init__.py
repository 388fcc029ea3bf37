"""One module per database; none knows another or anything above the port."""
