"""Locations that dropped tables left are freed when their files are gone, and not before."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog import left_rounds
from headgate.catalog.catalogs import alter_catalog, create_catalog
from headgate.catalog.claimants import is_left
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.left_rounds import LeftRounds
from headgate.catalog.ports import Files
from headgate.catalog.stored_names import LOCATIONS, STAGED
from headgate.errors import StorageUnavailable
from headgate.kernel.index import look
from headgate.limits import STAGED_AFTER_KEYS_MS, STAGED_WITHOUT_KEYS_MS
from tests.unit.catalog.lakes import CATALOG, MAIN, METALAKE, Node, World, new_table
from tests.unit.catalog.outside import CountingStorage

TABLES = "namespaces/a/tables"
Hook = Callable[[str], Awaitable[None]]


class Looking(CountingStorage):
    """Counts looks into locations, and lets a test do something before one."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.storage)
        self.looks: list[str] = []
        self.before: Hook | None = None

    def files(self, roots: tuple[str, ...]) -> Files:
        files: Any = super().files(roots)
        inner = files.is_empty

        async def is_empty(location: str) -> bool:
            self.looks.append(location)
            if self.before is not None:
                await self.before(location)
            return bool(await inner(location))

        files.is_empty = is_empty
        result: Files = files
        return result


@pytest.fixture
def storage(node: Node) -> Looking:
    return Looking(node)


@pytest.fixture
def rounds(node: Node, storage: Looking) -> LeftRounds:
    return LeftRounds(node.kernel, storage)


async def leave(
    node: Node, location: str, *, is_empty: bool = True, catalog: str = f"{METALAKE}.{CATALOG}"
) -> Path:
    """Drop a table without purge, and perhaps its files too; the folder of its metadata."""
    new = new_table("t", location=location)
    made = await node.made(TABLES, new, catalog=catalog)
    await node.delete(f"{TABLES}/t", catalog=catalog)
    file = Path(made["metadata-location"])
    if is_empty:
        file.unlink()
    return file.parent


async def left(node: Node, catalog: str = CATALOG) -> int:
    """How many locations are left to namespaces."""
    head = (await node.opened(catalog)).head
    values = await look(head.index(LOCATIONS), lambda tree: [value for _, value in tree.scan()])
    return sum(map(is_left, values))


async def held(node: Node) -> int:
    """How many entries there are of staged tables."""
    head = (await node.opened()).head
    return len(await look(head.index(STAGED), lambda tree: list(tree.scan())))


async def test_a_location_is_freed_when_it_was_empty_for_as_long_as_keys_live(
    world: World, node: Node, storage: Looking, rounds: LeftRounds
) -> None:
    """Until then it is left to its namespace; after that nothing of it is in the index."""
    storage.counts["credential-seconds"] = 900
    await leave(node, f"{world.warehouse}/x")
    await rounds.make_one()
    await world.rig.pass_time(900_000 + STAGED_AFTER_KEYS_MS - 60_000)
    await rounds.make_one()
    assert (await left(node), rounds.freed) == (1, 0)
    await world.rig.pass_time(60_000)
    await rounds.make_one()

    assert (await left(node), await held(node), rounds.freed) == (0, 0, 1)
    await node.namespace("b")
    new = new_table("u", location=f"{world.warehouse}/x")
    await node.made("namespaces/b/tables", new)


async def test_a_clock_that_is_set_forward_frees_no_location(
    world: World, node: Node, rounds: LeftRounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that were handed out live as long as before."""
    await leave(node, f"{world.warehouse}/x")
    await rounds.make_one()
    clock = node.kernel.clock
    late_ms = clock.wall_ms() + 2 * STAGED_WITHOUT_KEYS_MS
    monkeypatch.setattr(clock, "wall_ms", lambda: late_ms)
    await rounds.make_one()

    assert (await left(node), rounds.freed) == (1, 0)


async def two_rounds(world: World, rounds: LeftRounds) -> None:
    """Let all be freed that may be."""
    await rounds.make_one()
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)
    await rounds.make_one()


async def test_a_location_with_files_stays_with_its_namespace(
    world: World, node: Node, rounds: LeftRounds
) -> None:
    """However old they are, and also if they come late."""
    await leave(node, f"{world.warehouse}/old", is_empty=False)
    late = await leave(node, f"{world.warehouse}/late")
    await rounds.make_one()
    (late / "written-late").touch()
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)
    for _ in range(3):
        await rounds.make_one()
        await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)

    assert (await left(node), rounds.freed) == (2, 0)


async def test_storage_that_is_away_is_not_empty(
    world: World, node: Node, storage: Looking, rounds: LeftRounds
) -> None:
    """Neither one that does not answer, nor a folder that is not there; at either look."""
    gone = await leave(node, f"{world.warehouse}/gone")
    shutil.rmtree(gone.parent)
    await two_rounds(world, rounds)
    await leave(node, f"{world.warehouse}/far")
    await rounds.make_one()

    async def fail(_location: str) -> None:
        raise StorageUnavailable("the store does not answer")

    storage.before = fail
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)
    await two_rounds(world, rounds)

    assert (await left(node), rounds.freed) == (2, 0)


async def test_a_location_that_is_used_again_is_not_freed(
    world: World, node: Node, rounds: LeftRounds
) -> None:
    """By a table, or by one that was dropped again."""
    for name in ("used", "dropped"):
        await leave(node, f"{world.warehouse}/{name}")
    await rounds.make_one()
    await node.table("u", location=f"{world.warehouse}/used")
    await leave(node, f"{world.warehouse}/dropped", is_empty=False)
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)
    await rounds.make_one()

    assert (await left(node), rounds.freed) == (1, 0)
    await node.load("u")


async def test_no_table_comes_and_goes_between_the_last_look_and_the_commit(
    world: World, node: Node, storage: Looking, rounds: LeftRounds
) -> None:
    """Its location is held meanwhile; what comes before that is seen."""
    place = f"{world.warehouse}/x"
    await leave(node, place)
    await rounds.make_one()
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)
    answers = []

    async def create(_location: str) -> None:
        if len(storage.looks) == 3:
            answers.append((await node.post(TABLES, new_table("u", location=place))).status)

    storage.before = create
    await rounds.make_one()

    assert (answers, rounds.freed) == ([409], 1)
    await node.table("u", location=place)


async def test_what_a_node_that_stopped_held_is_left_to_its_namespace(
    world: World, node: Node, storage: Looking, rounds: LeftRounds
) -> None:
    """When its time is over, and the next node frees it."""
    place = f"{world.warehouse}/x"
    await leave(node, place)
    await rounds.make_one()
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)

    async def stop(_location: str) -> None:
        if len(storage.looks) == 3:
            raise asyncio.CancelledError

    storage.before = stop
    with pytest.raises(asyncio.CancelledError):
        await rounds.make_one()
    assert (await left(node), await held(node)) == (0, 2)
    await world.rig.pass_time(STAGED_AFTER_KEYS_MS)
    await node.made(TABLES, new_table("u", stage_create=True))  # clears away what expired

    assert await left(node) == 1
    storage.before = None
    other = LeftRounds(node.kernel, storage)
    await two_rounds(world, other)
    assert (await left(node), other.freed) == (0, 1)


async def test_a_round_looks_at_few_locations_and_the_next_one_continues(
    world: World,
    node: Node,
    storage: Looking,
    rounds: LeftRounds,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that stay are passed by, and each catalog has its turn."""
    monkeypatch.setattr(left_rounds, "LEFT_LOOKS_PER_ROUND", 4)
    more = CatalogEntity(0, "more", f"{world.folder}/more", {})
    await create_catalog(node.kernel, METALAKE, more)
    in_more = f"{METALAKE}.more"
    await node.made("namespaces", {"namespace": ["a"]}, catalog=in_more)
    for number in range(6):
        await leave(node, f"{world.warehouse}/{number}", is_empty=number > 3)
    await leave(node, f"{world.folder}/more/x", catalog=in_more)
    await rounds.make_one()

    assert len(storage.looks) == 4 - 1  # one of two catalogs needs only one of its two looks
    assert f"file://{world.folder}/more/x" in storage.looks
    for _ in range(8):
        del storage.looks[:]
        await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)
        await rounds.make_one()
        assert len(storage.looks) <= 2 * 4  # those that are freed are looked at twice
    assert (await left(node), await left(node, "more"), rounds.freed) == (4, 0, 3)


async def test_a_long_index_is_read_in_parts(
    world: World, node: Node, rounds: LeftRounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables that are there cost time as well."""
    monkeypatch.setattr(left_rounds, "LEFT_ENTRIES_PER_ROUND", 2)
    for number in range(5):
        await node.table(f"t{number}", location=f"{world.warehouse}/{number}")
    await leave(node, f"{world.warehouse}/9")
    for _ in range(3):
        await rounds.make_one()
    await world.rig.pass_time(STAGED_WITHOUT_KEYS_MS)
    await rounds.make_one()

    assert (await left(node), rounds.freed) == (0, 1)


async def test_the_folder_of_a_disk_is_never_taken_for_empty(
    world: World, node: Node, storage: Looking, rounds: LeftRounds
) -> None:
    """A location of the catalog itself may be where a disk is mounted, or was."""
    more = f"{world.folder}/disk"
    await alter_catalog(node.kernel, MAIN, {"allowed_locations": (more,)}, ":")
    await leave(node, more)
    await two_rounds(world, rounds)

    assert (await left(node), storage.looks) == (1, [])
