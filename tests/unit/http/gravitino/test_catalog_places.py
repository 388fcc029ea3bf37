"""Where catalogs may lie that callers create, and what testing a connection looks at."""

import pytest

from tests.unit.catalog.lakes import World, new_table
from tests.unit.http.gravitino.catalog_requests import (
    ABSENT,
    CATALOGS,
    COMMENT,
    ICEBERG,
    ILLEGAL,
    listed,
    made,
    update,
)
from tests.unit.http.gravitino.control import Control


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


async def test_a_place_of_a_dropped_catalog_is_refused_while_it_has_files(
    world: World, control: Control
) -> None:
    """It is told that these are being deleted, and not whose they are."""
    new = {**ICEBERG, "properties": {"warehouse": f"{world.folder}/shared/a"}}
    await made(control, new)
    await control.node.made("namespaces", {"namespace": ["s"]}, catalog="default.lake")
    await control.node.made("namespaces/s/tables", new_table(), catalog="default.lake")
    assert await control.done("DELETE", f"{CATALOGS}/lake?force=true") == {
        "code": 0,
        "dropped": True,
    }
    other = {**new, "name": "other"}

    answer = await control.post(CATALOGS, other)
    assert answer.error == (409, 1001, "IllegalArgumentException")
    tested = await control.post(f"{CATALOGS}/testConnection", other)
    assert (tested.status, tested.json["code"]) == (200, 1001)
    for said in (answer.json["message"], tested.json["message"]):
        assert "files of its tables are still being deleted" in said
        assert "lake" not in said


async def test_other_tenants_cannot_register_what_a_dropped_catalog_left(
    world: World, control: Control
) -> None:
    """Without purge the files stay; the place is refused as a taken one, and it is not told whose
    it was. In its own metalake it can be used again."""
    place = {"warehouse": f"{world.folder}/shared/a"}
    new = {**ICEBERG, "properties": place}
    await made(control, new)
    node = control.node
    await node.made("namespaces", {"namespace": ["s"]}, catalog="default.lake")
    table = await node.made("namespaces/s/tables", new_table(), catalog="default.lake")
    await node.delete("namespaces/s/tables/t", catalog="default.lake")
    await node.delete("namespaces/s", catalog="default.lake")
    await control.done("PATCH", f"{CATALOGS}/lake", {"inUse": False})
    assert (await control.done("DELETE", f"{CATALOGS}/lake"))["dropped"] is True
    await node.kernel.realms.create("thieves")
    theirs = CATALOGS.replace("default", "thieves")

    for where in ("shared/a", "shared", "shared/a/s"):
        wanted = {**new, "properties": {"warehouse": f"{world.folder}/{where}"}}
        answer = await control.post(theirs, wanted)
        assert answer.error == (409, 1001, "IllegalArgumentException")
        assert "default" not in answer.json["message"]
        assert "lake" not in answer.json["message"]
    assert table["metadata-location"] in world.files()
    await made(control, new)
    await node.made("namespaces", {"namespace": ["s"]}, catalog="default.lake")
    body = {"name": "t", "metadata-location": table["metadata-location"]}
    again = await node.post("namespaces/s/register", body, catalog="default.lake")
    assert again.status == 200


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
