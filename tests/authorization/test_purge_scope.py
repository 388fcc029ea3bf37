"""Who can widen purges to a whole catalog: its owners, and nobody who owns less."""

from typing import Any

import pytest

from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege as Right
from headgate.catalog.principals import USER
from headgate.catalog.providers import CATALOG_SCOPE, PURGE_SCOPE, TABLE_SCOPE
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.kernel.records import PointerKey
from headgate.purge.neighbours import Neighbours
from tests.authorization.clerk import Clerk
from tests.authorization.guarded import ADMIN, GuardedNode
from tests.unit.catalog.lakes import CATALOG, METALAKE, commit

LAKE = "/api/metalakes/default"
WIDER = {PURGE_SCOPE: CATALOG_SCOPE}


@pytest.fixture
async def clerk(node: GuardedNode) -> Clerk:
    """A schema with a table: Ann owns the schema, Bob the table, Cid has all privileges on the
    catalog, and Dora owns the catalog."""
    clerk = Clerk(node)
    await clerk.create_schema("mine")
    await clerk.create(T.TABLE, "mine", "t")
    for name in ("ann", "bob", "cid", "dora"):
        await clerk.add(USER, name)
        await clerk.create_role(name)
        await clerk.assign(USER, name, name)
        await clerk.grant(name, (), Right.USE_CATALOG | Right.USE_SCHEMA)
    await clerk.grant("cid", (), Right.CREATE_SCHEMA | Right.CREATE_TABLE | Right.MODIFY_TABLE)
    await clerk.own((CATALOG, "mine"), USER, "ann")
    await clerk.own((CATALOG, "mine", "t"), USER, "bob")
    await clerk.own((CATALOG,), USER, "dora")
    return clerk


def setting(scope: str) -> dict[str, Any]:
    """What Gravitino's protocol sets a property with."""
    return {"updates": [{"@type": "setProperty", "property": PURGE_SCOPE, "value": scope}]}


async def is_wide(node: GuardedNode) -> bool:
    """Whether purges delete in the whole catalog, as workers see it."""
    realm = await node.kernel.realms.get(METALAKE)
    [value] = await node.kernel.pointers.read([PointerKey(realm.id, CATALOG_POINTER)])
    places = await Neighbours(node.kernel).places(realm.id, value or 0)
    [place] = [one for one in places.values() if one.name == CATALOG]
    return place.whole_catalog


@pytest.mark.parametrize("user", ["ann", "bob", "cid"])
async def test_who_owns_less_than_the_catalog_cannot_widen_purges(clerk: Clerk, user: str) -> None:
    """Not by the catalog's property, and not by properties of schemas and tables of that name:
    these are anybody's to set there, and mean nothing."""
    node = clerk.node
    refused = await node.ask("PUT", f"{LAKE}/catalogs/{CATALOG}", setting(CATALOG_SCOPE), user=user)
    assert refused.status == 403
    schema = f"{LAKE}/catalogs/{CATALOG}/schemas/mine"
    asked = [
        ("PUT", schema, setting(CATALOG_SCOPE)),
        ("PUT", f"{schema}/tables/t", setting(CATALOG_SCOPE)),
        ("POST", "namespaces/mine/properties", {"updates": WIDER}),
        (
            "POST",
            "namespaces/mine/tables/t",
            commit([{"action": "set-properties", "updates": WIDER}]),
        ),
    ]
    for method, path, body in asked:
        await node.ask(method, path, body, user=user)

    assert not await is_wide(node)


@pytest.mark.parametrize("user", ["dora", ADMIN])
async def test_owners_of_the_catalog_and_of_the_metalake_can(clerk: Clerk, user: str) -> None:
    """And can take it back."""
    node, path = clerk.node, f"{LAKE}/catalogs/{CATALOG}"
    found = []
    for scope in (CATALOG_SCOPE, TABLE_SCOPE):
        heard = await node.ask("PUT", path, setting(scope), user=user)
        found.append((heard.status, await is_wide(node)))

    assert found == [(200, True), (200, False)]


async def test_a_scope_that_there_is_not_is_refused(clerk: Clerk) -> None:
    """Nothing changes: a word that was mistyped widens nothing."""
    heard = await clerk.node.ask(
        "PUT", f"{LAKE}/catalogs/{CATALOG}", setting("everything"), user="dora"
    )

    assert heard.status == 400
    assert "neither table nor catalog" in str(heard)
    assert not await is_wide(clerk.node)
