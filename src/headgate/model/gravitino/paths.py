"""Columns by the names of all around them, and back."""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.errors import BadRequest
from headgate.model.gravitino.wire import FieldName
from headgate.model.json_values import Object
from headgate.model.schemas import Type


class Found(NamedTuple):
    """A column: its id, and what it is in."""

    id: int
    member: Object
    """The field of a struct; of a list or map its whole type."""
    siblings: list[Object] | None = None
    """The fields that it is one of; None if it is the element, key or value of something."""
    part: str = ""
    """Which of these three it is."""

    @property
    def type(self) -> Type:
        type: Type = self.member[self.type_member]
        return type

    @property
    def type_member(self) -> str:
        return self.part or "type"

    @property
    def required_member(self) -> str:
        return f"{self.part}-required" if self.part else "required"


def find(struct: Object, name: Sequence[str]) -> Found | None:
    """The column of this name. Nested ones may also come as one name with dots, and structs in
    lists and maps without the words `element` and `value`."""
    return _walk(struct, list(name)) or _walk(struct, ".".join(name).split("."))


def require(struct: Object, name: Sequence[str]) -> Found:
    """The same, which must be there."""
    found = find(struct, name)
    if found is None:
        raise BadRequest(
            f"Column does not exist: {shown(name)}", fix="Name a column of the present schema"
        )
    return found


def names(struct: Object) -> dict[int, FieldName]:
    """The names of all columns by their ids."""
    found: dict[int, FieldName] = {}
    _collect(struct, [], found)
    return found


def shown(name: Sequence[str]) -> str:
    """A column's name in messages."""
    return ".".join(name)[:200]


def _walk(type: Type, name: list[str]) -> Found | None:
    if isinstance(type, str) or not name:
        return None
    first, rest = name[0], name[1:]
    if type["type"] == "struct":
        for member in type["fields"]:
            if member["name"] == first:
                if not rest:
                    return Found(member["id"], member, type["fields"])
                return _walk(member["type"], rest)
        return None
    for part in ("element",) if type["type"] == "list" else ("key", "value"):
        if part == first:
            found = Found(type[f"{part}-id"], type, part=part)
            return _walk(type[part], rest) if rest else found
    inside = type["element" if type["type"] == "list" else "value"]
    return _walk(inside, name) if isinstance(inside, dict) else None


def _collect(type: Type, above: FieldName, found: dict[int, FieldName]) -> None:
    if isinstance(type, str):
        return
    if type["type"] == "struct":
        for member in type["fields"]:
            name = [*above, member["name"]]
            found[member["id"]] = name
            _collect(member["type"], name, found)
        return
    for part in ("element",) if type["type"] == "list" else ("key", "value"):
        name = [*above, part]
        found[type[f"{part}-id"]] = name
        _collect(type[part], name, found)
