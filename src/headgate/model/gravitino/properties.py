"""Properties of tables: which of them clients may set, and what they see besides."""

from collections.abc import Mapping

from headgate.errors import BadRequest
from headgate.model import schemas, table_properties
from headgate.model.gravitino import sorting
from headgate.model.gravitino.layout import DISTRIBUTION_MODE
from headgate.model.gravitino.wire import FieldName
from headgate.model.json_values import Object
from headgate.model.table_outlines import TableOutline

COMMENT = "comment"
LOCATION = "location"
FORMAT_VERSION = table_properties.FORMAT_VERSION
_PROVIDER = "provider"
_FORMAT = "format"
_FILE_FORMAT = "write.format.default"
_FILE_FORMATS = ("parquet", "avro", "orc")
_ONCE = frozenset({LOCATION, _PROVIDER, _FORMAT, FORMAT_VERSION})
_RESERVED = (table_properties.RESERVED - _ONCE) | {
    COMMENT,
    "creator",
    "current-snapshot-id",
    "cherry-pick-snapshot-id",
    "sort-order",
    "identifier-fields",
    DISTRIBUTION_MODE,
}
_OF_COLUMNS = (
    "write.metadata.metrics.column.",
    "write.parquet.bloom-filter-enabled.column.",
    "write.parquet.bloom-filter-fpp.column.",
    "write.parquet.stats-enabled.column.",
)


def to_iceberg(given: Mapping[str, str]) -> dict[str, str]:
    """The properties of a new table, without its location."""
    kept = {}
    for name, value in given.items():
        _check(name, _RESERVED)
        if name in {_PROVIDER, _FORMAT}:
            kept.update(_file_format(name, value))
        elif name != LOCATION and (name != FORMAT_VERSION or value.strip()):
            kept[name] = value
    return kept


def check_changeable(name: str) -> None:
    """Refuse to change what says something of the table, or was decided when it was made."""
    _check(name, _RESERVED | _ONCE)


def from_iceberg(table: TableOutline, names: Mapping[int, FieldName]) -> dict[str, str]:
    """What clients see: the table's own properties, and what Gravitino says of it in others."""
    shown = {name: value for name, value in table.properties.items() if name != COMMENT}
    format = table.properties.get(_FILE_FORMAT, _FILE_FORMATS[0])
    snapshot = table.current_snapshot_id
    shown |= {
        _FORMAT: f"iceberg/{format}",
        _PROVIDER: "iceberg",
        LOCATION: table.location,
        FORMAT_VERSION: str(table.format_version),
        "current-snapshot-id": "none" if snapshot is None else str(snapshot),
    }
    if order := sorting.describe(table.order, names):
        shown["sort-order"] = order
    if key := schemas.identifier_ids(table.schema):
        shown["identifier-fields"] = f"[{','.join('.'.join(names[id]) for id in key)}]"
    return shown


def of_columns(
    properties: Mapping[str, str],
    before: Mapping[int, FieldName],
    after: Mapping[int, FieldName],
) -> dict[str, str]:
    """Properties of columns that are named anew or gone: other clients refuse those of nobody."""
    ids = {".".join(name): id for id, name in before.items()}
    kept = {}
    for name, value in properties.items():
        prefix = next((one for one in _OF_COLUMNS if name.startswith(one)), "")
        id = ids.get(name.removeprefix(prefix)) if prefix else None
        if id is None:
            kept[name] = value
        elif id in after:
            kept[prefix + ".".join(after[id])] = value
    return kept


def _check(name: str, refused: frozenset[str]) -> None:
    if not name.strip():
        raise BadRequest("Invalid property", why="its name is empty", fix="Name it")
    if name in refused:
        raise BadRequest(
            f"Property {name} cannot be set or removed",
            why="the table itself says it, or it was decided when the table was made",
            fix="Leave it out",
        )


def _file_format(name: str, value: str) -> Object:
    format = value.lower().removeprefix("iceberg/")
    if format in _FILE_FORMATS:
        return {_FILE_FORMAT: format}
    if format != "iceberg":
        raise BadRequest(
            f"Invalid {name} {value[:80]}",
            why="tables of this catalog are Iceberg's",
            fix=f"Use iceberg, {', '.join(_FILE_FORMATS)}",
        )
    return {}
