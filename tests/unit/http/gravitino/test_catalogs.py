"""Catalogs in Gravitino's protocol: their kinds and shapes, their places, and who may do what."""

from typing import Any

import msgspec
import pytest

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.naming import CATALOGS as GROUP
from headgate.catalog.naming import ROOT, NamesDraft
from headgate.catalog.principals import insert_creator
from headgate.kernel.draft import Draft
from tests.unit.catalog.lakes import World
from tests.unit.http.gravitino.control import ADMIN, Control, guarded_node, open_node

ICEBERG = {"name": "lake", "type": "RELATIONAL", "provider": "lakehouse-iceberg"}
FILES = {"name": "files", "type": "FILESET", "provider": "hadoop"}
CATALOGS = "default/catalogs"
ILLEGAL = (400, 1001, "IllegalArgumentException")
ABSENT = (404, 1003, "NoSuchCatalogException")
OFF = (409, 1009, "CatalogNotInUseException")
FORBIDDEN = (403, 1008, "ForbiddenException")


def update(kind: str, **fields: object) -> dict[str, Any]:
    return {"updates": [{"@type": kind, **fields}]}


COMMENT = update("updateComment", newComment="x")


async def made(control: Control, new: object = ICEBERG, **more: str) -> Any:
    return (await control.done("POST", CATALOGS, new, **more))["catalog"]


async def listed(control: Control, **more: str) -> list[str]:
    found = await control.done("GET", CATALOGS, **more)
    return [one["name"] for one in found["identifiers"]]


async def test_a_fileset_catalog_is_answered_as_it_was_sent(control: Control) -> None:
    """Besides that it is in use: clients compare all of its properties."""
    new = {**FILES, "comment": "papers", "properties": {"location": "/data", "k": "v"}}
    answered = await made(control, new, user="ann")

    audit = answered.pop("audit")
    assert answered == {
        "name": "files",
        "type": "fileset",
        "provider": "fileset",
        "comment": "papers",
        "properties": {"location": "/data", "k": "v", "in-use": "true"},
    }
    assert audit["creator"] == "ann"
    loaded = await control.done("GET", f"{CATALOGS}/files")
    assert loaded == {"code": 0, "catalog": {**answered, "audit": audit}}


async def test_an_iceberg_catalog_tells_clients_where_its_tables_are(control: Control) -> None:
    """Spark is given the address of Iceberg's protocol, and the name of the catalog there."""
    answered = await made(control, {**ICEBERG, "properties": {"catalog-backend": "rest"}})
    loaded = await control.done("GET", f"{CATALOGS}/lake", headers={"host": "lake:8181"})

    shown = loaded["catalog"]["properties"]
    folder = shown.pop("headgate.location")
    assert shown == {
        "catalog-backend": "rest",
        "uri": "http://lake:8181/iceberg",
        "warehouse": "default.lake",
        "in-use": "true",
    }
    assert "/warehouses/default=2Elake-" in folder
    assert (answered["type"], answered["provider"]) == ("relational", "lakehouse-iceberg")


async def test_the_catalog_of_both_protocols_is_the_same(control: Control) -> None:
    """A namespace that Iceberg's client makes in it is a schema."""
    await made(control)
    await control.node.made("namespaces", {"namespace": ["a"]}, catalog="lake")

    assert await listed(control) == ["lake", "main"]
    full = await control.delete(f"{CATALOGS}/lake?force=false")
    assert full.error == (409, 1010, "CatalogInUseException")
    await control.done("PATCH", f"{CATALOGS}/lake", {"inUse": False})
    full = await control.delete(f"{CATALOGS}/lake")
    assert full.error == (409, 1005, "NonEmptyCatalogException")


async def test_catalogs_are_listed_by_name_or_whole(control: Control) -> None:
    """Python's client writes the flag with a capital."""
    await made(control, FILES)
    names = await control.done("GET", CATALOGS)
    whole = await control.done("GET", f"{CATALOGS}?details=True")

    assert names == {
        "code": 0,
        "identifiers": [
            {"namespace": ["default"], "name": "files"},
            {"namespace": ["default"], "name": "main"},
        ],
    }
    assert [one["name"] for one in whole["catalogs"]] == ["files", "main"]
    assert all(one["audit"]["createTime"] for one in whole["catalogs"])


@pytest.mark.parametrize(
    ("type", "provider", "kind"),
    [
        ("fileset", None, ("fileset", "fileset")),
        ("FILESET", "fileset", ("fileset", "fileset")),
        ("model", None, ("model", "model")),
        ("relational", "hive", ("relational", "hive")),
        ("messaging", "kafka", ("messaging", "kafka")),
    ],
)
async def test_a_catalog_of_any_provider_can_be_kept(
    control: Control, type: str, provider: str | None, kind: tuple[str, str]
) -> None:
    """Those that Headgate does not know say that they are metadata only. None is served as
    Iceberg's."""
    answered = await made(control, {"name": "c", "type": type, "provider": provider})

    assert (answered["type"], answered["provider"]) == kind
    only = answered["properties"].get("headgate.metadata-only")
    assert only == (None if kind[1] in {"fileset", "model"} else "true")
    assert (await control.node.get("namespaces", catalog="default.c")).status == 404
    assert (await control.node.get("/v1/config?warehouse=c")).status == 404


@pytest.mark.parametrize(
    "new",
    [
        {"name": "c", "type": "relational"},
        {"name": "c", "type": "messaging"},
        {"name": "c", "type": "graph", "provider": "x"},
        {"name": "c", "type": "fileset", "provider": "lakehouse-iceberg"},
        {"name": "c", "type": "fileset", "provider": "s3"},
        {"name": "c", "type": "relational", "provider": "model"},
        {"name": "c", "type": "relational", "provider": "a b"},
        {"name": "a.b", "type": "model"},
        {"name": "*", "type": "model"},
        {"name": "", "type": "model"},
        {"name": "x" * 65, "type": "model"},
        {"name": "c", "type": "model", "extra": 1},
        {"name": "c", "type": "model", "properties": {"in-use": "true"}},
        {"name": "c", "type": "model", "properties": {"headgate.location": "/x"}},
        {
            "name": "c",
            "type": "relational",
            "provider": "hive",
            "properties": {"jdbc-password": "x"},
        },
        {**ICEBERG, "properties": {"catalog-backend": "jdbc"}},
        {**ICEBERG, "properties": {"uri": "http://elsewhere"}},
        {**ICEBERG, "properties": {"s3-secret-access-key": "x"}},
    ],
)
async def test_what_cannot_be_a_catalog_is_refused(control: Control, new: object) -> None:
    """Secrets too: whoever may use a catalog sees its properties."""
    assert (await control.post(CATALOGS, new)).error == ILLEGAL
    assert await listed(control) == ["main"]


async def test_a_place_can_be_chosen_where_the_operator_allows_it(
    world: World, control: Control
) -> None:
    """Below the folder of all catalogs, or in another place that is allowed."""
    for number, place in enumerate(("shared", "warehouses/mine")):
        where = f"file://{world.folder}/{place}"
        new = {**ICEBERG, "name": f"c{number}", "properties": {"warehouse": f"{where}/"}}

        assert (await made(control, new))["properties"]["headgate.location"] == where


@pytest.mark.parametrize(
    "place",
    [
        "/etc",
        "file:///",
        "s3://bucket/x",
        "{folder}",
        "{folder}/warehouses",
        "{folder}/warehouses/../x",
        "{folder}/sharedness",
        "{folder}/warehouses/link",
        "http://localhost/x",
        "not a place",
    ],
)
async def test_a_place_that_the_operator_does_not_allow_is_refused(
    world: World, control: Control, place: str
) -> None:
    """Whatever it is, also where a link leads out. Nothing is made or looked into there."""
    (world.folder / "warehouses").mkdir()
    (world.folder / "warehouses" / "link").symlink_to(world.folder / "warehouse")
    where = place.format(folder=world.folder)
    new = {**ICEBERG, "properties": {"warehouse": where}}

    assert (await control.post(CATALOGS, new)).error == ILLEGAL
    tested = await control.post(f"{CATALOGS}/testConnection", new)
    assert (tested.status, tested.json["code"]) == (200, 1001)
    assert await listed(control) == ["main"]


async def test_a_place_of_another_catalog_is_refused(world: World, control: Control) -> None:
    """As an illegal argument: clients would take 1004 for the name. Whose it is is not told."""
    new = {**ICEBERG, "properties": {"warehouse": f"{world.folder}/shared/a"}}
    await made(control, new)
    for place in ("shared/a", "shared", "shared/a/b"):
        other = {**new, "name": "other", "properties": {"warehouse": f"{world.folder}/{place}"}}

        answer = await control.post(CATALOGS, other)
        assert answer.error == (409, 1001, "IllegalArgumentException")
        tested = await control.post(f"{CATALOGS}/testConnection", other)
        assert (tested.status, tested.json["code"]) == (200, 1001)
        for said in (answer.json["message"], tested.json["message"]):
            assert "lake" not in said


async def test_the_folder_of_a_catalog_is_its_own_after_a_rename(control: Control) -> None:
    """A new one of the old name gets another, and keeps its hands off."""
    first = await made(control)
    renamed = await control.done("PUT", f"{CATALOGS}/lake", update("rename", newName="sea"))
    second = await made(control)

    location = "headgate.location"
    assert renamed["catalog"]["properties"][location] == first["properties"][location]
    assert second["properties"][location] != first["properties"][location]


async def test_a_renamed_catalog_keeps_all_that_it_holds(control: Control) -> None:
    """It has the same id, and both protocols know it by its new name."""
    await control.node.namespace("a")
    before = (await control.node.opened()).catalog
    changed = await control.done("PUT", f"{CATALOGS}/main", update("rename", newName="sea"))
    after = (await control.node.opened("sea")).catalog

    assert (after.id, after.name) == (before.id, "sea")
    assert changed["catalog"]["properties"]["warehouse"] == "default.sea"
    assert (await control.get(f"{CATALOGS}/main")).error == ABSENT
    assert (await control.node.get("namespaces/a", catalog="default.sea")).status == 200


async def test_updates_are_applied_in_their_order(control: Control) -> None:
    """The audit tells who made them."""
    await made(control, {**FILES, "comment": "old", "properties": {"a": "1"}})
    updates = [
        *update("setProperty", property="b", value="2")["updates"],
        *update("removeProperty", property="a")["updates"],
        *update("updateComment", newComment=None)["updates"],
        *update("setProperty", property="b", value="3")["updates"],
    ]
    changed = await control.done("PUT", f"{CATALOGS}/files", {"updates": updates}, user="bob")

    catalog = changed["catalog"]
    assert catalog["properties"] == {"b": "3", "in-use": "true"}
    assert catalog["comment"] == ""  # Python's client warns of one that is left out
    assert catalog["audit"]["lastModifier"] == "bob"
    assert (await control.done("GET", f"{CATALOGS}/files"))["catalog"] == catalog


@pytest.mark.parametrize(
    "body",
    [
        {"updates": []},
        update("rename", newName="a.b"),
        update("setProperty", property="in-use", value="false"),
        update("setProperty", property="uri", value="http://elsewhere"),
        update("removeProperty", property="warehouse"),
        update("setProperty", property="schema.separator", value="/"),
        update("setProperty", property="s3-session-token", value="x"),
    ],
)
async def test_what_the_server_keeps_is_not_changed(control: Control, body: object) -> None:
    """Neither set nor removed."""
    assert (await control.put(f"{CATALOGS}/main", body)).error == ILLEGAL


async def test_a_name_that_is_taken_is_refused(control: Control) -> None:
    """To a new catalog as to one that is renamed."""
    await made(control, FILES)
    taken = (409, 1004, "CatalogAlreadyExistsException")

    assert (await control.post(CATALOGS, FILES)).error == taken
    rename = update("rename", newName="main")
    assert (await control.put(f"{CATALOGS}/files", rename)).error == taken


async def test_a_disabled_catalog_is_not_served_in_either_protocol(world: World) -> None:
    """On no node from the next request on; it can be loaded and enabled."""
    control, other = await open_node(world), await open_node(world)
    await control.node.namespace("a")
    assert (await other.node.get("namespaces/a")).status == 200
    await control.done("PATCH", f"{CATALOGS}/main", {"inUse": False})

    assert (await other.put(f"{CATALOGS}/main", COMMENT)).error == OFF
    assert (await other.get(f"{CATALOGS}/main/schemas")).error == OFF
    assert (await other.node.get("namespaces/a")).status == 403
    loaded = await other.done("GET", f"{CATALOGS}/main")
    assert loaded["catalog"]["properties"]["in-use"] == "false"
    await other.done("PATCH", f"{CATALOGS}/main", {"inUse": True})
    assert (await control.node.get("namespaces/a")).status == 200


async def test_catalogs_of_a_disabled_metalake_are_not_served(control: Control) -> None:
    """Not even listed."""
    await control.done("PATCH", "default", {"inUse": False})
    off = (409, 1009, "MetalakeNotInUseException")

    for path in (CATALOGS, f"{CATALOGS}/main", f"{CATALOGS}/main/schemas"):
        assert (await control.get(path)).error == off
    assert (await control.post(CATALOGS, FILES)).error == off


async def test_a_catalog_is_dropped_by_force_with_all_that_it_holds(
    world: World, control: Control
) -> None:
    """But for its files; whoever drops it again is told that there is none."""
    await control.node.namespace("a")
    await control.node.table()
    before = world.files()

    assert await control.done("DELETE", f"{CATALOGS}/main?force=True") == {
        "code": 0,
        "dropped": True,
    }
    assert await control.done("DELETE", f"{CATALOGS}/main") == {"code": 0, "dropped": False}
    assert (await control.get(f"{CATALOGS}/main")).error == ABSENT
    assert (await control.node.get("namespaces/a")).status == 404
    assert before <= world.files()
    await made(control, {**ICEBERG, "name": "main"})


async def test_a_disabled_empty_catalog_is_dropped(control: Control) -> None:
    """Without force."""
    await made(control, FILES)
    await control.done("PATCH", f"{CATALOGS}/files", {"inUse": False})

    assert (await control.done("DELETE", f"{CATALOGS}/files"))["dropped"] is True


async def test_a_connection_is_tested_without_making_anything(
    world: World, control: Control
) -> None:
    """What would be refused is said in a body whose status is a success."""
    test = f"{CATALOGS}/testConnection"
    before = await world.state()

    assert await control.done("POST", test, ICEBERG) == {"code": 0}
    taken = await control.post(test, {**ICEBERG, "name": "main"})
    assert (taken.status, taken.json["code"]) == (200, 1004)
    assert taken.json["type"] == "CatalogAlreadyExistsException"
    unclear = await control.post(test, {"name": "x"})
    assert (unclear.status, unclear.json["code"]) == (200, 1001)
    assert await world.state() == before


async def test_the_connection_of_a_catalog_is_tested_with_changes_that_are_not_made(
    control: Control,
) -> None:
    """Or without any; one that is switched off fails."""
    test = f"{CATALOGS}/main/testConnection"

    assert await control.done("POST", test) == {"code": 0}
    assert await control.done("POST", test, COMMENT) == {"code": 0}
    assert (await control.done("GET", f"{CATALOGS}/main"))["catalog"]["comment"] == ""
    bad = await control.post(test, update("setProperty", property="uri", value="http://x"))
    assert (bad.status, bad.json["code"]) == (200, 1001)
    await control.done("PATCH", f"{CATALOGS}/main", {"inUse": False})
    off = await control.post(test)
    assert (off.status, off.json["code"]) == (200, 1009)
    assert (await control.post(f"{CATALOGS}/none/testConnection")).error == ABSENT


async def member(world: World) -> Control:
    """A guarded node whose metalake `default` has the user `ann` besides its admin."""
    guarded = await guarded_node(world)
    call = Call(CatalogName("default", ""), Caller(ADMIN))
    opened = await guarded.lake.open_metalake(call)
    await opened.commit("principals", lambda draft: insert_creator(draft, "ann"))
    return guarded


@pytest.mark.parametrize("name", ["main", "none"])
@pytest.mark.parametrize(
    ("method", "below", "body"),
    [
        ("GET", "", None),
        ("PUT", "", COMMENT),
        ("PATCH", "", {"inUse": False}),
        ("DELETE", "?force=true", None),
        ("POST", "/testConnection", None),
    ],
)
async def test_who_may_not_use_a_catalog_is_not_told_whether_it_is_there(
    world: World, method: str, below: str, body: object, name: str
) -> None:
    """403 for one that is there as for one that is not."""
    guarded = await member(world)
    answer = await guarded.send(method, f"{CATALOGS}/{name}{below}", body, user="ann")

    assert answer.error == FORBIDDEN


async def test_who_may_not_create_catalogs_is_refused(world: World) -> None:
    """Also to test a connection: it would tell which places there are."""
    guarded = await member(world)
    for path in (CATALOGS, f"{CATALOGS}/testConnection"):
        assert (await guarded.post(path, FILES, user="ann")).error == FORBIDDEN

    assert await listed(guarded, user="ann") == []
    assert await listed(guarded, user=ADMIN) == ["main"]


async def test_the_catalogs_that_may_be_used_are_listed(world: World) -> None:
    """Whoever owns one sees it, and may change it."""
    guarded = await member(world)
    await made(guarded, FILES, user=ADMIN)
    call = Call(CatalogName("default", ""), Caller("ann"))
    opened = await guarded.lake.open_metalake(call)
    await guarded.lake.kernel.realm(opened.state.id).commit("catalogs", _give(opened.owner))

    assert await listed(guarded, user="ann") == ["files"]
    await guarded.done("PUT", f"{CATALOGS}/files", COMMENT, user="ann")
    assert (await guarded.done("DELETE", f"{CATALOGS}/files?force=true", user="ann"))["dropped"]


def _give(owner: int) -> Any:
    """Gives the catalog `files` another owner."""

    def attempt(draft: Draft) -> None:
        names = NamesDraft(draft)
        entry = names.find(ROOT, GROUP, "files")
        assert entry is not None
        names.put(ROOT, GROUP, "files", msgspec.structs.replace(entry, owner=owner))

    return attempt
