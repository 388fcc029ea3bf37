"""What pointers and indexes are called in the store, where exports know them too: they never
change."""

CATALOG_POINTER = "catalogs"
NAMES = "names"
IDS = "ids"  # from an id to its key in the name index
LOCATIONS = "locations"
