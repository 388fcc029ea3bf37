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


def _give(owner: int) -> Callable[[Draft], None]:
    """Gives the catalog `files` another owner."""

    def attempt(draft: Draft) -> None:
        names = NamesDraft(draft)
        entry = names.find(ROOT, GROUP, "files")
        assert entry is not None
        names.put(ROOT, GROUP, "files", msgspec.structs.replace(entry, owner=owner))

    return attempt
