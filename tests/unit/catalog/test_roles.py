"""Roles: whole or not at all, and shown with what their objects are called now."""

import pytest

from headgate.access import rules
from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege
from headgate.catalog import assignments, roles
from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.guards import PRINCIPAL_ROLES
from headgate.catalog.roles import create_role, delete_role, list_roles, load_role
from headgate.errors import (
    BadName,
    BadRequest,
    CommitTimedOut,
    Forbidden,
    HeadgateError,
    IllegalObject,
    IllegalPrivilege,
    OutcomeUnknown,
    RoleExists,
    RoleNotFound,
)
from headgate.kernel.index import HeadView
from headgate.testing.faults import Fault
from tests.unit.catalog.guarded import (
    OWNER,
    Guarded,
    guarded_node,
    notes,
    refused_commits,
    rights,
    shown,
)
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World

SCHEMA, TABLE = f"{CATALOG}.a", f"{CATALOG}.a.t"
RENAME = {
    "source": {"namespace": ["a"], "name": "t"},
    "destination": {"namespace": ["a"], "name": "u"},
}


async def everything(head: HeadView) -> int:
    """How many entries there are under `grants`."""
    found = 0
    for index in ("assigned", "granted"):
        found += len([key async for key, _ in head.index(index).scan()])
    return found


async def names(guarded: Guarded, by: str = OWNER) -> list[str]:
    return [name for name, _ in await list_roles(await guarded.metalake(by))]


async def test_a_role_shows_its_rights(node: Node, guarded: Guarded) -> None:
    """What it was created with is what is loaded, its creator and its properties too."""
    await node.table("t")
    wanted = (
        rights("metalake", METALAKE, "create_catalog"),
        rights("catalog", CATALOG, "use_catalog", deny=["create_schema"]),
        rights("schema", SCHEMA, "use_schema"),
        rights("table", TABLE, "SELECT_TABLE", "modify_table"),
    )
    made = await create_role(guarded.lake, await guarded.metalake(), "r", {"k": "v"}, wanted)
    loaded = await guarded.load("r")

    assert shown(loaded) == {
        (T.METALAKE, METALAKE): (Privilege.CREATE_CATALOG, 0),
        (T.CATALOG, CATALOG): (Privilege.USE_CATALOG, Privilege.CREATE_SCHEMA),
        (T.SCHEMA, SCHEMA): (Privilege.USE_SCHEMA, 0),
        (T.TABLE, TABLE): (Privilege.SELECT_TABLE | Privilege.MODIFY_TABLE, 0),
    }
    assert (made.entity, shown(made)) == (loaded.entity, shown(loaded))
    assert (loaded.entity.properties, loaded.entity.created_by) == ({"k": "v"}, OWNER)


async def test_its_creator_owns_a_role(guarded: Guarded) -> None:
    """So it may see and delete it, and nobody else without rights may."""
    await guarded.users("anna", "ben")
    await guarded.role("maker", rights("metalake", METALAKE, "create_role"))
    await guarded.assign("anna", "maker")
    await guarded.role("r", by="anna")

    assert await guarded.owner("role", "r", by="anna") == ("user", "anna")
    with pytest.raises(Forbidden):
        await guarded.role("s", by="ben")
    with pytest.raises(Forbidden):
        await delete_role(await guarded.metalake("ben"), "r")
    assert await delete_role(await guarded.metalake("anna"), "r")


async def test_a_role_is_seen_by_those_whom_it_concerns(guarded: Guarded) -> None:
    """Its owner, who has it, and who manages grants; for others it is as if it were not there."""
    await guarded.users("anna", "ben", "carl")
    await guarded.role("r")
    await guarded.role("s", rights("metalake", METALAKE, "manage_grants"))
    await guarded.assign("anna", "r")
    await guarded.assign("ben", "s")

    assert await names(guarded) == ["r", "s"]
    assert await names(guarded, "anna") == ["r"]
    assert await names(guarded, "ben") == ["r", "s"]
    assert await names(guarded, "carl") == []
    assert (await guarded.load("r", by="anna")).name == "r"
    for name in ("r", "none"):
        with pytest.raises(Forbidden):
            await guarded.load(name, by="carl")


async def test_who_may_see_all_is_told_what_is_missing(guarded: Guarded) -> None:
    """Loading an unknown role fails; deleting one does nothing."""
    with pytest.raises(RoleNotFound):
        await guarded.load("none")

    assert not await delete_role(await guarded.metalake(), "none")


async def test_a_name_is_given_once(guarded: Guarded) -> None:
    """A second role of the same name is refused, and the first one keeps its own rights."""
    before = await guarded.role("r", rights("catalog", CATALOG, "use_catalog"))
    with pytest.raises(RoleExists):
        await guarded.role("r", rights("schema", SCHEMA, "use_schema"))

    assert shown(await guarded.load("r")) == shown(before)


@pytest.mark.parametrize(
    ("kind", "text", "right", "error"),
    [
        ("catalog", "none", "use_catalog", IllegalObject),
        ("schema", "none.a", "use_schema", IllegalObject),
        ("schema", f"{CATALOG}.none", "use_schema", IllegalObject),
        ("table", f"{CATALOG}.a.none", "select_table", IllegalObject),
        ("metalake", "another", "use_catalog", IllegalObject),
        ("role", "r", "use_catalog", IllegalObject),
        ("schema", SCHEMA, "create_catalog", IllegalPrivilege),
        ("table", TABLE, "create_table", IllegalPrivilege),
        ("catalog", CATALOG, "read_fileset", IllegalPrivilege),
        ("schema", SCHEMA, "produce_topic", IllegalPrivilege),
        ("catalog", CATALOG, "use_model", IllegalPrivilege),
    ],
)
async def test_rights_must_fit_their_object(
    node: Node, guarded: Guarded, kind: str, text: str, right: str, error: type[HeadgateError]
) -> None:
    """An object that is not there, a right of another kind, a catalog of another type."""
    await node.table("t")
    with pytest.raises(error):
        await guarded.role("r", rights(kind, text, right))

    assert await names(guarded) == []


async def test_rights_on_a_metalake_are_for_catalogs_of_all_types(guarded: Guarded) -> None:
    """Filesets and tables may come later."""
    wanted = rights("metalake", METALAKE, "read_fileset", "select_table", "use_model")

    assert shown(await guarded.role("r", wanted))


async def test_rights_in_a_catalog_are_those_of_its_type(
    world: World, node: Node, guarded: Guarded
) -> None:
    """In a catalog of filesets, tables have no rights."""
    files = CatalogEntity(0, "files", f"{world.folder.as_posix()}/files", {}, type="fileset")
    await create_catalog(node.kernel, METALAKE, files)
    await guarded.role("r", rights("catalog", "files", "read_fileset", "use_schema"))

    with pytest.raises(IllegalPrivilege, match="has the type fileset"):
        await guarded.role("s", rights("catalog", "files", "select_table"))


async def test_one_role_does_not_both_allow_and_deny() -> None:
    """The same right on the same object cannot be both; without any there is nothing to give."""
    with pytest.raises(IllegalPrivilege, match="both allow and deny"):
        rights("catalog", CATALOG, "use_catalog", deny=["USE_CATALOG"])
    with pytest.raises(BadRequest):
        rights("catalog", CATALOG)


async def test_an_object_is_named_once(guarded: Guarded) -> None:
    """Also if it is written in two ways."""
    with pytest.raises(BadRequest, match="twice"):
        await guarded.role(
            "r",
            rights("schema", SCHEMA, "use_schema"),
            rights("schema", SCHEMA.replace(".", "\x1f"), "create_table"),
        )


async def test_a_request_has_an_end(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    """More objects than one request may have are refused, and a name must be one."""
    monkeypatch.setattr(roles, "OBJECTS_PER_REQUEST_MAX", 1)
    with pytest.raises(BadRequest, match="Too many"):
        await guarded.role("r", *[rights("catalog", CATALOG, "use_catalog")] * 2)
    with pytest.raises(BadName):
        await guarded.role("")


async def test_a_role_that_cannot_be_named_leaves_no_rights(world: World, guarded: Guarded) -> None:
    """The rights come first and give nothing; if the name fails, there is no role."""
    await guarded.users("anna")
    with refused_commits(world, after=1), pytest.raises(CommitTimedOut):
        await guarded.role("r", rights("catalog", CATALOG, "use_catalog"))

    assert await names(guarded) == []
    await guarded.role("r")
    await guarded.assign("anna", "r")
    assert not await guarded.may("anna", rules.LOAD_CATALOG)


async def test_of_two_roles_of_one_name_one_is_made(
    world: World, guarded: Guarded, other: Guarded
) -> None:
    """Whoever is second has nothing: what it wrote before is taken back."""
    metalake = await guarded.metalake()
    await other.role("r", rights("schema", SCHEMA, "use_schema"))
    before = await everything((await other.metalake()).grants)
    wanted = [rights("catalog", CATALOG, "use_catalog")]
    with pytest.raises(RoleExists):
        await create_role(guarded.lake, metalake, "r", {}, wanted)

    assert list(shown(await guarded.load("r"))) == [(T.SCHEMA, SCHEMA)]
    assert await everything((await other.metalake()).grants) == before


async def test_a_role_that_may_be_there_keeps_its_rights(world: World, guarded: Guarded) -> None:
    """If nobody knows whether the name was written, nothing is taken back."""
    faults = world.rig.faults
    faults.schedule("commit", Fault.DELAY)
    faults.schedule("commit", Fault.LOST_AFTER)
    for _ in range(500):
        faults.schedule("commit", Fault.LOST_BEFORE)
    with pytest.raises(OutcomeUnknown):
        await guarded.role("r", rights("catalog", CATALOG, "use_catalog"))
    faults._scheduled.clear()

    assert list(shown(await guarded.load("r"))) == [(T.CATALOG, CATALOG)]


async def test_a_deleted_role_gives_nothing_any_more(guarded: Guarded, other: Guarded) -> None:
    """Who had it is refused at the next request on every node, and nothing is left of it."""
    await guarded.users("anna")
    await guarded.role("r", rights("catalog", CATALOG, "use_catalog"))
    await guarded.assign("anna", "r")
    assert await other.may("anna", rules.LOAD_CATALOG)
    assert await delete_role(await guarded.metalake(), "r")

    assert not await other.may("anna", rules.LOAD_CATALOG)
    assert not await guarded.may("anna", rules.LOAD_CATALOG)
    assert await everything((await guarded.metalake()).grants) == 0


@pytest.mark.parametrize("users", ["", "u", "uvwxy"])
async def test_a_large_role_is_cleaned_away_in_several_commits(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch, users: str
) -> None:
    """None of them takes long, and nothing is left of it."""
    monkeypatch.setattr(assignments, "FORGOTTEN_PER_COMMIT", 2)
    await guarded.users(*users)
    objects = [("catalog", CATALOG, "use_catalog"), ("schema", SCHEMA, "use_schema")]
    await guarded.role(
        "r", rights("metalake", METALAKE, "use_catalog"), *(rights(*o) for o in objects)
    )
    for user in users:
        await guarded.assign(user, "r")
    before = await everything((await guarded.metalake()).grants)
    assert await delete_role(await guarded.metalake(), "r")

    assert before == 3 + len(users)
    assert await everything((await guarded.metalake()).grants) == 0


@pytest.mark.parametrize("is_cleaned", [True, False])
async def test_a_new_role_of_the_same_name_has_no_old_rights_and_no_holders(
    guarded: Guarded, is_cleaned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever had the old one does not have it, also if the old one could not be cleaned away."""
    await guarded.users("anna")
    await guarded.role("r", rights("catalog", CATALOG, "use_catalog"))
    await guarded.assign("anna", "r")
    if not is_cleaned:

        async def keep(*_: object) -> None: ...

        monkeypatch.setattr(roles, "forget_role", keep)
    await delete_role(await guarded.metalake(), "r")
    await guarded.role("r", rights("schema", SCHEMA, "use_schema"))

    assert list(shown(await guarded.load("r"))) == [(T.SCHEMA, SCHEMA)]
    assert not await guarded.may("anna", rules.LOAD_CATALOG)
    assert (await guarded.assign("anna", "r")).roles == ["r"]
    assert not await guarded.may("anna", rules.LOAD_CATALOG)


async def test_another_role_of_the_same_name_is_not_deleted(
    guarded: Guarded, other: Guarded
) -> None:
    """Who may delete a role may not delete what has taken its place meanwhile."""
    await guarded.users("anna")
    await guarded.role("r")
    await guarded.own("role", "r", "anna")
    metalake = await guarded.metalake("anna")
    await delete_role(await other.metalake(), "r")
    await other.role("r")

    assert not await delete_role(metalake, "r")
    assert await names(guarded) == ["r"]


async def test_a_renamed_object_is_shown_by_its_new_name(node: Node, guarded: Guarded) -> None:
    """The rights stay with the object, on every node."""
    await guarded.users("anna")
    await node.table("t")
    await guarded.role(
        "r",
        rights("catalog", CATALOG, "use_catalog", "use_schema"),
        rights("table", TABLE, "select_table"),
    )
    await guarded.assign("anna", "r")
    assert await guarded.may("anna", rules.LOAD_TABLE, ("a",), "t")
    await node.made("/v1/default.main/tables/rename", RENAME)

    assert (T.TABLE, f"{CATALOG}.a.u") in shown(await guarded.load("r"))
    assert await guarded.may("anna", rules.LOAD_TABLE, ("a",), "u")


async def test_a_new_object_of_the_same_name_has_no_old_rights(
    node: Node, guarded: Guarded
) -> None:
    """A table that was dropped is no longer shown, and who had rights on it has none on the new."""
    await guarded.users("anna")
    await node.table("t")
    await guarded.role(
        "r",
        rights("catalog", CATALOG, "use_catalog", "use_schema"),
        rights("table", TABLE, "select_table"),
    )
    await guarded.assign("anna", "r")
    await node.delete("namespaces/a/tables/t")
    await node.table("t")

    assert list(shown(await guarded.load("r"))) == [(T.CATALOG, CATALOG)]
    assert not await guarded.may("anna", rules.LOAD_TABLE, ("a",), "t")


async def test_names_with_dots_are_shown_so_that_they_lead_back(
    node: Node, guarded: Guarded
) -> None:
    """What a role shows can be granted again and is the same object."""
    await node.namespace("x.y")
    await node.table("t", "x.y")
    text = f"{CATALOG}\x1fx.y\x1ft"
    await guarded.role("r", rights("table", text, "select_table"))

    assert list(shown(await guarded.load("r"))) == [(T.TABLE, text)]
    again = await guarded.grant("r", rights("table", text, "modify_table"))
    assert len(again.objects) == 1


async def test_a_cold_node_shows_the_same(world: World, node: Node, guarded: Guarded) -> None:
    """A role is read from the database, not from what a node remembers."""
    await node.table("t")
    await guarded.role("r", rights("table", TABLE, "select_table"))
    cold = await guarded_node(world)

    assert shown(await cold.load("r")) == shown(await guarded.load("r"))


async def test_a_node_that_polls_shows_no_role_that_never_was(
    world: World, node: Node, guarded: Guarded
) -> None:
    """It may be late with the metalake, and then it does not mix it with what is new in a
    catalog."""
    await node.table("t")
    await guarded.role("r", rights("table", TABLE, "select_table"))
    polling = await guarded_node(world, polls=True)
    late = await polling.metalake(is_fresh=False)
    await guarded.revoke("r", rights("table", TABLE, "select_table"))
    await node.made("/v1/default.main/tables/rename", RENAME)
    role = await load_role(polling.lake, await polling.metalake(is_fresh=False), "r")

    assert (await polling.metalake()).heads.vector != late.heads.vector
    assert shown(role) == {}


async def test_the_change_log_has_one_record_for_each_change(guarded: Guarded) -> None:
    """Creating a role with rights is one operation, deleting it with all it has another."""
    await guarded.role("r", rights("catalog", CATALOG, "use_catalog"))
    given = {"type": "catalog", "on": CATALOG, "allow": ["use_catalog"], "deny": []}
    await delete_role(await guarded.metalake(), "r")

    assert await notes(guarded, PRINCIPAL_ROLES) == [
        {"do": "create", "kind": "role", "name": ["r"], "objects": [given], "by": OWNER},
        {"do": "drop", "kind": "role", "name": ["r"], "by": OWNER},
    ]
    assert await notes(guarded, "grants") == []
