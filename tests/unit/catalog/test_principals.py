"""Users and groups of a metalake."""

from collections.abc import Sequence

import pytest

from headgate.access import rules
from headgate.catalog import principals
from headgate.catalog.entities import UserEntity
from headgate.catalog.guards import PRINCIPALS
from headgate.catalog.owners import set_owner
from headgate.catalog.principals import (
    GROUP,
    USER,
    New,
    Principal,
    Sort,
    add_principal,
    add_users,
    describe_all,
    list_principals,
    load_principal,
    remove_principal,
    remove_users,
)
from headgate.catalog.rights import ASSIGNED
from headgate.errors import (
    BadName,
    BadRequest,
    CommitTimedOut,
    Forbidden,
    GroupExists,
    GroupNotFound,
    UserExists,
    UserNotFound,
)
from tests.unit.catalog.guarded import (
    OWNER,
    Guarded,
    guarded_node,
    named,
    notes,
    refused_commits,
    rights,
)
from tests.unit.catalog.lakes import CATALOG, World

SORTS = pytest.mark.parametrize("sort", [USER, GROUP], ids=["user", "group"])


async def listed(guarded: Guarded, sort: Sort, by: str = OWNER, *groups: str) -> list[str]:
    return [name for name, _ in await list_principals(await guarded.metalake(by, groups), sort)]


@SORTS
async def test_what_was_added_can_be_loaded_and_is_listed(guarded: Guarded, sort: Sort) -> None:
    """A user or group has its name, its creator, what it is called elsewhere, and no roles."""
    metalake = await guarded.metalake()
    added = await add_principal(metalake, sort, New("anna", external_id="e-1"))
    loaded = await load_principal(await guarded.metalake(), sort, "anna")

    assert loaded == added
    assert (added.name, added.roles) == ("anna", [])
    assert (added.entity.external_id, added.entity.created_by) == ("e-1", OWNER)
    assert "anna" in await listed(guarded, sort)


@SORTS
async def test_a_name_is_given_once(guarded: Guarded, sort: Sort) -> None:
    """A second user or group of the same name is refused; the first one stays as it is."""
    [first] = await guarded.add(sort, "anna")
    with pytest.raises((UserExists, GroupExists)):
        await guarded.add(sort, "anna")

    assert await load_principal(await guarded.metalake(), sort, "anna") == first


async def test_a_user_and_a_group_may_have_the_same_name(guarded: Guarded) -> None:
    """They are different, with different ids."""
    [user] = await guarded.users("anna")
    [group] = await guarded.groups("anna")

    assert user.id != group.id


@SORTS
async def test_who_is_not_there_is_not_found(guarded: Guarded, sort: Sort) -> None:
    """Loading somebody unknown fails; removing somebody unknown does nothing."""
    with pytest.raises((UserNotFound, GroupNotFound)):
        await load_principal(await guarded.metalake(), sort, "nobody")

    assert not await remove_principal(await guarded.metalake(), sort, "nobody")


async def test_a_name_must_be_one(guarded: Guarded) -> None:
    """An empty name is refused."""
    with pytest.raises(BadName):
        await guarded.users("")


@SORTS
async def test_who_was_removed_is_gone_on_every_node(
    guarded: Guarded, other: Guarded, sort: Sort
) -> None:
    """The next request on another node does not find it."""
    await guarded.add(sort, "anna")
    assert "anna" in await listed(other, sort)
    assert await remove_principal(await guarded.metalake(), sort, "anna")

    assert "anna" not in await listed(other, sort)


async def test_who_was_removed_is_refused_at_the_next_request(
    guarded: Guarded, other: Guarded
) -> None:
    """A user that is none any more may not even open the metalake, on any node."""
    await guarded.users("anna")
    await other.metalake("anna")
    await remove_principal(await guarded.metalake(), USER, "anna")

    for node in (guarded, other):
        with pytest.raises(Forbidden):
            await node.metalake("anna")


async def test_roles_are_forgotten_with_their_user(guarded: Guarded) -> None:
    """Nothing is left of what a removed user was given."""
    [anna] = await guarded.users("anna")
    await guarded.role("reader")
    await guarded.assign("anna", "reader")
    await remove_principal(await guarded.metalake(), USER, "anna")

    head = (await guarded.metalake()).grants
    assert [key async for key, _ in head.index(ASSIGNED).prefix(anna.id.to_bytes(8, "big"))] == []


@pytest.mark.parametrize("is_cleaned", [True, False])
async def test_somebody_new_of_the_same_name_has_no_old_role(
    guarded: Guarded, is_cleaned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Roles belong to an id, also if what is left of the old one could not be cleaned away."""
    await guarded.users("anna")
    await guarded.role("reader", rights("catalog", CATALOG, "use_catalog"))
    await guarded.assign("anna", "reader")
    assert await guarded.may("anna", rules.LOAD_CATALOG)
    if not is_cleaned:

        async def keep(*_: object) -> None: ...

        monkeypatch.setattr(principals, "forget_principal", keep)
    await remove_principal(await guarded.metalake(), USER, "anna")
    [anna] = await guarded.users("anna")

    assert anna.roles == []
    assert not await guarded.may("anna", rules.LOAD_CATALOG)
    assert (await load_principal(await guarded.metalake(), USER, "anna")).roles == []


async def test_a_failed_cleaning_does_not_bring_the_user_back(
    world: World, guarded: Guarded
) -> None:
    """The user is gone as soon as its name is; what is left does no harm."""
    await guarded.users("anna")
    await guarded.role("reader")
    await guarded.assign("anna", "reader")
    metalake = await guarded.metalake()
    with refused_commits(world, after=1):
        assert await remove_principal(metalake, USER, "anna")

    assert world.rig.faults.injected["unavailable"] > 1
    assert "anna" not in await listed(guarded, USER)


async def test_a_commit_that_fails_leaves_nothing(world: World, guarded: Guarded) -> None:
    """If the database refuses the one write, nothing is there, and trying again works."""
    metalake = await guarded.metalake()
    before = await world.state()
    with refused_commits(world), pytest.raises(CommitTimedOut):
        await add_principal(metalake, USER, New("anna"))

    assert await world.state() == before
    assert await add_principal(metalake, USER, New("anna"))


@SORTS
async def test_the_owner_of_the_metalake_stays(guarded: Guarded, sort: Sort) -> None:
    """Whoever owns the metalake cannot be removed before somebody else owns it."""
    await guarded.add(sort, "heirs")
    await guarded.own("metalake", "default", "heirs", sort)
    by = ("heirs", ()) if sort is USER else (OWNER, ("heirs",))
    with pytest.raises(BadRequest, match="owns the metalake"):
        await remove_principal(await guarded.metalake(*by), sort, "heirs")

    await guarded_owner_again(guarded, *by)
    assert await remove_principal(await guarded.metalake(), sort, "heirs")


async def guarded_owner_again(guarded: Guarded, by: str, groups: Sequence[str]) -> None:
    metalake = await guarded.metalake(by, groups)
    await set_owner(guarded.lake, metalake, named("metalake", "default"), USER, OWNER)


async def test_a_user_that_is_switched_off_is_refused(guarded: Guarded, other: Guarded) -> None:
    """It is there, with its roles, and may do nothing at all."""
    added = await add_principal(await guarded.metalake(), USER, New("anna", enabled=False))

    assert added.entity == UserEntity(False, "", added.entity.created_ms, OWNER)
    for node in (guarded, other):
        with pytest.raises(Forbidden, match="it is no user of it, or there is none"):
            await node.metalake("anna")


async def test_users_manage_users_by_their_right(guarded: Guarded) -> None:
    """The right to manage users, and the one to manage groups, are two."""
    await guarded.users("anna", "ben")
    await guarded.role("clerk", rights("metalake", "default", "manage_users"))
    await guarded.assign("anna", "clerk")
    await add_principal(await guarded.metalake("anna"), USER, New("carl"))

    for by, sort in (("anna", GROUP), ("ben", USER), ("ben", GROUP)):
        with pytest.raises(Forbidden):
            await add_principal(await guarded.metalake(by), sort, New("dora"))
        with pytest.raises(Forbidden):
            await remove_principal(await guarded.metalake(by), sort, "carl")


async def test_everybody_sees_itself_and_its_groups(guarded: Guarded) -> None:
    """A list shows who asks, and the groups it is in, and nobody else."""
    await guarded.users("anna", "ben")
    await guarded.groups("cooks", "divers")

    assert await listed(guarded, USER, "anna") == ["anna"]
    assert await listed(guarded, GROUP, "anna", "cooks", "unknown") == ["cooks"]
    assert await listed(guarded, USER) == ["anna", "ben", OWNER]
    assert await listed(guarded, GROUP) == ["cooks", "divers"]


async def test_nobody_is_told_whether_another_is_there(guarded: Guarded) -> None:
    """Asking about others is refused in the same way whether they exist or not."""
    await guarded.users("anna", "ben")
    await guarded.groups("cooks")
    metalake = await guarded.metalake("anna", ["divers"])

    assert (await load_principal(metalake, USER, "anna")).name == "anna"
    for sort, name in ((USER, "ben"), (USER, "nobody"), (GROUP, "cooks"), (GROUP, "nothing")):
        with pytest.raises(Forbidden):
            await load_principal(metalake, sort, name)


async def test_details_of_a_list_are_those_of_each(guarded: Guarded) -> None:
    """Users with their roles come out the same one by one and together."""
    await guarded.users("anna", "ben")
    await guarded.role("reader")
    await guarded.role("writer")
    await guarded.assign("anna", "writer", "reader")
    metalake = await guarded.metalake()
    found = await describe_all(metalake, USER, await list_principals(metalake, USER))

    assert found == [await load_principal(metalake, USER, name) for name in ("anna", "ben", OWNER)]
    assert found[0].roles == ["reader", "writer"]


async def test_a_cold_list_with_details_is_read_in_batches(world: World, guarded: Guarded) -> None:
    """However many users there are, a node that knows nothing reads their details together."""
    await add_users(await guarded.metalake(), [New(f"user-{at:03}") for at in range(100)])
    cold = await guarded_node(world)
    metalake = await cold.metalake()
    world.rig.backend.reset()
    found = await describe_all(metalake, USER, await list_principals(metalake, USER))

    assert len(found) == 101
    assert world.rig.backend.calls["fetch"] <= 8


async def test_many_users_are_added_and_removed_together(guarded: Guarded) -> None:
    """Each has its own outcome: one that fails hinders nobody else."""
    metalake = await guarded.metalake()
    added = await add_users(metalake, [New("anna"), New("anna"), New(""), New("ben")])

    assert [type(one) for one in added] == [Principal, UserExists, BadName, Principal]
    removed = await remove_users(metalake, ["anna", OWNER, "nobody", "ben"])
    assert [one if isinstance(one, bool) else type(one) for one in removed] == [
        True,
        BadRequest,
        False,
        True,
    ]
    assert await listed(guarded, USER) == [OWNER]


async def test_many_are_refused_together(guarded: Guarded) -> None:
    """Who may not manage users changes none of them."""
    await guarded.users("anna")
    for changing in (
        add_users(await guarded.metalake("anna"), [New("ben")]),
        remove_users(await guarded.metalake("anna"), ["anna"]),
    ):
        with pytest.raises(Forbidden):
            await changing

    assert await listed(guarded, USER) == ["anna", OWNER]


async def test_the_change_log_tells_who_came_and_went(guarded: Guarded) -> None:
    """One record for each change, none for what changed nothing."""
    await guarded.users("anna")
    await remove_principal(await guarded.metalake(), USER, "anna")
    await remove_principal(await guarded.metalake(), USER, "anna")

    assert await notes(guarded, PRINCIPALS) == [
        {"do": "create", "kind": "user", "name": ["anna"], "by": OWNER},
        {"do": "drop", "kind": "user", "name": ["anna"], "by": OWNER},
    ]
