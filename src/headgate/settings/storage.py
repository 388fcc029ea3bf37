"""Settings of the files of tables, wherever these lie."""

from headgate.settings.setting import Setting

STORAGE_LOCAL_SYNC = Setting(
    name="storage.local-sync",
    type=bool,
    default=True,
    help="Whether a local file is forced to the disk before anything refers to it.",
)
STORAGE_ENDPOINTS = Setting(
    name="storage.allowed-endpoints",
    type=str,
    default="",
    default_help="none",
    help="Your own endpoints of object stores, besides those of the clouds: "
    "URLs, separated by commas.",
)
VERIFY_METADATA_FILE = Setting(
    name="storage.verify-metadata-file",
    type=str,
    default="auto",
    choices=("auto", "always"),
    help="When to check that a table's metadata file is still there before it is served: "
    "in local warehouses only, or always.",
)
