"""Users of a metalake that are switched off and on again."""

import pytest

from headgate.access.rules import CREATE_TABLE
from headgate.catalog.entities import UserEntity
from headgate.catalog.guards import PRINCIPALS
from headgate.catalog.principals import USER, load_principal, set_enabled
from headgate.errors import BadRequest, Forbidden, UserNotFound
from tests.unit.catalog.guarded import OWNER, Guarded, notes, rights
from tests.unit.catalog.lakes import CATALOG, World

WRITES = rights("catalog", CATALOG, "use_catalog", "use_schema", "create_table")


async def switch(guarded: Guarded, name: str, *, on: bool, by: str = OWNER) -> bool:
    """Whether the answer says that it is on."""
    user = await set_enabled(await guarded.metalake(by), name, enabled=on)
    assert isinstance(user.entity, UserEntity)
    return user.entity.enabled


async def test_who_is_switched_off_is_refused_on_every_node_until_it_is_on_again(
    guarded: Guarded, other: Guarded
) -> None:
    """Its roles are those it had."""
    [before] = await guarded.users("anna")
    await guarded.role("writer", WRITES)
    await guarded.assign("anna", "writer")
    for on in (False, True):
        assert await switch(guarded, "anna", on=on) is on
        for node in (guarded, other):
            assert await node.may("anna", CREATE_TABLE) is on

    after = await load_principal(await other.metalake(), USER, "anna")
    assert after == before._replace(roles=["writer"])


async def test_a_switch_is_in_the_change_log_once(guarded: Guarded, world: World) -> None:
    """Who is switched off already is not changed."""
    await guarded.users("anna")
    await switch(guarded, "anna", on=False)
    before = await world.state()
    assert not await switch(guarded, "anna", on=False)
    assert await world.state() == before
    await switch(guarded, "anna", on=True)

    told = [(note["do"], note["name"]) for note in await notes(guarded, PRINCIPALS)]
    assert told[-2:] == [("disable", ["anna"]), ("enable", ["anna"])]


async def test_only_who_manages_users_switches_them(guarded: Guarded) -> None:
    """Not even oneself; and nobody is told who is there."""
    await guarded.users("anna", "ben")
    for name in ("anna", "ben", "nobody"):
        with pytest.raises(Forbidden):
            await switch(guarded, name, on=False, by="anna")
    with pytest.raises(UserNotFound):
        await switch(guarded, "nobody", on=False)


async def test_the_owner_of_the_metalake_stays_switched_on(guarded: Guarded) -> None:
    """Nobody else could switch it on again."""
    with pytest.raises(BadRequest, match="it owns the metalake"):
        await switch(guarded, OWNER, on=False)
