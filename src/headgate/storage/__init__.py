"""Files of tables: local and in object stores, and credentials for those who read them."""
