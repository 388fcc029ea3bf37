"""Schemas, partition specs and sort orders as a table keeps them: numbered, and as they came."""

from collections.abc import Iterable

from msgspec import Raw, Struct

from headgate.errors import BadMetadata
from headgate.model.json_values import Json, Object, decode, encode, members

SCHEMA_ID = "schema-id"
SPEC_ID = "spec-id"
ORDER_ID = "order-id"

Definitions = tuple["Definition", ...]


class Definition(Struct, frozen=True):
    """One schema, spec or order: its number and its JSON."""

    id: int
    json: bytes

    @property
    def value(self) -> Object:
        """Decoded anew each time, for it is seldom looked at."""
        return decode(self.json, Object, "definition")


def define(value: Object, id_member: str, id: int) -> Definition:
    """A definition under a number of ours, whatever number it came with."""
    return Definition(id, encode({**value, id_member: id}))


def parse_definitions(data: Json, id_member: str, what: str) -> Definitions:
    """The definitions of a metadata file; no number stands for two."""
    parsed = tuple(_parse(each, id_member, what) for each in decode(data, list[Raw], what))
    if len({each.id for each in parsed}) != len(parsed):
        raise BadMetadata(f"Invalid {what}: two have the same {id_member}")
    return parsed


def encode_definitions(definitions: Definitions) -> bytes:
    """Definitions as a metadata file has them."""
    return b"".join((b"[", b",".join(each.json for each in definitions), b"]"))


def find(definitions: Iterable[Definition], id: int) -> Definition | None:
    """The definition of a number."""
    return next((each for each in definitions if each.id == id), None)


def _parse(data: Json, id_member: str, what: str) -> Definition:
    found = members(data, what)
    if id_member in found:
        return Definition(decode(found[id_member], int, f"{id_member} in {what}"), bytes(data))
    return Definition(0, encode({**found, id_member: 0}))  # format v1 knew one, without a number
