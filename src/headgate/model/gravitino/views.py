"""Views: what a client asks for as a request of Iceberg, and a view as clients see it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from headgate.errors import BadRequest, Unsupported
from headgate.model.gravitino import columns
from headgate.model.gravitino.changes import (
    RemoveProperty,
    Rename,
    ReplaceView,
    SetProperty,
    ViewChange,
)
from headgate.model.gravitino.properties import COMMENT
from headgate.model.gravitino.tables import property_updates
from headgate.model.gravitino.wire import Column, Representation, Wire
from headgate.model.json_values import Object
from headgate.model.names import Levels
from headgate.model.table_metadata import FORMAT_VERSION_MAX
from headgate.model.table_outlines import ViewOutline
from headgate.model.view_metadata import FIRST_VERSION_ID
from headgate.model.view_updates import LAST_ADDED

Split = Callable[[str], Levels]
"""The levels of a schema's name."""


class CreateView(Wire, frozen=True):
    """What a client says of a view it wants."""

    name: str
    representations: list[Representation]
    columns: list[Column] = []
    comment: str | None = None
    default_catalog: str | None = None
    default_schema: str | None = None
    properties: dict[str, str] | None = None


class Description(NamedTuple):
    """A view as clients see it."""

    comment: str | None
    columns: list[Column]
    representations: list[Representation]
    default_catalog: str | None
    default_namespace: Levels
    properties: dict[str, str]


def new_view(wanted: CreateView, namespace: Levels, split: Split) -> Object:
    """Iceberg's request for the same view. What it does not qualify is in its own schema."""
    kept = dict(wanted.properties or {})
    if wanted.comment is not None:
        kept[COMMENT] = wanted.comment
    return {
        "name": wanted.name,
        "schema": _schema(wanted.columns),
        "view-version": _version(wanted, namespace, split, "create", 0),
        "properties": kept,
    }


def describe(view: ViewOutline) -> Description:
    """A view in the words of Gravitino."""
    return Description(
        view.properties.get(COMMENT),
        columns.from_schema(view.schema),
        [Representation(dialect=dialect, sql=sql) for dialect, sql in view.queries.items()],
        view.default_catalog,
        view.default_namespace,
        {name: value for name, value in view.properties.items() if name != COMMENT},
    )


def updates_for(
    view: ViewOutline, changes: Sequence[ViewChange], split: Split, now_ms: int
) -> list[Object]:
    """Iceberg's updates that make all of these changes, in their order."""
    kept, version = dict(view.properties), list[Object]()
    for change in changes:
        assert not isinstance(change, Rename), "that is no change of metadata"
        match change:
            case SetProperty(property=name, value=value):
                kept[_checked(name)] = value
            case RemoveProperty(property=name):
                kept.pop(_checked(name), None)
            case ReplaceView():
                version = _replacing(view, change, split, now_ms)
                kept.pop(COMMENT, None)
                if change.comment is not None:
                    kept[COMMENT] = change.comment
    return property_updates(view.properties, kept) + version


def _replacing(view: ViewOutline, wanted: ReplaceView, split: Split, now_ms: int) -> list[Object]:
    version = _version(wanted, view.default_namespace, split, "replace", now_ms)
    return [
        {"action": "add-schema", "schema": _schema(wanted.columns)},
        {"action": "add-view-version", "view-version": {**version, "schema-id": LAST_ADDED}},
        {"action": "set-current-view-version", "view-version-id": LAST_ADDED},
    ]


def _schema(given: Sequence[Column]) -> Object:
    for column in given:
        if column.default_value is not None:
            raise BadRequest(
                f"Invalid column {column.name[:80]}",
                why="columns of views have no default values",
                fix="Leave defaultValue out",
            )
    return columns.to_schema(given, FORMAT_VERSION_MAX)


def _version(
    wanted: CreateView | ReplaceView, namespace: Levels, split: Split, operation: str, now_ms: int
) -> Object:
    if not wanted.representations:
        raise BadRequest(
            "Invalid view", why="it has no representations", fix="Send its SQL in a dialect"
        )
    schema, catalog = wanted.default_schema, wanted.default_catalog
    return {
        "version-id": FIRST_VERSION_ID,
        "timestamp-ms": now_ms,
        "schema-id": 0,
        "summary": {"operation": operation},
        "representations": [_representation(one) for one in wanted.representations],
        "default-namespace": list(split(schema) if schema else namespace),
        **({"default-catalog": catalog} if catalog else {}),
    }


def _representation(one: Representation) -> Object:
    if one.type.lower() != "sql":
        raise Unsupported(f"Iceberg has no views of type {one.type[:80]}", fix="Send SQL")
    if not one.dialect.strip() or not one.sql.strip():
        raise BadRequest(
            "Invalid view", why="its SQL or the name of its dialect is empty", fix="Send both"
        )
    return {"type": "sql", "sql": one.sql, "dialect": one.dialect}


def _checked(property: str) -> str:
    if not property.strip():
        raise BadRequest("Invalid property", why="its name is empty", fix="Name it")
    return property
