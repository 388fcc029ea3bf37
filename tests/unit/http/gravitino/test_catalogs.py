"""Catalogs in Gravitino's protocol: their kinds, their shapes, and what can be done to them."""

import pytest

from tests.unit.catalog.lakes import World
from tests.unit.http.gravitino.catalog_requests import (
    ABSENT,
    CATALOGS,
    COMMENT,
    FILES,
    ICEBERG,
    ILLEGAL,
    OFF,
    listed,
    made,
    update,
)
from tests.unit.http.gravitino.control import Control, open_node


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


async def test_policies_of_upkeep_are_everybodys_to_set(control: Control) -> None:
    """They begin like what the server keeps, and it keeps none of them for itself."""
    policy = "headgate.upkeep.expire.enabled"
    changed = await control.done(
        "PUT", f"{CATALOGS}/main", update("setProperty", property=policy, value="false")
    )

    assert changed["catalog"]["properties"][policy] == "false"
    assert (await control.done("GET", f"{CATALOGS}/main"))["catalog"] == changed["catalog"]
