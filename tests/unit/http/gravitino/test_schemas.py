"""Schemas in Gravitino's protocol: one name for all levels, the same objects as Iceberg's."""

from typing import Any

import pytest

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.principals import insert_creator
from tests.unit.catalog.lakes import World
from tests.unit.http.gravitino.control import ADMIN, Control, guarded_node

MAIN = "default/catalogs/main/schemas"
FILES = "default/catalogs/files/schemas"
ABSENT = (404, 1003, "NoSuchSchemaException")
ILLEGAL = (400, 1001, "IllegalArgumentException")
UNSUPPORTED = (405, 1006, "UnsupportedOperationException")


async def make(control: Control, name: str, path: str = MAIN, **more: Any) -> Any:
    return (await control.done("POST", path, {"name": name, **more}))["schema"]


async def listed(control: Control, path: str = MAIN) -> list[str]:
    return [one["name"] for one in (await control.done("GET", path))["identifiers"]]


@pytest.fixture
async def files(control: Control) -> Control:
    """The same node, with a fileset catalog `files`."""
    new = {"name": "files", "type": "fileset"}
    await control.done("POST", "default/catalogs", new)
    return control


async def test_a_new_schema_is_answered_whole(control: Control) -> None:
    """And is a namespace of Iceberg's protocol with the same properties."""
    new = {"name": "a", "comment": "things", "properties": {"k": "v"}}
    made = await control.done("POST", MAIN, new, user="ann")

    audit = made["schema"].pop("audit")
    assert made == {"code": 0, "schema": new}
    assert (audit["creator"], set(audit)) == ("ann", {"creator", "createTime"})
    assert await control.done("GET", f"{MAIN}/a") == {"code": 0, "schema": {**new, "audit": audit}}
    assert (await control.node.get("namespaces/a")).json["properties"] == {"k": "v"}


async def test_what_is_null_is_left_out(control: Control) -> None:
    """The properties are there even if empty."""
    made = await make(control, "a", comment=None, properties=None)

    assert set(made) == {"name", "properties", "audit"}


async def test_schemas_that_iceberg_made_are_listed_level_by_level(control: Control) -> None:
    """Each by its whole name, below the metalake and the catalog."""
    await control.node.namespace("a", "b", "c")
    await control.node.namespace("a", "d")

    assert await control.done("GET", MAIN) == {
        "code": 0,
        "identifiers": [{"namespace": ["default", "main"], "name": "a"}],
    }
    assert await listed(control, f"{MAIN}?parentSchema=") == ["a"]
    assert await listed(control, f"{MAIN}?parentSchema=a") == ["a:b", "a:d"]
    assert await listed(control, f"{MAIN}?parentSchema=a%3Ab") == ["a:b:c"]
    assert await listed(control, f"{MAIN}?parentSchema=a:b:c") == []


async def test_a_nested_schema_is_made_with_those_above_it(control: Control) -> None:
    """Python's client encodes the name in the body once more; both spellings mean the same."""
    made = await make(control, "a%3Ab", comment="inner")
    await make(control, "a:c d")

    assert made["name"] == "a:b"
    assert await listed(control, f"{MAIN}?parentSchema=a") == ["a:b", "a:c d"]
    above = (await control.done("GET", f"{MAIN}/a"))["schema"]
    assert (above["properties"], "comment" in above) == ({}, False)
    for spelling in ("a%3Ab", "a:b"):
        assert (await control.done("GET", f"{MAIN}/{spelling}"))["schema"] == made
    spaced = (await control.done("GET", f"{MAIN}/a:c+d"))["schema"]
    assert spaced["name"] == "a:c d"


@pytest.mark.parametrize("name", ["%", "%zz", "100%", "%ff"])
async def test_what_is_no_escape_is_a_name(control: Control, name: str) -> None:
    """It is kept as it came."""
    assert (await make(control, name))["name"] == name


async def test_a_schema_that_is_there_is_not_made_again(control: Control) -> None:
    """Whatever protocol it was made in."""
    await control.node.namespace("a")
    answer = await control.post(MAIN, {"name": "a"})

    assert answer.error == (409, 1004, "SchemaAlreadyExistsException")


async def test_a_parent_that_is_not_there_has_no_children(control: Control) -> None:
    """Nor has one with an empty level."""
    assert (await control.get(f"{MAIN}?parentSchema=none")).error == ABSENT
    assert (await control.get(f"{MAIN}/none")).error == ABSENT
    for parent in ("a::b", ":a", "a:"):
        assert (await control.get(f"{MAIN}?parentSchema={parent}")).error == ILLEGAL


@pytest.mark.parametrize("name", ["", "a::b", "a\nb", "a" * 600])
async def test_a_name_that_breaks_the_rule_is_refused(control: Control, name: str) -> None:
    """No level of it may be empty."""
    assert (await control.post(MAIN, {"name": name})).error == ILLEGAL


async def test_a_flat_catalog_has_no_children_of_schemas(files: Control) -> None:
    """It says that it does not support that, and a name is one level."""
    await make(files, "a", FILES)

    assert (await files.get(f"{FILES}?parentSchema=a")).error == UNSUPPORTED
    assert await listed(files, f"{FILES}?parentSchema=") == ["a"]
    assert (await files.post(FILES, {"name": "a:b"})).error == ILLEGAL


async def test_a_schema_of_files_may_say_where_they_lie(files: Control) -> None:
    """Nothing is opened there. A location of tables must be one that is allowed."""
    where = {"location": "hdfs://far/away"}

    assert (await make(files, "a", FILES, properties=where))["properties"] == where
    answer = await files.post(MAIN, {"name": "a", "properties": where})
    assert answer.status in {400, 403}


async def test_properties_are_changed_in_their_order(control: Control) -> None:
    """And nothing else of a schema is."""
    await make(control, "a:b", properties={"x": "1", "y": "1"})
    updates = [
        {"@type": "setProperty", "property": "x", "value": "2"},
        {"@type": "removeProperty", "property": "y"},
        {"@type": "setProperty", "property": "z", "value": "2"},
        {"@type": "removeProperty", "property": "z"},
        {"@type": "removeProperty", "property": "w"},
        {"@type": "setProperty", "property": "w", "value": "3"},
    ]
    changed = await control.done("PUT", f"{MAIN}/a%3Ab", {"updates": updates}, user="bob")

    assert changed["schema"]["properties"] == {"x": "2", "w": "3"}
    assert changed["schema"]["audit"]["lastModifier"] == "bob"
    assert await control.done("GET", f"{MAIN}/a%3Ab") == changed
    for kind in ("rename", "updateComment"):
        body = {"updates": [{"@type": kind, "newName": "c", "newComment": "c"}]}
        assert (await control.put(f"{MAIN}/a:b", body)).error == ILLEGAL


async def test_an_empty_schema_is_dropped(control: Control) -> None:
    """One that holds something is not, and what is not there need not be dropped."""
    await make(control, "a:b")

    assert (await control.delete(f"{MAIN}/a")).error == (409, 1005, "NonEmptySchemaException")
    dropped = await control.done("DELETE", f"{MAIN}/a%3Ab?cascade=False")
    assert dropped == {"code": 0, "dropped": True}
    again = await control.done("DELETE", f"{MAIN}/a%3Ab?cascade=False")
    assert again == {"code": 0, "dropped": False}
    assert (await control.delete(f"{MAIN}/a?cascade=True")).error == ILLEGAL


async def test_schemas_of_a_catalog_that_is_not_there_are_not_found(control: Control) -> None:
    """Nor those of a metalake that is not."""
    absent = (404, 1003, "NoSuchCatalogException")
    assert (await control.get("default/catalogs/none/schemas")).error == absent
    answer = await control.get("none/catalogs/main/schemas")
    assert answer.error == (404, 1003, "NoSuchMetalakeException")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", MAIN, None),
        ("POST", MAIN, {"name": "b"}),
        ("GET", f"{MAIN}/a", None),
        ("GET", f"{MAIN}/none", None),
        ("PUT", f"{MAIN}/a", {"updates": [{"@type": "removeProperty", "property": "x"}]}),
        ("DELETE", f"{MAIN}/a", None),
        ("DELETE", f"{MAIN}/none", None),
    ],
)
async def test_who_may_not_is_refused(world: World, method: str, path: str, body: object) -> None:
    """Whether it is there or not."""
    guarded = await guarded_node(world)
    opened = await guarded.lake.open_metalake(Call(CatalogName("default", ""), Caller(ADMIN)))
    await opened.commit("principals", lambda draft: insert_creator(draft, "ann"))
    await guarded.done("POST", MAIN, {"name": "a"}, user=ADMIN)
    answer = await guarded.send(method, path, body, user="ann")

    assert answer.error == (403, 1008, "ForbiddenException")
