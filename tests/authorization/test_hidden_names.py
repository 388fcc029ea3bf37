"""No answer tells a hidden object from an absent one: all routes of all surfaces, generated.

Each request names something, in its path, its query or its body. Small callers send it with the
name of an object that they may not know, and with a name that nothing has. Status, headers and body
are the same, and so is the work: reads of the database, and calls of storage.
"""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from headgate.http.router import Route
from tests.authorization.hidden_requests import Shape, shapes, unnamed_in
from tests.authorization.hidden_world import (
    ABSENT,
    CALLERS,
    HIDDEN,
    OWN,
    HiddenWorld,
    hidden_world,
)

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
PAIRS = ((HIDDEN, ABSENT),)
FURTHER_PAIRS = {
    "schema": (
        ("hidden:inner", "absent:inner"),
        ("hidden:inner", "hidden:other"),
        ("hidden.inner", "absent.inner"),
    ),
    "file": (("near", "missing near"),),
}
"""Schemas in a hidden one, and with a dot where levels are meant, for paths; files of a table that
is hidden in the caller's own schema."""
_NAMES_TAKEN = {"table", "view", "target"}
KNOWN: dict[str, set[str]] = {
    "maker": _NAMES_TAKEN,
    "owner": {*_NAMES_TAKEN, "function"},
    "tenant": {*_NAMES_TAKEN, "function", "schema", "target_schema"},
}
"""What is no secret in a caller's own schema or catalog: its owner sees all that is in it, and a
name that is taken is refused to a caller who may create something there."""
KNOWN_TO: dict[tuple[str, str], set[str]] = {
    ("roler", "createRole"): {"role"},
    **{
        (caller, operation): {"role"}
        for caller in ("owner", "tenant")
        for operation in ("grantPrivilegesToRole", "revokePrivilegesFromRole")
    },
    **{(caller, "setOwner"): {"user", "group"} for caller in ("owner", "tenant")},
    ("tenant", "alterCatalog"): {"target_catalog"},
}
"""What an operation tells by its nature: names are unique in a metalake, and an owner may grant
rights on its own objects to any role, and give them to any user or group."""
CHANGING = {"PUT", "PATCH", "DELETE"}


class Case(NamedTuple):
    """A request whose answers are compared."""

    shape: Shape
    name: str
    """The placeholder that varies."""
    others: dict[str, str]
    pair: tuple[str, str]


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[HiddenWorld]:
    """The server that is asked."""
    async with hidden_world(tmp_path, monkeypatch) as world:
        yield world


def routes(world: HiddenWorld) -> Iterator[tuple[str, Route]]:
    return ((surface.prefix, route) for surface in world.surfaces for route in surface.routes)


def cases(world: HiddenWorld, caller: str) -> Iterator[Case]:
    """All requests, with each name in turn that is hidden from the caller."""
    for prefix, route in routes(world):
        for shape in shapes(prefix, route):
            names = list(dict.fromkeys(_PLACEHOLDER.findall(shape.text)))
            told = KNOWN_TO.get((caller, route.operation), set())
            for name in names:
                for others in (OWN, HIDDEN) if len(names) > 1 else (OWN,):
                    if others == OWN and name in KNOWN.get(caller, set()) | told:
                        continue
                    has_levels = name == "schema" and "{schema}" in str(shape.body)
                    further = () if has_levels else FURTHER_PAIRS.get(name, ())
                    for pair in (*PAIRS, *further):
                        rest = {one: others for one in names if one != name}
                        yield Case(shape, name, rest, pair)


async def difference(world: HiddenWorld, caller: str, case: Case) -> str:
    """What tells the hidden object from the absent one; empty if nothing does.

    If the work differs, a second answer counts: the first may read what is remembered from then on.
    """
    for _ in range(2):
        (hidden, its_work), (absent, work) = [
            await world.hear(caller, case.shape, {**case.others, case.name: column})
            for column in case.pair
        ]
        if hidden == absent and its_work == work:
            break
    route = case.shape.route
    is_done = hidden.status < 400 and (route.writes or route.method in CHANGING)
    if hidden == absent and its_work == work and not is_done:
        return ""
    return "\n  ".join(map(str, ("", case, hidden, absent, its_work, work)))


async def test_every_route_has_a_case(world: HiddenWorld) -> None:
    """A new route is asked by itself; a new parameter, body or field has to be named."""
    lacking = {
        (prefix, route.operation): unnamed
        for prefix, route in routes(world)
        if (unnamed := unnamed_in(prefix, route))
    }
    assert lacking == {}


@pytest.mark.parametrize("caller", CALLERS)
async def test_a_hidden_object_is_as_absent(world: HiddenWorld, caller: str) -> None:
    """Whatever is asked of it, and wherever it is named."""
    asked = list(cases(world, caller))
    assert len({case.shape.route.operation for case in asked}) > 80
    told = [text for case in asked if (text := await difference(world, caller, case))]
    assert not told, f"{len(told)} of {len(asked)}:" + "".join(told[:20])
