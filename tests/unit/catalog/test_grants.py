"""Giving and taking roles and rights: who may, what it does, and that it counts at once."""

import pytest

from headgate.access import rules
from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege
from headgate.catalog import grants
from headgate.catalog.guards import GRANTS
from headgate.catalog.principals import GROUP, USER, Sort, load_principal
from headgate.catalog.privilege_checks import Wanted
from headgate.catalog.roles import Role, delete_role
from headgate.errors import (
    BadRequest,
    CommitTimedOut,
    Forbidden,
    GroupNotFound,
    IllegalObject,
    IllegalPrivilege,
    IllegalRole,
    MetadataObjectNotFound,
    RoleNotFound,
    UserNotFound,
)
from headgate.testing.faults import Fault
from tests.unit.catalog.guarded import (
    OWNER,
    Guarded,
    named,
    notes,
    refused_commits,
    rights,
    shown,
)
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World

SCHEMA, TABLE = f"{CATALOG}.a", f"{CATALOG}.a.t"
USE = rights("catalog", CATALOG, "use_catalog")
SORTS = pytest.mark.parametrize("sort", [USER, GROUP], ids=["user", "group"])


async def override(guarded: Guarded, role: str, *wanted: Wanted, by: str = OWNER) -> Role:
    metalake = await guarded.metalake(by)
    return await grants.override_privileges(guarded.lake, metalake, role, wanted)


async def on(guarded: Guarded, kind: str, text: str, by: str = OWNER) -> list[str]:
    """The roles that have rights on an object."""
    return await grants.roles_on(guarded.lake, await guarded.metalake(by), named(kind, text))


@SORTS
async def test_roles_are_given_and_taken(guarded: Guarded, sort: Sort) -> None:
    """The answer tells which ones there are then; to give or take one twice changes nothing."""
    await guarded.add(sort, "anna")
    await guarded.role("r")
    await guarded.role("s")

    assert (await guarded.assign("anna", "s", "r", "s", sort=sort)).roles == ["r", "s"]
    assert (await guarded.assign("anna", "r", sort=sort)).roles == ["r", "s"]
    assert (await guarded.unassign("anna", "s", sort=sort)).roles == ["r"]
    assert (await guarded.unassign("anna", "s", sort=sort)).roles == ["r"]
    assert (await load_principal(await guarded.metalake(), sort, "anna")).roles == ["r"]


async def test_a_role_counts_at_the_next_request_on_every_node(
    guarded: Guarded, other: Guarded
) -> None:
    """Given on one node and taken on the other, again and again."""
    await guarded.users("anna")
    await guarded.role("r", USE)
    for _ in range(3):
        await guarded.assign("anna", "r")
        assert await other.may("anna", rules.LOAD_CATALOG)
        await other.unassign("anna", "r")
        assert not await guarded.may("anna", rules.LOAD_CATALOG)


async def test_a_role_of_a_group_is_for_those_in_it(guarded: Guarded, other: Guarded) -> None:
    """Who is in the group has it, and nobody else, until it is taken from the group."""
    await guarded.users("anna")
    await guarded.groups("cooks")
    await guarded.role("r", USE)
    await guarded.assign("cooks", "r", sort=GROUP)

    assert await other.may("anna", rules.LOAD_CATALOG, groups=["cooks"])
    assert not await other.may("anna", rules.LOAD_CATALOG)
    await guarded.unassign("cooks", "r", sort=GROUP)
    assert not await other.may("anna", rules.LOAD_CATALOG, groups=["cooks"])


async def test_who_and_what_is_given_must_be_there(guarded: Guarded) -> None:
    """Unknown users, groups and roles are refused, and so is nothing at all."""
    await guarded.users("anna")
    await guarded.role("r")
    with pytest.raises(UserNotFound):
        await guarded.assign("nobody", "r")
    with pytest.raises(GroupNotFound):
        await guarded.unassign("anna", "r", sort=GROUP)
    with pytest.raises(IllegalRole):
        await guarded.assign("anna", "r", "none")
    with pytest.raises(BadRequest):
        await guarded.assign("anna")

    assert (await load_principal(await guarded.metalake(), USER, "anna")).roles == []


async def test_roles_are_given_by_those_who_manage_grants(guarded: Guarded) -> None:
    """The owner of a role may not give it to itself: that would be a way to any right."""
    await guarded.users("anna", "ben")
    await guarded.role("maker", rights("metalake", METALAKE, "create_role"))
    await guarded.role("giver", rights("metalake", METALAKE, "manage_grants"))
    await guarded.assign("anna", "maker")
    await guarded.assign("ben", "giver")
    await guarded.role("r", by="anna")
    await guarded.grant("r", USE)

    for change in (grants.assign_roles, grants.unassign_roles):
        with pytest.raises(Forbidden):
            await change(await guarded.metalake("anna"), USER, "anna", ["r"])
    await grants.assign_roles(await guarded.metalake("ben"), USER, "ben", ["r"])
    assert await guarded.may("ben", rules.LOAD_CATALOG)


async def test_rights_are_given_and_taken(guarded: Guarded, other: Guarded) -> None:
    """They add up, and what is left of them is answered; nothing left is no object any more."""
    await guarded.users("anna")
    await guarded.role("r")
    await guarded.assign("anna", "r")
    await guarded.grant("r", USE)
    assert await other.may("anna", rules.LOAD_CATALOG)
    both = await other.grant("r", rights("catalog", CATALOG, "use_schema", deny=["create_table"]))

    assert shown(both) == {
        (T.CATALOG, CATALOG): (
            Privilege.USE_CATALOG | Privilege.USE_SCHEMA,
            Privilege.CREATE_TABLE,
        )
    }
    await other.revoke("r", rights("catalog", CATALOG, "use_catalog", deny=["create_table"]))
    assert not await guarded.may("anna", rules.LOAD_CATALOG)
    assert shown(await guarded.load("r")) == {(T.CATALOG, CATALOG): (Privilege.USE_SCHEMA, 0)}
    assert shown(await guarded.revoke("r", rights("catalog", CATALOG, "use_schema"))) == {}
    assert shown(await other.load("r")) == {}


async def test_what_is_denied_beats_what_is_allowed_anywhere_above(guarded: Guarded) -> None:
    """A right on the metalake is of no use where it is denied, until it is not denied any more."""
    await guarded.users("anna")
    await guarded.role("r", rights("metalake", METALAKE, "use_catalog"))
    await guarded.role("s", rights("catalog", CATALOG, deny=["use_catalog"]))
    await guarded.assign("anna", "r", "s")

    assert not await guarded.may("anna", rules.LOAD_CATALOG)
    await guarded.revoke("s", rights("catalog", CATALOG, deny=["use_catalog"]))
    assert await guarded.may("anna", rules.LOAD_CATALOG)


async def test_taking_what_is_not_given_changes_nothing(guarded: Guarded) -> None:
    """A right that is allowed is not taken by taking it as denied."""
    await guarded.role("r", USE)
    await guarded.revoke("r", rights("catalog", CATALOG, deny=["use_catalog"]))
    await guarded.revoke("r", rights("schema", SCHEMA, "use_schema"))

    assert shown(await guarded.load("r")) == {(T.CATALOG, CATALOG): (Privilege.USE_CATALOG, 0)}


async def test_a_role_does_not_deny_what_it_allows(guarded: Guarded) -> None:
    """Not by two grants either; the first one stays."""
    await guarded.role("r", USE)
    with pytest.raises(IllegalPrivilege, match="both allow and deny"):
        await guarded.grant("r", rights("catalog", CATALOG, deny=["use_catalog"]))

    assert shown(await guarded.load("r")) == {(T.CATALOG, CATALOG): (Privilege.USE_CATALOG, 0)}


async def test_rights_must_fit_their_object(guarded: Guarded) -> None:
    """Also when they are given later, and when they are taken."""
    await guarded.role("r")
    for change in (guarded.grant, guarded.revoke):
        with pytest.raises(IllegalPrivilege):
            await change("r", rights("schema", SCHEMA, "create_catalog"))
        with pytest.raises(MetadataObjectNotFound):
            await change("r", rights("schema", f"{CATALOG}.none", "use_schema"))
        with pytest.raises(IllegalObject):
            await change("r", rights("role", "r", "use_schema"))
        with pytest.raises(RoleNotFound):
            await change("none", USE)


async def test_rights_are_given_by_who_manages_grants_there(node: Node, guarded: Guarded) -> None:
    """The right to manage grants counts on the object and below it, with the use of what is above
    it, and nowhere else."""
    await guarded.users("anna")
    await node.table("t")
    await guarded.role("r")
    await guarded.role("giver", rights("schema", SCHEMA, "manage_grants", "use_schema"), USE)
    await guarded.assign("anna", "giver")
    await guarded.grant("r", rights("table", TABLE, "select_table"), by="anna")
    await guarded.grant("r", rights("schema", SCHEMA, "use_schema"), by="anna")

    for wanted in (USE, rights("metalake", METALAKE, "use_catalog")):
        with pytest.raises(Forbidden):
            await guarded.grant("r", wanted, by="anna")
    await guarded.revoke("giver", USE)
    with pytest.raises(Forbidden):
        await guarded.grant("r", rights("table", TABLE, "select_table"), by="anna")


async def test_an_owner_gives_rights_on_what_it_owns(guarded: Guarded) -> None:
    """The owner of a catalog needs no right to manage grants in it."""
    await guarded.users("anna")
    await guarded.role("r")
    await guarded.own("catalog", CATALOG, "anna")

    assert shown(await guarded.grant("r", rights("schema", SCHEMA, "use_schema"), by="anna"))


async def test_who_may_not_see_a_role_sees_only_what_it_gave(guarded: Guarded) -> None:
    """The answer to a grant tells nothing of the other rights of a role."""
    await guarded.users("anna")
    await guarded.role("r", rights("metalake", METALAKE, "create_catalog"))
    await guarded.own("catalog", CATALOG, "anna")
    answer = await guarded.grant("r", USE, by="anna")

    assert list(shown(answer)) == [(T.CATALOG, CATALOG)]
    assert len(shown(await guarded.load("r"))) == 2


async def test_all_rights_of_a_role_are_replaced(guarded: Guarded, other: Guarded) -> None:
    """What is not named is gone, what is named is as it is named, in one commit."""
    await guarded.users("anna")
    await guarded.role("r", USE, rights("schema", SCHEMA, "use_schema"))
    await guarded.assign("anna", "r")
    answer = await override(guarded, "r", rights("schema", SCHEMA, deny=["use_schema"]))

    expected = {(T.SCHEMA, SCHEMA): (0, Privilege.USE_SCHEMA)}
    assert shown(answer) == expected
    assert shown(await other.load("r")) == expected
    assert not await other.may("anna", rules.LOAD_CATALOG)
    assert shown(await override(other, "r")) == {}


async def test_replacing_is_refused_as_a_whole(guarded: Guarded) -> None:
    """With one object that is not there, or without the right, nothing is changed."""
    await guarded.users("anna")
    await guarded.role("r", USE)
    with pytest.raises(MetadataObjectNotFound):
        await override(guarded, "r", rights("schema", f"{CATALOG}.none", "use_schema"))
    with pytest.raises(RoleNotFound):
        await override(guarded, "none")
    with pytest.raises(Forbidden):
        await override(guarded, "r", by="anna")

    assert len(shown(await guarded.load("r"))) == 1


async def test_an_object_tells_which_roles_are_about_it(node: Node, guarded: Guarded) -> None:
    """Of those the caller may see, and only those with rights on this very object."""
    await guarded.users("anna")
    await node.table("t")
    await guarded.role("r", USE, rights("table", TABLE, "select_table"))
    await guarded.role("s", rights("table", TABLE, deny=["modify_table"]))
    await guarded.role("q", rights("schema", SCHEMA, "use_schema"))
    await guarded.assign("anna", "r", "q")

    assert await on(guarded, "table", TABLE) == ["r", "s"]
    assert await on(guarded, "schema", SCHEMA) == ["q"]
    assert await on(guarded, "metalake", METALAKE) == []
    assert await on(guarded, "table", TABLE, by="anna") == ["r"]
    await guarded.unassign("anna", "r")
    with pytest.raises(Forbidden):
        await on(guarded, "table", TABLE, by="anna")
    with pytest.raises(IllegalObject):
        await on(guarded, "role", "r")


@pytest.mark.parametrize("is_given", [True, False])
async def test_a_commit_that_fails_leaves_all_as_it_was(
    world: World, guarded: Guarded, is_given: bool
) -> None:
    """If the database refuses the one write, nobody has gained or lost anything."""
    await guarded.users("anna")
    await guarded.role("r", USE)
    if not is_given:
        await guarded.assign("anna", "r")
    before = await world.state()
    change = guarded.assign if is_given else guarded.unassign
    with refused_commits(world), pytest.raises(CommitTimedOut):
        await change("anna", "r")
    with refused_commits(world), pytest.raises(CommitTimedOut):
        await guarded.revoke("r", USE)

    assert await world.state() == before
    assert await guarded.may("anna", rules.LOAD_CATALOG) is not is_given


async def test_what_is_done_is_answered_also_if_nothing_can_be_read_then(
    world: World, guarded: Guarded
) -> None:
    """A client that is told to try again would take it for not done. So it is told less."""
    await guarded.users("anna")
    await guarded.role("r", rights("metalake", METALAKE, "create_catalog"))
    await guarded.role("s")
    await guarded.assign("anna", "s")
    faults = world.rig.faults

    def go_silent() -> None:
        faults.schedule("read_pointers", Fault.UNAVAILABLE)

    faults.crash_at("after_commit", go_silent)
    assert (await guarded.assign("anna", "r")).roles == ["r"]
    faults.crash_at("after_commit", go_silent)
    assert list(shown(await guarded.grant("r", USE))) == [(T.CATALOG, CATALOG)]

    assert faults.injected["unavailable"] == 2
    assert len(shown(await guarded.load("r"))) == 2
    assert (await load_principal(await guarded.metalake(), USER, "anna")).roles == ["r", "s"]


async def test_a_role_that_is_deleted_while_it_is_given_gives_nothing(
    guarded: Guarded, other: Guarded
) -> None:
    """What is written for it then is of no use, and it is not answered."""
    await guarded.users("anna")
    await guarded.role("r", USE)
    metalake = await guarded.metalake()
    await delete_role(await other.metalake(), "r")

    assert (await grants.assign_roles(metalake, USER, "anna", ["r"])).roles == []
    assert not await other.may("anna", rules.LOAD_CATALOG)


async def test_each_change_is_one_commit_with_one_record(guarded: Guarded) -> None:
    """And what changes nothing has no record."""
    await guarded.users("anna")
    await guarded.role("r")
    await guarded.assign("anna", "r")
    await guarded.assign("anna", "r")
    await guarded.grant("r", rights("catalog", CATALOG, "use_catalog", deny=["use_schema"]))
    await guarded.revoke("r", USE)
    await override(guarded, "r", USE)
    await override(guarded, "r")
    await guarded.unassign("anna", "r")
    role = {"kind": "role", "name": ["r"]}
    about = {"type": "catalog", "on": CATALOG}
    user = {"kind": "user", "name": ["anna"], "roles": ["r"]}
    use, deny = ["use_catalog"], ["use_schema"]

    assert await notes(guarded, GRANTS) == [
        {"do": "grant", **user, "by": OWNER},
        {"do": "grant", **role, **about, "allow": use, "deny": deny, "by": OWNER},
        {"do": "revoke", **role, **about, "allow": use, "deny": [], "by": OWNER},
        {"do": "alter", **role, "objects": [{**about, "allow": use, "deny": []}], "by": OWNER},
        {"do": "alter", **role, "objects": [], "by": OWNER},
        {"do": "revoke", **user, "by": OWNER},
    ]
