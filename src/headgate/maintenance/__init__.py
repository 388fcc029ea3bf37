"""The sweep: what no pointer leads to any more is deleted from the store."""
