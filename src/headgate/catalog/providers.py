"""Kinds of catalogs: what each provider means here, and which properties a caller may give.

Tables of Iceberg catalogs are kept by Headgate itself. Catalogs of providers that it does not know
hold schemas and say that they are metadata only: nothing that they describe is ever opened.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headgate.errors import BadRequest

RELATIONAL, FILESET, MODEL, MESSAGING = "relational", "fileset", "model", "messaging"
TYPES = (RELATIONAL, FILESET, MODEL, MESSAGING)
ICEBERG = "lakehouse-iceberg"
BACKEND, URI, WAREHOUSE = "catalog-backend", "uri", "warehouse"
REST = "rest"
OWN_PREFIX = "headgate."
LOCATION = f"{OWN_PREFIX}location"
"""Where the tables of an Iceberg catalog lie."""
METADATA_ONLY = f"{OWN_PREFIX}metadata-only"
UPKEEP_PREFIX = f"{OWN_PREFIX}upkeep."
"""Policies for the tables in it, which are everybody's who may change the catalog."""
PURGE_SCOPE = f"{OWN_PREFIX}purge.scope"
"""Where purges of an Iceberg catalog's tables delete; only the catalog's owners can set it."""
TABLE_SCOPE, CATALOG_SCOPE = "table", "catalog"
"""In the table's own locations; or in all of the catalog's that no other table holds."""
_OWN_TYPES = {ICEBERG: RELATIONAL, FILESET: FILESET, MODEL: MODEL}
_DEFAULTS = {FILESET: FILESET, MODEL: MODEL}
_PROVIDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SECRET = re.compile(
    r"(^|[-._])(password|passwd|secret|token|credential|(secret-)?access-key|secret-key"
    r"|account-key|private-key)$",
    re.IGNORECASE,
)


class Sort(NamedTuple):
    """What kind of catalog it is."""

    type: str
    provider: str

    @property
    def is_iceberg(self) -> bool:
        """Whether Headgate keeps its tables."""
        return self.provider == ICEBERG

    @property
    def is_metadata_only(self) -> bool:
        """Whether it only describes what others keep."""
        return self.provider not in _OWN_TYPES


def sort_of(type: str, provider: str | None) -> Sort:
    """The kind of catalog that a request names. `hadoop` is an older name of filesets."""
    kind = type.lower()
    if kind not in TYPES:
        raise BadRequest(
            f"Invalid catalog type: {type[:80]!r}",
            why=f"there are {', '.join(TYPES)}",
            fix="Choose one of these",
        )
    name = provider or _DEFAULTS.get(kind, "")
    if kind == FILESET and name == "hadoop":
        name = FILESET
    if not _PROVIDER.fullmatch(name):
        raise BadRequest(
            f"Invalid catalog provider: {name[:80]!r}",
            why="it must be letters, digits, dots, dashes and underscores, 64 at most",
            fix=f"Name one, as {ICEBERG}",
        )
    own = _OWN_TYPES.get(name, kind)
    if own != kind or _DEFAULTS.get(kind, name) != name:
        raise BadRequest(
            f"Provider {name} has no catalogs of type {kind}",
            why=f"its catalogs are of type {own}" if own != kind else f"{kind}s have their own",
            fix="Correct the type or the provider",
        )
    return Sort(kind, name)


def check_given(sort: Sort, properties: Mapping[str, str]) -> None:
    """Refuse properties that a caller of this kind of catalog cannot set."""
    check_settable(sort, (name for name in properties if name not in {WAREHOUSE, BACKEND}))
    check_purge_scope(properties)
    backend = properties.get(BACKEND, REST)
    if sort.is_iceberg and backend.lower() != REST:
        raise BadRequest(
            f"Iceberg catalogs with the {BACKEND} {backend[:80]!r} are not offered",
            why="Headgate keeps their tables itself, and offers them by REST",
            fix=f"Leave {BACKEND} out",
        )


def check_settable(sort: Sort, names: Iterable[str]) -> None:
    """Refuse changes of properties that the server keeps, and secrets, which it does not."""
    kept = {BACKEND, URI, WAREHOUSE} if sort.is_iceberg else set()
    for name in names:
        is_open = name.startswith(UPKEEP_PREFIX) or (sort.is_iceberg and name == PURGE_SCOPE)
        is_own = name.startswith(OWN_PREFIX) and not is_open
        if name in kept or name == "in-use" or is_own:
            raise BadRequest(
                f"Property {name} cannot be set or removed",
                why="the server keeps it",
                fix="Leave it out",
            )
        if _SECRET.search(name):
            raise BadRequest(
                f"Property {name} cannot be set",
                why="it is a secret, and everybody who may use the catalog sees its properties",
                fix="Leave it out; the stores of files are in the settings of the server",
            )


def check_purge_scope(properties: Mapping[str, str]) -> None:
    """Refuse a scope of purges that there is not."""
    scope = properties.get(PURGE_SCOPE, TABLE_SCOPE)
    if scope not in {TABLE_SCOPE, CATALOG_SCOPE}:
        raise BadRequest(
            f"Invalid property {PURGE_SCOPE}: {scope[:80]!r}",
            why=f"it is neither {TABLE_SCOPE} nor {CATALOG_SCOPE}",
            fix=f"Use {TABLE_SCOPE}, or {CATALOG_SCOPE} if purges may delete files of the catalog "
            "that lie outside of the dropped table's own locations",
        )


def purges_whole_catalog(properties: Mapping[str, str]) -> bool:
    """Whether purges may delete in all locations of a catalog with these properties."""
    return properties.get(PURGE_SCOPE) == CATALOG_SCOPE
