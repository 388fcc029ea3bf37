"""Owners: who owns what, who may hand it over, and that it counts at once."""

import pytest

from headgate.access import rules
from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.owners import give_metalake, set_owner
from headgate.catalog.principals import GROUP, USER, New, add_principal, remove_principal
from headgate.errors import (
    CommitTimedOut,
    Forbidden,
    GroupNotFound,
    MetadataObjectNotFound,
    UserNotFound,
)
from tests.unit.catalog.guarded import (
    ADMIN,
    OWNER,
    Guarded,
    guarded_node,
    named,
    notes,
    refused_commits,
    rights,
)
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World

SCHEMA, NESTED, TABLE, VIEW = f"{CATALOG}.a", f"{CATALOG}.a:b", f"{CATALOG}.a.t", f"{CATALOG}.a.v"
OBJECTS = [
    ("catalog", CATALOG),
    ("schema", SCHEMA),
    ("schema", NESTED),
    ("table", TABLE),
    ("view", VIEW),
    ("role", "r"),
]


@pytest.fixture
async def filled(node: Node, guarded: Guarded) -> Guarded:
    """A metalake with one object of each kind, and two more users."""
    await node.namespace("a", "b")
    await node.table("t")
    await node.view("v")
    await guarded.users("anna", "ben")
    await guarded.groups("cooks")
    await guarded.role("r")
    return guarded


@pytest.mark.parametrize(("kind", "text"), OBJECTS)
async def test_everything_can_be_handed_over(
    filled: Guarded, other: Guarded, kind: str, text: str
) -> None:
    """To a user or to a group; the next request on another node knows."""
    await filled.own(kind, text, "anna")
    assert await other.owner(kind, text) == ("user", "anna")
    await other.own(kind, text, "cooks", GROUP)

    assert await filled.owner(kind, text) == ("group", "cooks")


@pytest.mark.parametrize("name", ["ben", "dora", "dan"])
async def test_an_operator_gives_the_metalake_to_anybody(
    filled: Guarded, other: Guarded, name: str
) -> None:
    """Who is a user of it, or none yet, or one that is switched off; the former owner stays one."""
    await add_principal(await filled.metalake(), USER, New("dan", enabled=False))
    call = Call(CatalogName(METALAKE, ""), Caller("operator", is_server=True))
    await give_metalake(await filled.lake.open_metalake(call), name)

    assert await other.owner("metalake", METALAKE, by=name) == ("user", name)
    (await other.metalake(name)).require(rules.DROP_METALAKE)
    with pytest.raises(Forbidden):
        (await other.metalake(OWNER)).require(rules.DROP_METALAKE)


async def test_what_nobody_was_given_has_no_owner(filled: Guarded) -> None:
    """Objects that were made where rights were not checked belong to nobody."""
    assert await filled.owner("table", TABLE) is None


@pytest.mark.parametrize("kind", ["table", "view", "function", "fileset", "topic", "model"])
async def test_what_is_not_there_has_no_owner_to_be_told(filled: Guarded, kind: str) -> None:
    """Neither can it be handed over."""
    text = f"{CATALOG}.a.none"
    with pytest.raises(MetadataObjectNotFound):
        await filled.owner(kind, text)
    with pytest.raises(MetadataObjectNotFound):
        await filled.own(kind, text, "anna")


async def test_a_new_owner_must_be_there(filled: Guarded) -> None:
    """A user is not a group of the same name."""
    with pytest.raises(UserNotFound):
        await filled.own("schema", SCHEMA, "nobody")
    with pytest.raises(GroupNotFound):
        await filled.own("schema", SCHEMA, "anna", GROUP)

    assert await filled.owner("schema", SCHEMA) is None


async def test_a_metalake_is_handed_over_at_once(filled: Guarded, other: Guarded) -> None:
    """The new owner may what only owners may, the old one may not any more, on every node."""
    await filled.own("metalake", METALAKE, "anna")

    (await other.metalake("anna")).require(rules.ALTER_METALAKE)
    with pytest.raises(Forbidden):
        (await other.metalake()).require(rules.ALTER_METALAKE)
    assert await other.owner("metalake", METALAKE, by="ben") == ("user", "anna")
    await other.own("metalake", METALAKE, OWNER, by="anna")
    (await filled.metalake()).require(rules.ALTER_METALAKE)


async def test_a_metalake_without_an_owner_is_for_the_service_admins(
    world: World, node: Node
) -> None:
    """Whom the settings name can add a user and give the metalake to it."""
    orphaned = await guarded_node(world)
    await add_principal(await orphaned.metalake(ADMIN), USER, New(OWNER))
    assert await orphaned.owner("metalake", METALAKE, by=ADMIN) is None
    await orphaned.own("metalake", METALAKE, OWNER, by=ADMIN)

    assert await orphaned.owner("metalake", METALAKE) == ("user", OWNER)
    with pytest.raises(Forbidden):
        await orphaned.metalake(ADMIN)


async def test_only_owners_hand_over(filled: Guarded) -> None:
    """Rights to manage grants or to modify are not enough; owning something above is."""
    await filled.role(
        "s",
        rights("metalake", METALAKE, "manage_grants", "modify_table", "use_catalog", "use_schema"),
    )
    await filled.assign("anna", "s")
    for kind, text in [*OBJECTS, ("metalake", METALAKE)]:
        with pytest.raises(Forbidden):
            await filled.own(kind, text, "anna", by="anna")

    await filled.own("schema", SCHEMA, "anna")
    await filled.own("table", TABLE, "ben", by="anna")
    await filled.own("schema", NESTED, "ben", by="anna")
    with pytest.raises(Forbidden):
        await filled.own("catalog", CATALOG, "anna", by="anna")


async def test_who_handed_something_over_has_it_no_more(filled: Guarded, other: Guarded) -> None:
    """The old owner cannot take it back."""
    await filled.own("catalog", CATALOG, "anna")
    assert await other.may("anna", rules.ALTER_CATALOG)
    await filled.own("catalog", CATALOG, "ben", by="anna")

    assert not await other.may("anna", rules.ALTER_CATALOG)
    assert await other.may("ben", rules.ALTER_CATALOG)
    with pytest.raises(Forbidden):
        await other.own("catalog", CATALOG, "anna", by="anna")


async def test_an_owner_is_told_to_those_who_may_see_the_object(filled: Guarded) -> None:
    """Others are refused, whether it is there or not."""
    await filled.own("table", TABLE, "ben")
    for text in (TABLE, f"{CATALOG}.a.none"):
        with pytest.raises(Forbidden):
            await filled.owner("table", text, by="anna")
    use = rights("catalog", CATALOG, "use_catalog", "use_schema", "select_table")
    await filled.grant("r", use)
    await filled.assign("anna", "r")

    assert await filled.owner("table", TABLE, by="anna") == ("user", "ben")


async def test_what_belongs_to_a_group_belongs_to_all_in_it(filled: Guarded) -> None:
    """As long as they are in it."""
    await filled.own("catalog", CATALOG, "cooks", GROUP)

    assert await filled.may("anna", rules.ALTER_CATALOG, groups=["cooks"])
    assert not await filled.may("anna", rules.ALTER_CATALOG)


async def test_an_owner_that_was_removed_owns_nothing(filled: Guarded, other: Guarded) -> None:
    """Nor does somebody new of the same name."""
    await filled.own("catalog", CATALOG, "anna")
    await remove_principal(await filled.metalake(), USER, "anna")
    assert await other.owner("catalog", CATALOG) is None
    await filled.users("anna")

    assert await other.owner("catalog", CATALOG) is None
    assert not await other.may("anna", rules.LOAD_CATALOG)


async def test_an_object_that_was_renamed_meanwhile_is_still_the_one_that_was_meant(
    node: Node, filled: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is handed over by its id; what has taken its name is not."""
    await filled.own("table", TABLE, "ben")
    metalake = await filled.metalake()
    commit = type(metalake).commit

    async def late(*args: object) -> object:
        monkeypatch.setattr(type(metalake), "commit", commit)
        move = {
            "source": {"namespace": ["a"], "name": "t"},
            "destination": {"namespace": ["a"], "name": "u"},
        }
        await node.made("/v1/default.main/tables/rename", move)
        await node.table("t")
        return await commit(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(type(metalake), "commit", late)
    await set_owner(filled.lake, metalake, named("table", TABLE), USER, "anna")

    assert await filled.owner("table", f"{CATALOG}.a.u") == ("user", "anna")
    assert await filled.owner("table", TABLE) is None


async def test_an_object_that_was_dropped_meanwhile_is_not_found(
    node: Node, filled: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new one of the same name stays as it is."""
    metalake = await filled.metalake()
    commit = type(metalake).commit

    async def late(*args: object) -> object:
        monkeypatch.setattr(type(metalake), "commit", commit)
        await node.delete("namespaces/a/tables/t")
        await node.table("t")
        return await commit(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(type(metalake), "commit", late)
    with pytest.raises(MetadataObjectNotFound):
        await set_owner(filled.lake, metalake, named("table", TABLE), USER, "anna")

    assert await filled.owner("table", TABLE) is None


@pytest.mark.parametrize("text", ["another", f"{METALAKE}.{CATALOG}", ""])
async def test_another_metalake_is_out_of_reach(filled: Guarded, text: str) -> None:
    """The name in the path is the only one that counts."""
    with pytest.raises(MetadataObjectNotFound):
        await filled.own("metalake", text, "anna")

    assert await filled.owner("metalake", METALAKE) == ("user", OWNER)


async def test_an_owner_changes_the_entry_and_nothing_else(node: Node, filled: Guarded) -> None:
    """The table is the same table, in the same state, and its next commit keeps the owner."""
    before = await node.load("t")
    await filled.own("table", TABLE, "anna")
    assert await node.load("t") == before
    update = {"action": "set-properties", "updates": {"k": "v"}}
    await node.made("namespaces/a/tables/t", {"requirements": [], "updates": [update]})

    assert await filled.owner("table", TABLE) == ("user", "anna")


async def test_a_commit_that_fails_leaves_the_owner(world: World, filled: Guarded) -> None:
    """If the database refuses the one write, nothing is handed over."""
    await filled.own("table", TABLE, "anna")
    before = await world.state()
    for kind, text in (("table", TABLE), ("metalake", METALAKE)):
        with refused_commits(world), pytest.raises(CommitTimedOut):
            await filled.own(kind, text, "ben")

    assert await world.state() == before
    assert await filled.owner("table", TABLE) == ("user", "anna")


async def test_the_change_log_tells_who_owns_what_now(filled: Guarded) -> None:
    """One record for each change, in the log of what was handed over."""
    id = (await filled.find("catalog", CATALOG)).id
    await filled.own("schema", NESTED, "anna")
    await filled.own("metalake", METALAKE, OWNER)
    await filled.own("metalake", METALAKE, "cooks", GROUP)
    to = {"owner": "cooks", "owner-kind": "group", "by": OWNER}

    assert await notes(filled, "root") == [
        {"do": "set-owner", "kind": "metalake", "name": [METALAKE], **to}
    ]
    assert (await notes(filled, f"cat/{id}/heads/main"))[-1] == {
        "do": "set-owner",
        "kind": "namespace",
        "name": ["a", "b"],
        "owner": "anna",
        "owner-kind": "user",
        "by": OWNER,
    }
