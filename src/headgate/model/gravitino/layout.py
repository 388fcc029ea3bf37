"""What else tables have: who writes which rows, and which columns identify one."""

from collections.abc import Mapping, Sequence

from headgate.errors import BadRequest
from headgate.model import schemas
from headgate.model.gravitino import paths
from headgate.model.gravitino.wire import Distribution, FieldName, Index
from headgate.model.json_values import Object

DISTRIBUTION_MODE = "write.distribution-mode"
PRIMARY_KEY = "PRIMARY_KEY"
KEY_NAME = "PRIMARY"
"""Of the one index; Iceberg keeps no name of it."""


def to_mode(distribution: Distribution | None, *, partitioned: bool, sorted: bool) -> str:
    """Iceberg's distribution mode. One that nobody chose is what suits the table best."""
    mode = "none" if distribution is None else distribution.strategy.lower()
    if mode == "none":
        if sorted:
            return "range"
        return "hash" if partitioned else "none"
    why = ""
    if mode not in {"hash", "range"}:
        why = "Iceberg does not know it"
    elif distribution is not None and (distribution.func_args or distribution.number > 0):
        why = "Iceberg distributes by what the table is partitioned or sorted by, into any number"
    elif mode == "hash" and not partitioned:
        why = "the table is not partitioned"
    elif not partitioned and not sorted:
        why = "the table is neither partitioned nor sorted"
    if why:
        raise BadRequest(
            f"Invalid distribution {mode[:80]}", why=why, fix="Use none, or hash or range alone"
        )
    return mode


def from_mode(properties: Mapping[str, str]) -> Distribution:
    """The distribution of a table with these properties."""
    mode = properties.get(DISTRIBUTION_MODE, "").lower()
    return Distribution(strategy=mode if mode in {"hash", "range"} else "none")


def to_identifiers(indexes: Sequence[Index], schema: Object) -> list[int]:
    """The ids of the columns that identify a row."""
    if len(indexes) > 1:
        raise BadRequest(
            "Invalid indexes", why="Iceberg has one primary key and no others", fix="Send one"
        )
    return [id for index in indexes for id in _key(index, schema)]


def from_identifiers(schema: Object, names: Mapping[int, FieldName]) -> list[Index]:
    """The columns that identify a row as an index."""
    key = [names[id] for id in schemas.identifier_ids(schema)]
    if not key:
        return []
    return [Index(index_type=PRIMARY_KEY, name=KEY_NAME, field_names=key, properties={})]


def _key(index: Index, schema: Object) -> list[int]:
    if index.index_type.upper() != PRIMARY_KEY:
        raise BadRequest(
            f"Invalid index {index.index_type[:80]}",
            why="Iceberg has no indexes but the primary key",
            fix=f"Use {PRIMARY_KEY}",
        )
    if not index.field_names:
        raise BadRequest("Invalid primary key", why="it names no columns", fix="Name some")
    return [paths.require(schema, name).id for name in index.field_names]
