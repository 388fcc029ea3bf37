"""Who may see, use and change catalogs through Gravitino's protocol."""

from collections.abc import Callable

import msgspec
import pytest

from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.naming import CATALOGS as GROUP
from headgate.catalog.naming import ROOT, NamesDraft
from headgate.catalog.principals import insert_creator
from headgate.kernel.draft import Draft
from tests.unit.catalog.lakes import World
from tests.unit.http.gravitino.catalog_requests import (
    CATALOGS,
    COMMENT,
    FILES,
    FORBIDDEN,
    ICEBERG,
    listed,
    made,
)
from tests.unit.http.gravitino.control import ADMIN, Control, guarded_node


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


@pytest.mark.parametrize("name", ["main", "files", "off", "none"])
@pytest.mark.parametrize(
    ("method", "below"),
    [
        ("GET", "/schemas?parentSchema=a"),
        ("GET", "/schemas/a/tables"),
        ("DELETE", "/schemas/a?cascade=true"),
    ],
)
async def test_who_may_not_use_a_catalog_is_not_told_what_it_is(
    world: World, method: str, below: str, name: str
) -> None:
    """Neither its provider, nor that it is switched off, nor that it is there."""
    guarded = await member(world)
    await made(guarded, FILES, user=ADMIN)
    await made(guarded, {**ICEBERG, "name": "off"}, user=ADMIN)
    await guarded.done("PATCH", f"{CATALOGS}/off", {"inUse": False}, user=ADMIN)
    answer = await guarded.send(method, f"{CATALOGS}/{name}{below}", user="ann")

    assert answer.error == FORBIDDEN


async def test_a_catalog_in_a_metalake_of_a_former_name_is_known_to_its_own_users(
    world: World,
) -> None:
    """A node that served the former one serves the new one, and whom it refuses is its choice."""
    guarded, other = await guarded_node(world), await guarded_node(world)
    schemas = "shop/catalogs/lake/schemas"
    for user in ("bob", "ann"):
        await other.done("POST", "/api/metalakes", {"name": "shop"}, user=ADMIN)
        await other.done("POST", "shop/catalogs", ICEBERG, user=ADMIN)
        await other.done("POST", "shop/users", {"name": user}, user=ADMIN)
        owner = {"name": user, "type": "USER"}
        await other.done("PUT", "shop/owners/catalog/lake", owner, user=ADMIN)
        statuses = [(await guarded.get(schemas, user=one)).status for one in ("bob", "ann", ADMIN)]
        assert statuses == [200 if one in (user, ADMIN) else 403 for one in ("bob", "ann", ADMIN)]
        await other.done("DELETE", "shop?force=true", user=ADMIN)

    assert (await guarded.get(schemas, user=ADMIN)).error[:2] == (404, 1003)


def _give(owner: int) -> Callable[[Draft], None]:
    """Gives the catalog `files` another owner."""

    def attempt(draft: Draft) -> None:
        names = NamesDraft(draft)
        entry = names.find(ROOT, GROUP, "files")
        assert entry is not None
        names.put(ROOT, GROUP, "files", msgspec.structs.replace(entry, owner=owner))

    return attempt
