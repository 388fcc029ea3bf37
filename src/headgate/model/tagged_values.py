"""Lists of updates or requirements in a commit: each value says in one member what it is."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from msgspec import Raw, Struct

from headgate.errors import BadRequest
from headgate.model.json_values import Json, decode, encode

T = TypeVar("T", bound=Struct)


class Vocabulary(NamedTuple):
    """The kinds of values in a list."""

    member: str  # that says the kind; in any case of letters, as Iceberg's own server reads it
    noun: str
    kinds: Mapping[str, type[Struct]]
    foreign: Mapping[str, str] = {}  # kinds for other things than tables, and how to refuse them


def decode_tagged(data: Json, vocabulary: Vocabulary) -> list[Struct]:
    """The values of a list. One of an unknown kind is refused, for its meaning would be lost."""
    what = f"{vocabulary.noun}s"
    return [_decode(each, vocabulary) for each in decode(data, list[Raw], what, BadRequest)]


def check_count(updates: int, most: int) -> None:
    """Refuse a commit of too many updates: each is applied to what the one before it made."""
    if updates > most:
        raise BadRequest(
            f"Cannot apply {updates:,} updates",
            why=f"one commit may have {most:,} at most",
            fix="Send them in several commits",
        )


def tags(*kinds: type[T]) -> dict[str, type[T]]:
    """Kinds by their names on the wire."""
    return {str(kind.__struct_config__.tag): kind for kind in kinds}


def _decode(data: Raw, vocabulary: Vocabulary) -> Struct:
    member, noun, kinds, foreign = vocabulary
    found = decode(data, dict[str, Raw], noun, BadRequest)
    given = decode(found.get(member, b"null"), str, f"{noun}: its {member}", BadRequest)
    name = given.lower()
    if name in foreign:
        raise BadRequest(foreign[name])
    if name not in kinds:
        raise BadRequest(
            f"Unknown {noun} {given[:80]!r}", fix=f"Known are: {', '.join(sorted(kinds))}"
        )
    exact = data if name == given else encode({**found, member: name})
    return decode(exact, kinds[name], f"{noun} {name}", BadRequest)
