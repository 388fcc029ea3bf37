"""The change log: each operation once, in order for each pointer, behind any cursor."""

import asyncio
import random
from unittest.mock import AsyncMock

import pytest

from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import alter_catalog, delete_catalog
from headgate.catalog.change_cursors import Cursor, Position, decode_cursor, encode_cursor
from headgate.catalog.change_records import Change
from headgate.catalog.changes import ChangeLog, ChangePage
from headgate.catalog.openings import head_pointer
from headgate.errors import LogCut
from headgate.kernel.records import PointerKey
from tests.seeds import draw_seed
from tests.unit.catalog.change_pages import Told, behind, new_catalog, since, told
from tests.unit.catalog.lakes import METALAKE, Node, World, commit, set_properties


async def test_everything_is_told_from_the_beginning(node: Node) -> None:
    """The metalake, its catalog, and what is in it; a creation in steps is one record."""
    await node.table("t")
    changes = await since(node.kernel, await ChangeLog(node.kernel).oldest())

    assert told(changes) == [
        ("create", "metalake", (METALAKE,)),
        ("create", "catalog", ("main",)),
        ("create", "namespace", ("a",)),
        ("create", "table", ("a", "t")),
    ]
    assert [change.metalake for change in changes] == [METALAKE] * 4
    assert [change.catalog for change in changes] == ["", "", "main", "main"]
    assert changes[-1].by == "anonymous"
    assert len({change.position for change in changes}) == 4


async def test_nothing_is_told_behind_the_present(node: Node) -> None:
    """Only what comes then, and again only what comes after that."""
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    assert await behind(log, cursor) == ([], cursor)
    await node.namespace("b")
    first, cursor = await behind(log, cursor)
    await node.namespace("c")
    second, _ = await behind(log, cursor)

    assert [told(first), told(second)] == [
        [("create", "namespace", ("b",))],
        [("create", "namespace", ("c",))],
    ]


async def test_a_poll_without_news_is_one_read(node: Node, world: World) -> None:
    """Positions are compared with the pointers' values; no head is looked at."""
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    world.rig.backend.reset()
    await log.page(cursor, 10)

    assert world.rig.backend.calls == {"read_pointers": 1}


async def test_a_namespace_with_its_parents_is_one_record(node: Node) -> None:
    """However many children an operation has."""
    cursor = await ChangeLog(node.kernel).now()
    await node.namespace("x", "y", "z")

    assert told(await since(node.kernel, cursor)) == [("create", "namespace", ("x", "y", "z"))]


async def test_a_rename_has_both_names(node: Node) -> None:
    """The old one and the new one, level by level."""
    await node.table("t")
    await node.namespace("b")
    cursor = await ChangeLog(node.kernel).now()
    await node.made(
        "tables/rename",
        {
            "source": {"namespace": ["a"], "name": "t"},
            "destination": {"namespace": ["b"], "name": "u"},
        },
    )
    [change] = await since(node.kernel, cursor)

    assert (change.do, change.name, change.to) == ("rename", ("a", "t"), ("b", "u"))


async def test_each_table_of_a_transaction_is_told(node: Node) -> None:
    """All are of one commit, and each has a position of its own."""
    await node.table("t")
    await node.table("u")
    cursor = await ChangeLog(node.kernel).now()
    changed = [commit([set_properties(k="v")], table=name) for name in ("t", "u")]
    await node.made("transactions/commit", {"table-changes": changed})
    changes = await since(node.kernel, cursor)

    assert told(changes) == [("alter", "table", ("a", "t")), ("alter", "table", ("a", "u"))]
    assert len({change.commit for change in changes}) == 1
    assert len({change.position for change in changes}) == 2
    assert {change.by for change in changes} == {"anonymous"}


async def test_a_page_may_end_inside_of_a_commit(node: Node) -> None:
    """The next one goes on with the rest of it."""
    await node.table("t")
    await node.table("u")
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    changed = [commit([set_properties(k="v")], table=name) for name in ("t", "u")]
    await node.made("transactions/commit", {"table-changes": changed})
    first = await log.page(cursor, 1)
    second = await log.page(first.next, 1)

    assert [told(page.changes) for page in (first, second)] == [
        [("alter", "table", ("a", "t"))],
        [("alter", "table", ("a", "u"))],
    ]
    assert (first.more, second.more) == (True, False)


async def test_a_catalog_that_comes_and_goes_between_two_polls_is_told(node: Node) -> None:
    """Its pointer is found by the list of catalogs, and its name by who dropped it."""
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    made = await new_catalog(node.kernel, "brief")
    await node.post("namespaces", {"namespace": ["n"]}, catalog="default.brief")
    await node.delete("namespaces/n", catalog="default.brief")
    await delete_catalog(node.kernel, CatalogName(METALAKE, "brief"))
    changes, cursor = await behind(log, cursor)

    inside = [change for change in changes if change.catalog]
    assert sorted(told(changes)) == sorted(
        [
            ("create", "catalog", ("brief",)),
            ("create", "namespace", ("n",)),
            ("drop", "namespace", ("n",)),
            ("drop", "catalog", ("brief",)),
        ]
    )
    assert [change.catalog for change in inside] == ["brief", "brief"]
    _, cursor = await behind(log, cursor)
    assert head_pointer(made.id) not in {key.name for key in cursor.positions}, "it is forgotten"


async def test_history_that_was_cut_is_refused_with_the_oldest(node: Node) -> None:
    """Never a silent skip; from the oldest on it reads all that is kept."""
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    for name in "bcd":
        await node.namespace(name)
    key = PointerKey((await node.opened()).realm.id, (await node.opened()).pointer)
    commits = [commit async for commit in node.kernel.log.oldest_first(key)]
    await node.kernel.store.delete(key.realm, [commit.id for commit in commits[:-1]])

    with pytest.raises(LogCut, match=f"oldest kept commit is {commits[-1].id}.*since=now"):
        await log.page(cursor, 10)
    kept = await since(node.kernel, await log.oldest())
    assert told(kept)[-1] == ("create", "namespace", ("d",))
    assert ("create", "namespace", ("c",)) not in told(kept)


async def test_a_new_catalog_whose_first_commits_were_cut_is_refused(node: Node) -> None:
    """A cursor before the first commit is older than a cut as well."""
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    made = await new_catalog(node.kernel, "new")
    for name in "nm":
        await node.post("namespaces", {"namespace": [name]}, catalog="default.new")
    key = PointerKey((await node.opened("new")).realm.id, head_pointer(made.id))
    first, second = [commit async for commit in node.kernel.log.oldest_first(key)]
    await node.kernel.store.delete(key.realm, [first.id])

    with pytest.raises(LogCut, match=f"commit {second.id}, number 2"):
        await log.page(cursor, 10)


@pytest.mark.parametrize("name", [head_pointer(17), head_pointer(1 << 70), "cat/17x/heads", "a/b"])
async def test_a_pointer_that_vanished_is_refused(node: Node, name: str) -> None:
    """Its metalake is there, so nobody purged it."""
    realm = (await node.opened()).realm.id
    cursor = Cursor("", {PointerKey(realm, name): Position()})

    with pytest.raises(LogCut, match="it is no more"):
        await ChangeLog(node.kernel).page(cursor, 10)


async def test_a_filter_passes_over_what_is_not_wanted(node: Node) -> None:
    """The cursor goes on all the same."""
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    await node.namespace("b")
    await node.table("t")
    page = await log.page(cursor, 1, lambda change: change.kind == "table")

    assert told(page.changes) == [("create", "table", ("a", "t"))]
    assert await behind(log, page.next) == ([], page.next)


@pytest.mark.parametrize("bound", ["CHANGES_POINTERS_AT_ONCE", "CHANGES_MERGED_MAX"])
async def test_many_catalogs_are_read_in_pieces(
    node: Node, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """Each record once, however few of them are looked at together."""
    monkeypatch.setattr(f"headgate.catalog.change_reading.{bound}", 2)
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    for name in "bcdefg":
        await new_catalog(node.kernel, name)
        await node.made("namespaces", {"namespace": ["n"]}, catalog=f"default.{name}")
    changes, cursor = await behind(log, cursor, 3)

    assert sorted((change.kind, change.catalog or change.name[0]) for change in changes) == [
        *(("catalog", name) for name in "bcdefg"),
        *(("namespace", name) for name in "bcdefg"),
    ]
    assert await behind(log, cursor) == ([], cursor)


async def test_a_search_that_finds_nothing_ends_in_time(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that there is more, and the next one goes on where it ended."""
    monkeypatch.setattr("headgate.catalog.change_reading.CHANGES_COMMITS_MAX", 3)
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    for number in range(7):
        await node.namespace(f"n{number}")
    await node.table("t")
    pages: list[ChangePage] = []
    while not pages or pages[-1].more:
        last = pages[-1].next if pages else cursor
        pages.append(await log.page(last, 10, lambda change: change.kind == "table"))

    assert [told(page.changes) for page in pages] == [[], [], [("create", "table", ("a", "t"))]]


async def test_a_long_way_is_walked_once(
    node: Node, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found on the way back serves the pages that follow."""
    monkeypatch.setattr("headgate.catalog.commit_ids.CHANGES_AHEAD_MIN", 10)
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    for number in range(60):
        await node.namespace(f"n{number:02}")
    page = await log.page(cursor, 5)
    walked = AsyncMock(side_effect=node.kernel.log.ids_behind)
    monkeypatch.setattr(node.kernel.log, "ids_behind", walked)
    rest, _ = await behind(log, page.next, 5)

    assert [change.name for change in [*page.changes, *rest]] == [
        (f"n{number:02}",) for number in range(60)
    ]
    walked.assert_not_awaited()


async def test_a_follower_sees_every_operation_once(world: World) -> None:
    """Two nodes write at random, catalogs come and go, and a third reads pages of three."""
    rng = random.Random(draw_seed("writers"))
    first, second, third = [await world.node() for _ in range(3)]
    log = ChangeLog(third.kernel)
    cursor = await log.now()
    done: dict[str, list[Told]] = {"": []}

    async def write(node: Node, mark: str) -> None:
        for number in range(12):
            name = f"{mark}{number}"
            await new_catalog(node.kernel, name)
            done[""].append(("create", "catalog", (name,)))
            done[name] = []
            for level in range(rng.randrange(4)):
                await node.made(
                    "namespaces", {"namespace": [f"n{level}"]}, catalog=f"default.{name}"
                )
                done[name].append(("create", "namespace", (f"n{level}",)))
            if rng.random() < 0.5:
                for level in range(len(done[name])):
                    await node.delete(f"namespaces/n{level}", catalog=f"default.{name}")
                    done[name].append(("drop", "namespace", (f"n{level}",)))
                await delete_catalog(node.kernel, CatalogName(METALAKE, name))
                done[""].append(("drop", "catalog", (name,)))

    writing = asyncio.gather(write(first, "p"), write(second, "q"))
    seen: list[Change] = []
    while True:
        last_round = writing.done()
        page = await log.page(decode_cursor(encode_cursor(cursor)), 3)
        seen += page.changes
        cursor = page.next
        if last_round and not page.more:
            break
        await asyncio.sleep(0)
    await writing

    assert len({change.position for change in seen}) == len(seen) == sum(map(len, done.values()))
    for catalog, operations in done.items():
        inside = [change for change in seen if change.catalog == catalog]
        assert sorted(told(inside)) == sorted(operations)
        if catalog:
            assert told(inside) == operations
    listed = [change for change in seen if not change.catalog]
    assert [change.position for change in listed] == sorted(
        (change.position for change in listed),
        key=lambda text: float(text.rpartition("/")[2]),
    )


async def test_an_altered_catalog_is_told(node: Node) -> None:
    """By whoever did it."""
    cursor = await ChangeLog(node.kernel).now()
    await alter_catalog(
        node.kernel, CatalogName(METALAKE, "main"), {"comment": "new"}, ":", by="eve"
    )
    [change] = await since(node.kernel, cursor)

    assert (change.do, change.kind, change.name, change.by) == (
        "alter",
        "catalog",
        ("main",),
        "eve",
    )
