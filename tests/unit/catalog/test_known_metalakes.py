"""Listing the metalakes that a caller is a user of: what it costs, and what it shows."""

import pytest

from headgate.catalog import metalake_openings
from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.metalakes import create_metalake, drop_metalake, list_metalakes
from headgate.catalog.principals import USER, New, add_principal
from tests.unit.catalog.guarded import ADMIN, Guarded
from tests.unit.catalog.lakes import World

MANY = 30


async def make(guarded: Guarded, name: str, *users: str) -> None:
    """A metalake with these users."""
    call = Call(CatalogName(name, ""), Caller(ADMIN))
    await create_metalake(guarded.lake, call, "", {})
    opened = await guarded.lake.open_metalake(call)
    for user in users:
        await add_principal(opened, USER, New(user))


async def listed(guarded: Guarded, name: str = "ann") -> list[str]:
    return [one.realm.name for one in await list_metalakes(guarded.lake, Caller(name))]


@pytest.fixture
async def lakes(guarded: Guarded) -> list[str]:
    """Those that ann is a user of: every other one of many."""
    names = [f"lake{n:02}" for n in range(MANY)]
    for n, name in enumerate(names):
        await make(guarded, name, *(["ann"] if n % 2 else []))
    return names[1::2]


async def reads(world: World, guarded: Guarded) -> dict[str, int]:
    world.rig.backend.reset()
    await listed(guarded)
    return dict(world.rig.backend.calls)


async def test_many_metalakes_are_read_together(
    world: World, guarded: Guarded, lakes: list[str]
) -> None:
    """Who asks, which there are, and all of their pointers: three reads, however many."""
    assert await listed(guarded) == lakes

    assert await reads(world, guarded) == {"read_pointers": 3}


async def test_very_many_metalakes_are_read_in_pieces(
    world: World, guarded: Guarded, lakes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No read is of more than some of them; the list is the same."""
    monkeypatch.setattr(metalake_openings, "METALAKES_AT_ONCE", 8)
    assert await listed(guarded) == lakes

    assert await reads(world, guarded) == {"read_pointers": 2 + 4}


async def test_what_changes_shows_in_the_next_list(
    guarded: Guarded, other: Guarded, lakes: list[str]
) -> None:
    """A metalake that is dropped by another node, and one that its caller is let into."""
    assert await listed(guarded) == lakes
    call = Call(CatalogName(lakes[0], ""), Caller(ADMIN))
    await drop_metalake(other.lake, call, force=True)
    opened = await other.lake.open_metalake(Call(CatalogName("lake00", ""), Caller(ADMIN)))
    await add_principal(opened, USER, New("ann"))

    assert await listed(guarded) == ["lake00", *lakes[1:]]
