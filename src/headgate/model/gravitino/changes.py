"""The changes that clients of Gravitino may ask for, as they write them."""

from headgate.model.gravitino.wire import (
    Column,
    Expression,
    FieldName,
    Index,
    Representation,
    Type,
    Wire,
)

Position = str | dict[str, str]
"""`first`, `default`, or `{"after": "column"}`."""


class _Change(Wire, frozen=True, tag_field="@type"):
    pass


class RenameTable(_Change, frozen=True, tag="rename"):
    """Give it another name, in this or another schema."""

    new_name: str
    new_schema_name: str | None = None


class Rename(_Change, frozen=True, tag="rename"):
    """Give it another name."""

    new_name: str


class UpdateComment(_Change, frozen=True, tag="updateComment"):
    """Give it another comment; null takes it away."""

    new_comment: str | None = None


class SetProperty(_Change, frozen=True, tag="setProperty"):
    """Give a property a value."""

    property: str
    value: str


class RemoveProperty(_Change, frozen=True, tag="removeProperty"):
    """Take a property away."""

    property: str


class AddColumn(_Change, frozen=True, tag="addColumn"):
    """Add a column, to the table or to a struct."""

    field_name: FieldName
    type: Type
    comment: str | None = None
    position: Position | None = None
    nullable: bool = True
    auto_increment: bool = False
    default_value: Expression | None = None


class RenameColumn(_Change, frozen=True, tag="renameColumn"):
    """Give a column another name; it stays where it is."""

    old_field_name: FieldName
    new_field_name: str


class UpdateColumnDefaultValue(_Change, frozen=True, tag="updateColumnDefaultValue"):
    """Give rows that are written from now on another value."""

    field_name: FieldName
    new_default_value: Expression


class UpdateColumnType(_Change, frozen=True, tag="updateColumnType"):
    """Give a column a wider type."""

    field_name: FieldName
    new_type: Type


class UpdateColumnComment(_Change, frozen=True, tag="updateColumnComment"):
    """Give a column another comment; null takes it away."""

    field_name: FieldName
    new_comment: str | None = None


class UpdateColumnPosition(_Change, frozen=True, tag="updateColumnPosition"):
    """Move a column among those beside it."""

    field_name: FieldName
    new_position: Position


class UpdateColumnNullability(_Change, frozen=True, tag="updateColumnNullability"):
    """Let a column be null."""

    field_name: FieldName
    nullable: bool


class UpdateColumnAutoIncrement(_Change, frozen=True, tag="updateColumnAutoIncrement"):
    """Let a column count by itself, or not."""

    field_name: FieldName
    auto_increment: bool


class DeleteColumn(_Change, frozen=True, tag="deleteColumn"):
    """Take a column away."""

    field_name: FieldName
    if_exists: bool = False


class AddIndex(_Change, frozen=True, tag="addTableIndex"):
    """Say which columns identify a row."""

    index: Index


class DeleteIndex(_Change, frozen=True, tag="deleteTableIndex"):
    """Say that none do."""

    name: str
    if_exists: bool = False


class ReplaceView(_Change, frozen=True, tag="replaceView"):
    """Say anew what a view is."""

    representations: list[Representation]
    columns: list[Column] = []
    default_catalog: str | None = None
    default_schema: str | None = None
    comment: str | None = None


ColumnChange = (
    AddColumn
    | RenameColumn
    | UpdateColumnDefaultValue
    | UpdateColumnType
    | UpdateColumnComment
    | UpdateColumnPosition
    | UpdateColumnNullability
    | UpdateColumnAutoIncrement
    | DeleteColumn
    | AddIndex
    | DeleteIndex
)
PropertyChange = UpdateComment | SetProperty | RemoveProperty
TableChange = RenameTable | PropertyChange | ColumnChange
ViewChange = Rename | SetProperty | RemoveProperty | ReplaceView
