"""A view that is created: the first metadata of what a request describes."""

from msgspec import Struct

from headgate.model import json_values, schemas
from headgate.model.json_values import Object
from headgate.model.view_metadata import (
    FIRST_SCHEMA_ID,
    FIRST_VERSION_ID,
    FORMAT_VERSION,
    LogEntry,
    ViewMetadata,
    read_version,
)
from headgate.model.view_updates import check_version, history_versions

WHAT = "request to create a view"


class _Request(Struct, rename="kebab"):
    schema: Object
    view_version: Object
    properties: dict[str, str] = {}


def new_view(request: object, *, location: str, uuid: str, now_ms: int) -> ViewMetadata:
    """The view of a CreateViewRequest. Ids and time are the server's, whatever the request says."""
    wanted = json_values.convert(json_values.builtins(request, WHAT), _Request, WHAT)
    schemas.columns(wanted.schema)
    ids = {"version-id": FIRST_VERSION_ID, "schema-id": FIRST_SCHEMA_ID, "timestamp-ms": now_ms}
    version = read_version({**wanted.view_version, **ids})
    check_version(version)
    history_versions(wanted.properties)
    return ViewMetadata(
        view_uuid=uuid,
        format_version=FORMAT_VERSION,
        location=location,
        current_version_id=FIRST_VERSION_ID,
        versions=(version,),
        version_log=(LogEntry(version_id=FIRST_VERSION_ID, timestamp_ms=now_ms),),
        schemas=({**wanted.schema, "schema-id": FIRST_SCHEMA_ID},),
        properties=wanted.properties,
    )
