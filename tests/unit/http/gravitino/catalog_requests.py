"""What tests of catalogs in Gravitino's protocol send, and what they are answered."""

from typing import Any

from tests.unit.http.gravitino.control import Control

ICEBERG = {"name": "lake", "type": "RELATIONAL", "provider": "lakehouse-iceberg"}
FILES = {"name": "files", "type": "FILESET", "provider": "hadoop"}
CATALOGS = "default/catalogs"
ILLEGAL = (400, 1001, "IllegalArgumentException")
ABSENT = (404, 1003, "NoSuchCatalogException")
OFF = (409, 1009, "CatalogNotInUseException")
FORBIDDEN = (403, 1008, "ForbiddenException")


def update(kind: str, **fields: object) -> dict[str, Any]:
    return {"updates": [{"@type": kind, **fields}]}


COMMENT = update("updateComment", newComment="x")


async def made(control: Control, new: object = ICEBERG, **more: str) -> Any:
    return (await control.done("POST", CATALOGS, new, **more))["catalog"]


async def listed(control: Control, **more: str) -> list[str]:
    found = await control.done("GET", CATALOGS, **more)
    return [one["name"] for one in found["identifiers"]]
