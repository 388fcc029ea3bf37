"""Changes of tables as clients write them, and what they make of one."""

from typing import Any

import msgspec

from headgate.model import schemas
from headgate.model.gravitino.changes import TableChange
from headgate.model.gravitino.tables import describe, updates_for
from headgate.model.table_outlines import TableOutline
from tests.unit.model.gravitino.descriptions import outline, people

KEY = {"indexType": "PRIMARY_KEY", "name": "pk", "fieldNames": [["id"]]}
SEVEN = {"type": "literal", "dataType": "integer", "value": "7"}


def changes(*given: dict[str, Any]) -> list[TableChange]:
    """Changes as clients write them."""
    return msgspec.convert(list(given), list[TableChange])


def changed(table: TableOutline, *given: dict[str, Any]) -> TableOutline:
    """The table afterwards; its schema is one that Iceberg accepts."""
    for update in updates_for(table, changes(*given)):
        match update["action"]:
            case "add-schema":
                found = schemas.check(update["schema"], table.format_version)
                table = msgspec.structs.replace(
                    table,
                    schema=update["schema"],
                    last_column_id=max(table.last_column_id, *found),
                )
            case "set-properties":
                table = msgspec.structs.replace(
                    table, properties=table.properties | update["updates"]
                )
            case "remove-properties":
                kept = {
                    name: value
                    for name, value in table.properties.items()
                    if name not in update["removals"]
                }
                table = msgspec.structs.replace(table, properties=kept)
            case other:
                assert other == "set-current-schema"
    return table


def names(table: TableOutline) -> list[str]:
    return [column.name for column in describe(table).columns]


def plain(**more: Any) -> TableOutline:
    return outline(people(partitioning=[], sort_orders=[], **more))
