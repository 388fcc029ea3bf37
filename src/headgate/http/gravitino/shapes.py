"""The JSON objects of Gravitino's protocol that all resources share."""

from datetime import UTC, datetime

import msgspec


class Payload(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What a client sends; fields that nobody knows are refused."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a client is answered. A field that is null, its default, is left out."""


class Answer(Shape, frozen=True, kw_only=True):
    """The body of a success."""

    code: int = msgspec.field(default_factory=lambda: 0)  # a plain default would be left out


class Audit(Shape, frozen=True):
    """Who made something and who changed it last; a part of every entity."""

    creator: str
    create_time: str
    last_modifier: str | None = None
    last_modified_time: str | None = None


class NameIdentifier(Shape, frozen=True):
    """An object by its name and the names of all above it."""

    namespace: list[str]
    name: str


class IdentifierList(Answer, frozen=True):
    """Objects, each by all of its names."""

    identifiers: list[NameIdentifier]


class NameList(Answer, frozen=True):
    """Objects, each by its own name."""

    names: list[str]


class Dropped(Answer, frozen=True):
    """Whether something was there to be dropped."""

    dropped: bool


class SetInUse(Payload, frozen=True):
    """Switch something on or off."""

    in_use: bool


def audit_of(created_by: str, created_ms: int, changed_by: str = "", changed_ms: int = 0) -> Audit:
    """The audit of an entity; one that nobody changed says so by leaving it out."""
    return Audit(
        creator=created_by or "anonymous",
        create_time=iso(created_ms),
        last_modifier=(changed_by or None) if changed_ms else None,
        last_modified_time=iso(changed_ms) if changed_ms else None,
    )


def iso(ms: int) -> str:
    """A time as clients read it."""
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
