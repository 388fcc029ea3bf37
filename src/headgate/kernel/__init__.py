"""A catalog's persistence on nothing but compare-and-swap of one row."""
