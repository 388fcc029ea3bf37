"""How the columns of a table change. What Iceberg's own clients refuse is refused here too."""

from copy import deepcopy
from functools import singledispatchmethod
from itertools import count

from headgate.errors import BadRequest, Unsupported
from headgate.model import schemas
from headgate.model import types as iceberg
from headgate.model.gravitino import columns, defaults, layout, paths, types
from headgate.model.gravitino.changes import (
    AddColumn,
    AddIndex,
    ColumnChange,
    DeleteColumn,
    DeleteIndex,
    Position,
    RenameColumn,
    UpdateColumnAutoIncrement,
    UpdateColumnComment,
    UpdateColumnDefaultValue,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
)
from headgate.model.gravitino.wire import Column, FieldName
from headgate.model.json_values import Object
from headgate.model.table_outlines import TableOutline

_IDENTIFIERS = "identifier-field-ids"
_WIDER = {"int": "long", "float": "double"}


class Evolution:
    """A schema that is being changed."""

    def __init__(self, table: TableOutline) -> None:
        self.schema = deepcopy(table.schema)
        self._format_version = table.format_version
        self._ids = count(table.last_column_id + 1)

    @singledispatchmethod
    def apply(self, change: ColumnChange) -> None:
        """Make one change."""
        raise AssertionError(f"nobody makes a change of {type(change)}")

    def _next_id(self) -> int:
        return next(self._ids)

    @apply.register
    def _add(self, change: AddColumn) -> None:
        *parents, name = change.field_name or [""]
        siblings = self._fields_of(parents)
        if any(one["name"] == name for one in siblings):
            raise _refused(change.field_name, "add", "it exists", "Choose another name")
        column = Column(
            name=name,
            type=change.type,
            comment=change.comment,
            nullable=change.nullable,
            auto_increment=change.auto_increment,
            default_value=change.default_value,
        )
        field = columns.to_field(column, self._next_id(), self._next_id, self._format_version)
        if field["required"] and "initial-default" not in field:
            why = "rows that are there would have no value for it"
            raise _refused(change.field_name, "add", why, "Let it be null, or give it a default")
        siblings.append(field)
        if change.position is not None and change.position != "default":
            _move(siblings, field, change.position)

    @apply.register
    def _rename(self, change: RenameColumn) -> None:
        field, siblings = self._member(change.old_field_name, "rename")
        name = change.new_field_name
        if not name.strip():
            raise _refused(change.old_field_name, "rename", "its new name is empty", "Name it")
        if any(one["name"] == name for one in siblings if one is not field):
            why = f"there is a column {name[:80]}"
            raise _refused(change.old_field_name, "rename", why, "Choose another name")
        field["name"] = name

    @apply.register
    def _retype(self, change: UpdateColumnType) -> None:
        found = paths.require(self.schema, change.field_name)
        old, new = found.type, types.to_iceberg(change.new_type, self._next_id)
        if isinstance(old, str) and isinstance(new, str) and _same(old, new):
            return
        if found.part == "key" or not _is_wider(old, new):
            why = f"{_named(old)} does not widen to {_named(new)}"
            fix = "int widens to long, float to double, and decimals to more digits before the dot"
            raise _refused(change.field_name, "change the type of", why, fix)
        found.member[found.type_member] = new

    @apply.register
    def _set_default(self, change: UpdateColumnDefaultValue) -> None:
        columns.check_defaults(self._format_version)
        field, _ = self._member(change.field_name, "give a default to")
        value = defaults.to_iceberg(change.new_default_value, field["type"])
        if value is None:
            field.pop("write-default", None)
        else:
            field["write-default"] = value

    @apply.register
    def _set_comment(self, change: UpdateColumnComment) -> None:
        field, _ = self._member(change.field_name, "comment on")
        if change.new_comment is None:
            field.pop("doc", None)
        else:
            field["doc"] = change.new_comment

    @apply.register
    def _move(self, change: UpdateColumnPosition) -> None:
        field, siblings = self._member(change.field_name, "move")
        _move(siblings, field, change.new_position)

    @apply.register
    def _set_nullable(self, change: UpdateColumnNullability) -> None:
        found = paths.require(self.schema, change.field_name)
        if found.part == "key":
            why = "the keys of a map are never null"
            raise _refused(change.field_name, "change", why, "Leave it as it is")
        is_required = found.member[found.required_member]
        if not change.nullable and not is_required:
            why = "rows that are there may be null"
            raise _refused(change.field_name, "require", why, "Leave it nullable")
        if change.nullable and found.id in schemas.identifier_ids(self.schema):
            why = "it identifies rows"
            raise _refused(change.field_name, "make nullable", why, "Delete the primary key first")
        found.member[found.required_member] = not change.nullable

    @apply.register
    def _set_auto_increment(self, change: UpdateColumnAutoIncrement) -> None:
        paths.require(self.schema, change.field_name)
        if change.auto_increment:
            why = "Iceberg has no columns that count by themselves"
            raise _refused(change.field_name, "change", why, "Leave autoIncrement out")

    @apply.register
    def _delete(self, change: DeleteColumn) -> None:
        if change.if_exists and paths.find(self.schema, change.field_name) is None:
            return
        field, siblings = self._member(change.field_name, "delete")
        inside = paths.names({"type": "struct", "fields": [field]})
        if inside.keys() & set(schemas.identifier_ids(self.schema)):
            why = "it identifies rows"
            raise _refused(change.field_name, "delete", why, "Delete the primary key first")
        if len(siblings) == 1:
            raise _refused(change.field_name, "delete", "it is the last one", "Drop what it is in")
        siblings.remove(field)

    @apply.register
    def _add_index(self, change: AddIndex) -> None:
        if schemas.identifier_ids(self.schema):
            raise BadRequest(
                "Cannot add an index",
                why="the table has a primary key, and Iceberg has no others",
                fix=f"Delete the index {layout.KEY_NAME} first",
            )
        self.schema[_IDENTIFIERS] = layout.to_identifiers([change.index], self.schema)

    @apply.register
    def _delete_index(self, change: DeleteIndex) -> None:
        if change.name == layout.KEY_NAME and schemas.identifier_ids(self.schema):
            del self.schema[_IDENTIFIERS]
        elif not change.if_exists:
            raise BadRequest(
                f"Index does not exist: {change.name[:80]}",
                fix=f"A primary key has the name {layout.KEY_NAME}",
            )

    def _fields_of(self, name: FieldName) -> list[Object]:
        """The fields of a struct, also of one that a list or map holds."""
        type: schemas.Type = paths.require(self.schema, name).type if name else self.schema
        while isinstance(type, dict) and type["type"] != "struct":
            type = type["element" if type["type"] == "list" else "value"]
        if isinstance(type, str):
            raise _refused(name, "add a column to", "it is no struct", "Name a struct")
        fields: list[Object] = type["fields"]
        return fields

    def _member(self, name: FieldName, verb: str) -> tuple[Object, list[Object]]:
        """A column that is a field of a struct or of the table, and those beside it."""
        found = paths.require(self.schema, name)
        if found.siblings is None:
            why = f"it is the {found.part} of a list or map"
            raise _refused(name, verb, why, "Change the list or map")
        return found.member, found.siblings


def _move(siblings: list[Object], field: Object, position: Position) -> None:
    others = [one for one in siblings if one is not field]
    if isinstance(position, dict):
        after = position.get("after", "")
        names = [one["name"] for one in others]
        if after not in names:
            raise BadRequest(
                f"Cannot move {field['name'][:80]} behind {after[:80]!r}",
                why="no such column is beside it",
                fix="Name another column of the same struct",
            )
        at = names.index(after) + 1
    elif position.lower() == "first":
        at = 0
    else:
        raise Unsupported(
            f"Iceberg has no position {position[:80]}", fix='Use "first" or {"after": "column"}'
        )
    siblings[:] = [*others[:at], field, *others[at:]]


def _same(one: str, other: str) -> bool:
    return iceberg.canonical(one) == iceberg.canonical(other)


def _is_wider(old: schemas.Type, new: schemas.Type) -> bool:
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    if iceberg.kind(old) == iceberg.kind(new) == "decimal":
        digits, more = iceberg.decimal_precision(old), iceberg.decimal_precision(new)
        return digits <= more and iceberg.decimal_scale(old) == iceberg.decimal_scale(new)
    return _WIDER.get(old) == new


def _named(type: schemas.Type) -> str:
    return type if isinstance(type, str) else str(type["type"])


def _refused(name: FieldName, verb: str, why: str, fix: str) -> BadRequest:
    return BadRequest(f"Cannot {verb} column {paths.shown(name)}", why=why, fix=fix)
