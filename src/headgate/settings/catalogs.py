"""Settings of catalogs: the first one, names of nested schemas, and what is kept in memory."""

from headgate.model.separators import DEFAULT as SEPARATOR_DEFAULT
from headgate.model.separators import Governance
from headgate.settings.setting import Setting

BOOTSTRAP = Setting(
    name="bootstrap.enabled",
    type=bool,
    default=True,
    help="Whether a fresh store is given a metalake and a catalog.",
)
BOOTSTRAP_METALAKE = Setting(
    name="bootstrap.metalake",
    type=str,
    default="default",
    help="The name of that metalake.",
)
BOOTSTRAP_CATALOG = Setting(
    name="bootstrap.catalog",
    type=str,
    default="main",
    help="The name of that catalog.",
)
BOOTSTRAP_WAREHOUSE = Setting(
    name="bootstrap.warehouse",
    type=str,
    default="",
    default_help="the directory `warehouse` in the data directory",
    help="The location of that catalog: new tables lie in it.",
)
BOOTSTRAP_ALLOWED_LOCATIONS = Setting(
    name="bootstrap.allowed-locations",
    type=str,
    default="",
    default_help="none",
    help="Where else tables of that catalog may lie: locations, separated by commas.",
)
BOOTSTRAP_ACCEPT_TABLES = Setting(
    name="bootstrap.accept-tables",
    type=bool,
    default=False,
    help="Whether a fresh store is made though there are tables in its warehouse. Without it such "
    "a store does not start: its database may have been lost. Tables that are there can be "
    "registered.",
)
CATALOGS_WAREHOUSE = Setting(
    name="catalogs.warehouse",
    type=str,
    default="",
    default_help="the directory `warehouses` in the data directory",
    help="The location below which catalogs that are created without one of their own get a "
    "folder each.",
)
CATALOGS_ALLOWED_LOCATIONS = Setting(
    name="catalogs.allowed-locations",
    type=str,
    default="",
    default_help="none",
    help="Below which other locations those who create catalogs by HTTP may choose one: "
    "locations, separated by commas.",
)
CATALOGS_SHARE_FILES = Setting(
    name="catalogs.share-files",
    type=bool,
    default=True,
    help="Whether files are kept that tables of other catalogs refer to: purges and the search for "
    "orphans then look at the tables of all catalogs first. Without it they look at those of the "
    "same catalog only, and a table that refers to files of another one loses them.",
)
SCHEMA_SEPARATOR = Setting(
    name="schema.separator",
    type=str,
    default=SEPARATOR_DEFAULT,
    help="The character between the levels of a nested schema's name.",
    aliases=("gravitino.schema.separator",),
)
SCHEMA_GOVERNANCE = Setting(
    name="schema.separator-governance",
    type=str,
    default=Governance.RESTRICTED.value,
    choices=tuple(one.value for one in Governance),
    help="Whether only characters that are rare in names may be the separator, "
    "which is then reserved in all names.",
)
METADATA_CACHE_BYTES = Setting(
    name="metadata.cache-bytes",
    type=int,
    default=64 << 20,
    unit="bytes",
    least=0,
    help="How much memory the cache of table metadata may take. If one file is larger than all of "
    "it, the last such file is kept besides, unless this is 0.",
)
ANSWERS_CACHE_BYTES = Setting(
    name="answers.cache-bytes",
    type=int,
    default=64 << 20,
    unit="bytes",
    least=0,
    help="How much memory the cache of ready answers may take.",
)
