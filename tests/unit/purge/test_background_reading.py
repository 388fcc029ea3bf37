"""Tables that are read in the background: in which order, and how often."""

import asyncio

import pytest

from headgate.kernel.records import PointerKey
from headgate.purge.background_reading import BackgroundReading, LateTable
from headgate.purge.reading_budget import SchemaKey
from headgate.purge.reading_turns import Turns


def test_parts_take_turns_at_each_level() -> None:
    """However many items one of them has, and whenever it added them."""
    many = [(("m", "c", "s"), f"a{number}") for number in range(3)]
    others = [(("m", "c", "t"), "b"), (("m", "d", "s"), "c"), (("n", "c", "s"), "d")]

    assert list(Turns([*many, *others])) == ["a0", "d", "c", "b", "a1", "a2"]


def test_items_of_one_part_keep_their_order() -> None:
    """Also if some are added between two turns."""
    turns = Turns([(("m",), 1), (("m",), 2)])
    first = turns.take()
    turns.add(("m",), 3)

    assert [first, *turns] == [1, 2, 3]
    assert not turns


def late(object: int) -> LateTable:
    return LateTable(PointerKey("m", "c"), object)


class Reader:
    """Reads tables when a test lets it."""

    def __init__(self) -> None:
        self.read: list[int] = []
        self.gate = asyncio.Event()
        self.background = BackgroundReading(self._read)

    async def _read(self, table: LateTable) -> None:
        self.read.append(table.object)
        await self.gate.wait()
        if table.object < 0:
            raise ValueError(table.object)

    def add(self, *objects: int, schema: int = 1) -> None:
        for object in objects:
            self.background.add(SchemaKey("m", "c", schema), late(object))


async def test_a_table_is_read_once_for_all_that_wait_for_it() -> None:
    """Whether they ask before it is read or meanwhile."""
    reader = Reader()
    reader.add(1, 1)
    waiting = [asyncio.create_task(reader.background.wait([late(1)])) for _ in range(3)]
    while not reader.read:
        await asyncio.sleep(0)
    reader.add(1)
    reader.gate.set()
    await asyncio.gather(*waiting)

    assert reader.read == [1]


async def test_a_caller_that_gives_up_leaves_the_reading_to_others() -> None:
    """Only its own waiting ends."""
    reader = Reader()
    reader.add(1)
    first, second = (asyncio.create_task(reader.background.wait([late(1)])) for _ in range(2))
    while not reader.read:
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert not second.done()
    reader.gate.set()
    await second

    assert reader.read == [1]


async def test_a_table_that_fails_holds_up_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """It counts as read, and the log says why it was not."""
    reader = Reader()
    reader.gate.set()
    reader.add(-1, 2)
    await reader.background.wait([late(-1), late(2)])

    assert reader.read == [-1, 2]
    assert "could not be read in the background" in caplog.text


async def test_a_table_can_be_added_when_all_others_are_read() -> None:
    """The task that reads them ends, and begins again."""
    reader = Reader()
    reader.gate.set()
    for _ in range(2):
        reader.add(1)
        await reader.background.wait([late(1)])

    assert reader.read == [1, 1]


async def test_no_caller_waits_for_what_is_closed() -> None:
    """Nothing is read any more either."""
    reader = Reader()
    reader.add(1, 2)
    waiting = asyncio.create_task(reader.background.wait([late(1), late(2)]))
    while not reader.read:
        await asyncio.sleep(0)
    await reader.background.close()
    await waiting
    reader.add(3)
    await reader.background.wait([late(3)])

    assert reader.read == [1]
