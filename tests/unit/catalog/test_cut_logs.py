"""After old commits were cut: who follows changes, and whose rights were compiled long ago."""

import pytest

from headgate.catalog.calls import Caller, CatalogName
from headgate.catalog.catalogs import delete_catalog
from headgate.catalog.changes import ChangeLog
from headgate.catalog.entities import CATALOG_TYPES
from headgate.catalog.guards import Guard
from headgate.catalog.log_rounds import DAY_MS, LogRounds
from headgate.errors import LogCut
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.testing.kernels import turns
from tests.unit.catalog.change_pages import behind, new_catalog, since, told
from tests.unit.catalog.guarded import Guarded, guarded_node, rights
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World
from tests.unit.catalog.staff import FINE, guard_of, may

RETENTION = 30


async def grow_old(world: World, days: float = RETENTION + 1) -> None:
    """Let time pass, and leases be renewed after it."""
    world.rig.clock.advance(days * DAY_MS)
    await turns(50)


async def cut(kernel: Kernel) -> None:
    await LogRounds(kernel, RETENTION).make_one()


async def test_an_old_cursor_is_refused_and_a_newer_one_misses_nothing(
    world: World, node: Node
) -> None:
    """The oldest commit that is kept is named, and what is kept can be read from there on."""
    log = ChangeLog(node.kernel)
    old = await log.now()
    for name in "bcd":
        await node.namespace(name)
    newer = await log.now()
    await grow_old(world)
    for name in "efg":
        await node.namespace(name)
    await cut(node.kernel)
    opened = await node.opened()
    key = PointerKey(opened.realm.id, opened.pointer)
    oldest = (await node.kernel.log.ids_behind(key))[0]

    with pytest.raises(LogCut, match=f"oldest kept commit is {oldest}.*since=now"):
        await log.page(old, 10)
    assert [change.name for change in await since(node.kernel, newer)] == [("e",), ("f",), ("g",)]
    kept = told(await since(node.kernel, await log.oldest()))
    assert [name[0] for _, kind, name in kept if kind == "namespace"] == list("defg")
    for name in "abcdefg":
        assert await node.head(f"namespaces/{name}") == 204


async def test_who_is_overtaken_between_two_pages_is_told_the_oldest(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the latest when it asks again."""
    monkeypatch.setattr("headgate.catalog.commit_ids.CHANGES_AHEAD_MIN", 1)
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    for name in "bcdef":
        await node.namespace(name)
    page = await log.page(cursor, 1)
    await grow_old(world)
    await cut(node.kernel)
    opened = await node.opened()

    with pytest.raises(LogCut):
        await log.page(page.next, 10)
    with pytest.raises(LogCut, match=f"oldest kept commit is {opened.head.id}"):
        await log.page(page.next, 10)


async def test_a_catalog_that_came_and_went_before_the_cut_is_no_trouble(
    world: World, node: Node
) -> None:
    """Of what was done in it, nothing is told without its name; others go on."""
    brief = CatalogName(METALAKE, "brief")
    await new_catalog(node.kernel, brief.catalog)
    await node.post("namespaces", {"namespace": ["n"]}, catalog="default.brief")
    await node.delete("namespaces/n", catalog="default.brief")
    await delete_catalog(node.kernel, brief)
    for name in ("one", "two"):
        await new_catalog(node.kernel, name)
    await grow_old(world)
    await cut(node.kernel)
    log = ChangeLog(node.kernel)
    changes, cursor = await behind(log, await log.oldest())
    await node.namespace("later")

    assert ("create", "catalog", ("two",)) in told(changes)
    assert [change for change in changes if change.name in {("n",), ("brief",)}] == []
    assert told(await since(node.kernel, cursor)) == [("create", "namespace", ("later",))]


async def test_rights_that_were_compiled_long_ago_are_right_after_a_cut(
    world: World, staffed: Guarded
) -> None:
    """A change is compared with old heads, of which some are gone."""
    assert (await may(staffed, "ann"), await may(staffed, "bob")) == ("read", "")
    await grow_old(world)
    for user in ("eve", "eva"):
        await staffed.users(user)
    await grow_old(world)
    await staffed.grant("reader", rights("catalog", CATALOG, "create_table"))
    await staffed.assign("bob", "reader")
    await cut(staffed.lake.kernel)
    fresh = await guarded_node(world)

    for user in ("ann", "bob", "eve"):
        assert await may(staffed, user) == await may(fresh, user)
    assert await may(staffed, "bob") == "read write"


async def test_rights_by_pointers_that_were_read_just_before_a_cut_are_those_of_then(
    world: World, staffed: Guarded
) -> None:
    """Heads that were current a moment ago are kept, however old they are."""
    guard, realm = guard_of(staffed), (await staffed.metalake()).realm.id
    await grow_old(world)
    then = await staffed.lake.kernel.pointers.read(guard.keys(realm))
    await staffed.assign("bob", "reader")
    await cut(staffed.lake.kernel)
    fresh = Guard(await world.rig.open(types=CATALOG_TYPES, cache_bytes=0), FINE)

    assert not (await fresh.rights_of(Caller("bob"), realm, then)).access.roles
    assert (await fresh.rights_of(Caller("ann"), realm, then)).access.roles
