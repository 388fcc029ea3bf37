"""Properties in requests: which a client may set, and what updates make of them."""

from collections.abc import Collection, Iterable, Mapping

from headgate.errors import BadRequest
from headgate.model.gravitino.changes import RemoveProperty, SetProperty


def check_properties(names: Iterable[str], reserved: Collection[str]) -> None:
    """Refuse properties that are set by the server."""
    for name in names:
        if name in reserved:
            raise BadRequest(
                f"Property {name} cannot be set or removed",
                why="the server keeps it",
                fix="Leave it out",
            )


def properties_in(updates: Iterable[object]) -> list[str]:
    """The names of all properties that these updates set or remove."""
    return [one.property for one in updates if isinstance(one, SetProperty | RemoveProperty)]


def changed_properties(
    old: Mapping[str, str], updates: Iterable[object], reserved: Collection[str]
) -> dict[str, str]:
    """Properties with those of these updates that set or remove one, in their order."""
    new = dict(old)
    for update in updates:
        match update:
            case SetProperty(property=name, value=value):
                check_properties((name,), reserved)
                new[name] = value
            case RemoveProperty(property=name):
                check_properties((name,), reserved)
                new.pop(name, None)
    return new
