"""Partition specs: what makes one valid, the ids of its fields, and when two are the same."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from headgate.errors import BadMetadata
from headgate.model import transforms
from headgate.model.json_values import Int32, Object, convert
from headgate.model.schemas import Column

FIRST_FIELD_ID = 1000
UNPARTITIONED: Object = {"spec-id": 0, "fields": []}


class PartitionField(NamedTuple):
    """One field of a spec; `id` is None if the writer left it to us."""

    source_id: int
    id: int | None
    name: str
    transform: str

    @property
    def key(self) -> tuple[int, str]:
        """What makes two fields the same."""
        return self.source_id, self.transform

    def __str__(self) -> str:
        return f"{self.id}: {self.name}: {self.transform}({self.source_id})"


FieldIds = dict[tuple[int, str], int | None]
"""The ids of partition fields, by their keys."""


class _Field(Struct, rename="kebab"):
    source_id: Int32
    name: str
    transform: str
    field_id: Int32 | UnsetType = UNSET


class _Spec(Struct, rename="kebab"):
    fields: list[_Field]
    spec_id: Int32 | None = None


def fields(spec: Object) -> list[PartitionField]:
    """The fields of a spec, their transforms in the one spelling."""
    parsed = [
        PartitionField(
            field.source_id,
            None if field.field_id is UNSET else field.field_id,
            field.name,
            transforms.canonical(field.transform),
        )
        for field in convert(spec, _Spec, "partition spec").fields
    ]
    missing = sum(field.id is None for field in parsed)
    if missing not in {0, len(parsed)}:
        raise BadMetadata(
            f"Cannot parse spec with missing field IDs: {missing} missing of {len(parsed)} fields."
        )
    return parsed


def normalized(spec: Object) -> Object:
    """A spec with its transforms in the one spelling."""
    members = [
        {**member, "transform": field.transform}
        for field, member in zip(fields(spec), spec["fields"], strict=True)
    ]
    return {**spec, "fields": members}


def same(one: Object, other: Object) -> bool:
    """Whether two specs partition alike: equal but for the ids of spec and fields."""
    return shape(one) == shape(other)


def shape(spec: Object) -> tuple[PartitionField, ...]:
    """What specs have in common that partition alike."""
    return tuple(field._replace(id=None) for field in fields(spec))


def with_field_ids(
    spec: Object, known: FieldIds | None = None, last_id: int = FIRST_FIELD_ID - 1
) -> Object:
    """A spec whose fields all have ids: an old one if the field is not new, else the next one."""
    parsed = fields(spec)
    if all(field.id is not None for field in parsed):
        return spec
    members, used = [], set[tuple[int, str]]()
    for field, member in zip(parsed, spec["fields"], strict=True):
        id = known.get(field.key) if known and field.key not in used else None
        used.add(field.key)
        if id is None:
            last_id = id = last_id + 1
        members.append({**member, "field-id": id})
    return {**spec, "fields": members}


def last_field_id(spec: Object) -> int:
    """The highest id of its fields; below the first possible one if it has none."""
    return max((field.id or 0 for field in fields(spec)), default=FIRST_FIELD_ID - 1)


def is_sequential(spec: Object) -> bool:
    """Whether the ids count up from 1000, as format v1 requires."""
    return [field.id for field in fields(spec)] == [
        FIRST_FIELD_ID + position for position in range(len(spec["fields"]))
    ]


def check(spec: Object, columns: Mapping[int, Column]) -> None:
    """A spec can partition a table of these columns."""
    check_names(spec, columns)
    for field in fields(spec):
        if field.transform != transforms.VOID:
            _check_source(field, columns)


def check_new(spec: Object, columns: Mapping[int, Column]) -> None:
    """The same, and no field says what another has said."""
    check(spec, columns)
    ids = [field.id for field in fields(spec)]
    if len(set(ids)) != len(ids):
        raise BadMetadata("Invalid partition spec: two fields have the same field-id")
    groups: dict[tuple[int, str], PartitionField] = {}
    for field in fields(spec):
        key = (field.source_id, transforms.group(field.transform))
        if key in groups and field.transform != transforms.VOID:
            raise BadMetadata(
                f"Cannot add redundant partition: {groups[key]} conflicts with {field}"
            )
        groups[key] = field


def check_names(spec: Object, columns: Mapping[int, Column]) -> None:
    """Names are unique; the name of a column is taken by none but a partition of that column.

    Readers refuse a table with such a spec even if the spec is no longer in use,
    unless its source column is gone.
    """
    ids = {column.name: column.id for column in columns.values()}
    names: set[str] = set()
    for field in fields(spec):
        if not field.name:
            raise BadMetadata("Cannot use empty partition name")
        if field.name in names:
            raise BadMetadata(f"Cannot use partition name more than once: {field.name}")
        if field.source_id in columns and ids.get(field.name, field.source_id) != field.source_id:
            raise BadMetadata(
                "Cannot create identity partition sourced from different field in schema: "
                f"{field.name}"
            )
        names.add(field.name)


def _check_source(field: PartitionField, columns: Mapping[int, Column]) -> None:
    column = columns.get(field.source_id)
    if not column:
        raise BadMetadata(f"Cannot find source column for partition field: {field}")
    if not column.is_primitive:
        raise BadMetadata(f"Cannot partition by non-primitive source field: {column.name}")
    transforms.check(field.transform, column)
    for around in column.ancestors:
        if not around.is_struct:
            raise BadMetadata(f"Invalid partition field parent: {around.name}")
