"""Finding jobs: one look at all pointers, and only what moved is read."""

import asyncio
from types import SimpleNamespace

import msgspec
import pytest

from headgate.catalog import purging as purging_module
from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity, Kind
from headgate.catalog.purging import PURGE, PURGES, PurgeJob, job_key
from headgate.catalog.relations import drop_relation, find_relation
from headgate.kernel.draft import Draft
from headgate.limits import LIST_CHUNK_ENTRIES
from headgate.model.names import Identifier
from headgate.purge.queue import Queue
from tests.unit.catalog.lakes import METALAKE, Node, World, new_table
from tests.unit.purge.scripted import DROP, Purging


@pytest.fixture
async def purging(node: Node) -> Purging:
    """A node whose workers have stopped."""
    purging = Purging(node)
    await purging.workers.close()
    return purging


async def test_jobs_of_all_catalogs_are_found_oldest_first(world: World, purging: Purging) -> None:
    """With the places of their catalogs."""
    node = purging.node
    other = CatalogEntity(0, "other", f"{world.folder.as_posix()}/other", {})
    await create_catalog(node.kernel, METALAKE, other)
    await node.made("namespaces", {"namespace": ["a"]}, catalog="other")
    first = await purging.drop()
    await node.made("namespaces/a/tables", new_table(), catalog="other")
    await node.delete(DROP, catalog="other")
    third = await purging.drop("third")
    [one, two, three] = await Queue(node.kernel).live_jobs()

    assert (one, three) == (first, third)
    assert (two.catalog_name, two.roots) == ("other", (other.warehouse,))
    assert one.roots == (world.warehouse,)


async def test_a_look_without_news_reads_pointers_and_nothing_else(
    world: World, purging: Purging
) -> None:
    """However many catalogs there are: one scan, and the list of realms."""
    node = purging.node
    for number in range(5):
        made = CatalogEntity(0, f"c{number}", f"{world.folder.as_posix()}/c{number}", {})
        await create_catalog(node.kernel, METALAKE, made)
    live = await purging.drop()
    queue = Queue(node.kernel)
    await queue.live_jobs()
    world.rig.backend.reset()

    assert await queue.live_jobs() == [live]
    assert world.rig.backend.calls == {"scan_pointers": 1, "read_pointers": 1}


async def test_a_head_without_jobs_is_not_looked_into(world: World, purging: Purging) -> None:
    """Its mark says so; a head of an older program has none, and is."""
    node = purging.node
    opened = await node.opened()
    assert PURGES not in opened.head.head.marks

    def record_as_before(draft: Draft) -> None:
        job = (Identifier(("a",), "old"), "/w/old.json", ("/w/old",))
        draft.index(PURGE).put(job_key(opened.catalog.id), msgspec.msgpack.encode(job))

    await opened.realm.commit(opened.pointer, record_as_before)
    [old] = await Queue(node.kernel).live_jobs()
    assert old.job == PurgeJob(Identifier(("a",), "old"), "/w/old.json", ("/w/old",))
    new = await purging.drop()
    assert (await node.opened()).head.head.marks[PURGES] == 2
    assert [live.id for live in await Queue(node.kernel).live_jobs()] == sorted([old.id, new.id])


async def test_a_job_of_an_older_program_is_done_like_any_other(world: World, node: Node) -> None:
    """Its id is that of the table, whose place becomes free."""
    purging = Purging(node)
    made = await node.table(location=f"{world.warehouse}/x")
    opened = await node.opened()
    table = await find_relation(opened, Identifier(("a",), "t"), Kind.TABLE)

    def drop_as_before(draft: Draft) -> None:
        drop_relation(draft, opened.call, Identifier(("a",), "t"), Kind.TABLE, None, purge=True)
        job = (Identifier(("a",), "t"), made["metadata-location"], table.entity.reserved)
        draft.index(PURGE).put(job_key(table.entry.id), msgspec.msgpack.encode(job))

    await opened.realm.commit(opened.pointer, drop_as_before)
    again = new_table("new", location=f"{world.warehouse}/x")
    purging.deleter.gate.clear()
    assert (await node.post("namespaces/a/tables", again)).status == 409
    purging.deleter.gate.set()
    await purging.look()
    assert await purging.live() == []
    assert (await node.post("namespaces/a/tables", again)).status == 200


async def test_a_metalake_that_is_switched_off_is_left_alone(purging: Purging) -> None:
    """Until it is switched on again; a catalog that is off is purged all the same."""
    kernel, live = purging.node.kernel, await purging.drop()
    queue = Queue(kernel)
    await kernel.realms.deactivate(METALAKE)
    assert await queue.live_jobs() == []

    await kernel.realms.activate(METALAKE)
    assert await queue.live_jobs() == [live]


async def test_jobs_of_a_dropped_metalake_are_found(purging: Purging) -> None:
    """Under the name that it had."""
    live = await purging.drop()
    await purging.node.kernel.realms.drop(live.realm)

    assert await Queue(purging.node.kernel).live_jobs() == [live]


async def test_a_job_is_found_again_as_it_is_now(world: World, purging: Purging) -> None:
    """Or not at all, when it has ended."""
    queue, live = Queue(purging.node.kernel), await purging.drop()
    stale = live._replace(roots=(), job=msgspec.structs.replace(live.job, begun=True))

    assert await queue.find(stale) == live
    assert await queue.find(live._replace(id=live.id + 1)) is None
    assert await queue.find(live._replace(catalog=5)) is None


async def test_looking_for_one_job_reads_no_others(
    purging: Purging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers ask for each job several times, and there may be thousands."""
    live = await purging.drop()
    await purging.drop("other")
    read: list[bytes] = []

    def noted(value: bytes) -> PurgeJob:
        read.append(value)
        return msgspec.msgpack.decode(value, type=PurgeJob)

    monkeypatch.setattr(purging_module, "_decoder", SimpleNamespace(decode=noted))
    assert await Queue(purging.node.kernel).find(live) == live
    assert len(read) == 1


async def test_others_have_their_turn_while_very_many_jobs_are_read(purging: Purging) -> None:
    """The jobs of a catalog are read in pieces."""
    node = purging.node
    opened = await node.opened()

    def record_many(draft: Draft) -> None:
        job = msgspec.msgpack.encode(PurgeJob(Identifier(("a",), "t"), "/w/t.json"))
        for id in range(1, 2 * LIST_CHUNK_ENTRIES + 2):
            draft.index(PURGE).put(job_key(id), job)

    await opened.realm.commit(opened.pointer, record_many)
    queue = Queue(node.kernel)
    await queue.live_jobs()
    await opened.realm.commit(opened.pointer, lambda draft: draft.mark("moved", 1))
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    jobs = await queue.live_jobs()
    counting.cancel()

    assert len(jobs) == 2 * LIST_CHUNK_ENTRIES + 1
    assert turns >= 2


async def test_a_realm_whose_data_is_going_hides_no_other(world: World, purging: Purging) -> None:
    """It is purged at this moment: its heads are gone, and its pointers were just there."""
    node, live = purging.node, await purging.drop()
    gone = await node.kernel.realms.create("gone")
    warehouse = f"{world.folder.as_posix()}/x"
    await create_catalog(node.kernel, "gone", CatalogEntity(0, "x", warehouse, {}))
    await node.made("namespaces", {"namespace": ["a"]}, catalog="gone.x")
    rows = [row async for batch in world.rig.memory.scan_rows() for row in batch]
    await world.rig.memory.delete(gone.id, [row.id for row in rows if row.realm == gone.id])

    assert await Queue((await world.node()).kernel).live_jobs() == [live]
