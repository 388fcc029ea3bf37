"""Objects by their full names."""

from typing import Any

import pytest

from headgate.access import rules
from headgate.access.objects import ObjectType as T
from headgate.catalog import objects
from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import alter_catalog
from headgate.catalog.objects import Inside, find_object, object_type
from headgate.catalog.principals import USER, remove_principal
from headgate.errors import (
    BackendUnavailable,
    BadRequest,
    CatalogNotInUse,
    Forbidden,
    IllegalObject,
    MetadataObjectNotFound,
    Unsupported,
)
from tests.unit.catalog.guarded import OWNER, Guarded, named
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node

US = "\x1f"


async def test_every_object_on_the_way_is_found(node: Node, guarded: Guarded) -> None:
    """The catalog, each level of the schema, and the table, in this order."""
    await node.namespace("A")
    await node.namespace("A", "B")
    await node.table("t", "A:B")
    found = await guarded.find("table", f"{CATALOG}.A:B.t")

    assert [scope.kind for scope in found.scopes] == [T.CATALOG, T.SCHEMA, T.SCHEMA, T.TABLE]
    assert found.names == (CATALOG, "A", "B", "t")
    assert found.id == found.scopes[-1].id
    assert found.catalog is not None
    assert found.catalog.id == found.scopes[0].id


async def test_a_metalake_is_found_by_its_own_name_only(guarded: Guarded) -> None:
    """No other metalake can be named in a request to this one."""
    metalake = await guarded.metalake()

    assert (await guarded.find("metalake", METALAKE)).id == metalake.id
    assert (await guarded.find("metalake", "another")).id == 0


async def test_a_role_is_found_by_its_whole_name(guarded: Guarded) -> None:
    """Dots in the name of a role mean nothing."""
    await guarded.role("a.b")

    assert (await guarded.find("role", "a.b")).id
    assert (await guarded.find("role", "a")).id == 0


@pytest.mark.parametrize(
    ("kind", "text", "kinds"),
    [
        ("catalog", "none", []),
        ("schema", "none.a", []),
        ("schema", f"{CATALOG}.none", [T.CATALOG]),
        ("schema", f"{CATALOG}.a:none", [T.CATALOG, T.SCHEMA]),
        ("table", f"{CATALOG}.none.t", [T.CATALOG]),
        ("table", f"{CATALOG}.a.none", [T.CATALOG, T.SCHEMA]),
        ("table", f"{CATALOG}.a.v", [T.CATALOG, T.SCHEMA]),
        ("view", f"{CATALOG}.a.t", [T.CATALOG, T.SCHEMA]),
        ("function", f"{CATALOG}.a.t", [T.CATALOG, T.SCHEMA]),
        ("fileset", f"{CATALOG}.a.t", [T.CATALOG, T.SCHEMA]),
    ],
)
async def test_a_way_ends_where_nothing_more_is(
    node: Node, guarded: Guarded, kind: str, text: str, kinds: list[T]
) -> None:
    """What is above is found; something of another kind is not what was asked for."""
    await node.table("t")
    await node.view("v")
    found = await guarded.find(kind, text)

    assert [scope.kind for scope in found.scopes] == kinds
    assert found.id == 0
    with pytest.raises(MetadataObjectNotFound):
        found.require(rules.LOADING[found.kind])


async def test_who_may_not_know_is_not_told_what_is_missing(node: Node, guarded: Guarded) -> None:
    """Somebody without rights is refused whether the object is there or not."""
    await node.table("t")
    await guarded.users("anna")
    metalake = await guarded.metalake("anna")
    for text in (f"{CATALOG}.a.t", f"{CATALOG}.a.none", "none.a.t"):
        found = await find_object(guarded.lake, metalake, named("table", text))
        with pytest.raises(Forbidden):
            found.require(rules.LOAD_TABLE)


async def test_a_dot_in_a_name_leads_to_no_other_object(node: Node, guarded: Guarded) -> None:
    """Of two tables whose dotted names are the same, each has a full name of its own."""
    await node.namespace("a.b")
    await node.table("t", "a.b")
    await node.table("b.t", "a")
    with pytest.raises(IllegalObject):
        await guarded.find("table", f"{CATALOG}.a.b.t")

    one = await guarded.find("table", f"{CATALOG}{US}a.b{US}t")
    two = await guarded.find("table", f"{CATALOG}{US}a{US}b.t")
    assert one.id
    assert two.id
    assert one.id != two.id


async def test_what_is_in_a_catalog_that_is_off_is_out_of_reach(
    node: Node, guarded: Guarded
) -> None:
    """The catalog itself is not: it can be handed over, or switched on."""
    await alter_catalog(node.kernel, CatalogName(METALAKE, CATALOG), {"in_use": False}, ":")
    (await guarded.find("catalog", CATALOG)).require(rules.SET_OWNER)

    with pytest.raises(CatalogNotInUse):
        (await guarded.find("schema", f"{CATALOG}.a")).require(rules.SET_OWNER)


async def test_rights_and_names_are_of_one_instant(
    guarded: Guarded, other: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a user is removed while the names are read, it is refused: old rights do not count."""
    await guarded.users("anna")
    metalake = await guarded.metalake("anna")
    read = objects.look_inside

    async def late(*args: Any, **more: Any) -> Inside:
        monkeypatch.setattr(objects, "look_inside", read)
        await remove_principal(await other.metalake(), USER, "anna")
        return await read(*args, **more)

    monkeypatch.setattr(objects, "look_inside", late)
    with pytest.raises(Forbidden):
        await find_object(guarded.lake, metalake, named("schema", f"{CATALOG}.a"))


async def test_a_metalake_that_never_stands_still_is_given_up(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking again and again has an end."""
    read = objects.look_inside

    async def moved(*args: Any, **more: Any) -> Inside:
        return (await read(*args, **more))._replace(is_same=False)

    monkeypatch.setattr(objects, "look_inside", moved)
    with pytest.raises(BackendUnavailable, match="again and again"):
        await guarded.find("schema", f"{CATALOG}.a")


def test_kinds_have_names_in_any_case() -> None:
    """Those that nobody knows are refused, and those that are not kept here too."""
    assert object_type("Table") is T.TABLE
    with pytest.raises(BadRequest):
        object_type("chair")
    with pytest.raises(Unsupported):
        object_type("tag")


async def test_the_owner_is_found_with_the_object(guarded: Guarded) -> None:
    """The last object on the way tells who owns it; the metalake does by itself."""
    owner = (await guarded.metalake()).root.owner
    await guarded.own("schema", f"{CATALOG}.a", OWNER)

    assert (await guarded.find("metalake", METALAKE)).owner == owner
    assert (await guarded.find("schema", f"{CATALOG}.a")).owner == owner
    assert (await guarded.find("catalog", CATALOG)).owner == 0
