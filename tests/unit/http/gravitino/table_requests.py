"""Requests about tables, as clients of Gravitino send them."""

from typing import Any

from tests.unit.http.gravitino.control import Control

SCHEMAS = "default/catalogs/main/schemas"
TABLES = f"{SCHEMAS}/a/tables"
ID = {"name": "id", "type": "long", "nullable": False, "comment": "key"}
TS = {"name": "ts", "type": "timestamp(6)"}
NEW: dict[str, Any] = {
    "name": "t",
    "comment": "all",
    "columns": [ID, TS],
    "partitioning": [{"strategy": "day", "fieldName": ["ts"]}],
    "properties": {"k": "v"},
}
ADD = {"@type": "addColumn", "fieldName": ["n"], "type": "string"}
ILLEGAL = (400, 1001, "IllegalArgumentException")
UNSUPPORTED = (405, 1006, "UnsupportedOperationException")


async def make(control: Control, name: str = "t", **more: Any) -> Any:
    return (await control.done("POST", TABLES, {**NEW, "name": name, **more}))["table"]


async def alter(control: Control, *updates: dict[str, Any], name: str = "t") -> Any:
    return (await control.done("PUT", f"{TABLES}/{name}", {"updates": updates}))["table"]
