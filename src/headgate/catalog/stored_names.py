"""What pointers and indexes are called in the store, where exports know them too: they never
change."""

CATALOG_POINTER = "catalogs"
NAMES = "names"
IDS = "ids"  # from an id to its key in the name index
LOCATIONS = "locations"
STAGED = "staged"  # tables that were staged, by the time at which they end
FOLDERS = "folders"  # where namespaces keep their tables, if they chose it
FOLDERS_UNTIL = "folders-until"  # a mark: below this id, all namespaces are in that index
LEFT = "left"  # where catalogs that are no more left files
