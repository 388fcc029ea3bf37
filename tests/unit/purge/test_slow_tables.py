"""Tables that take long to be read: they delay purges of other schemas by a bounded time."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec
import pytest

from headgate.catalog.openings import Opened
from headgate.catalog.ports import Roots
from headgate.catalog.purging import Recorded
from headgate.errors import StorageUnavailable
from headgate.limits import (
    READING_BRIEF_SECONDS,
    READING_SECONDS,
    REFERENCE_TABLE_SECONDS_MAX,
    REFERENCE_TABLES_AT_ONCE,
    REFERENCE_WAITING_SECONDS_MAX,
)
from headgate.purge.referrers import Referrers
from headgate.purge.surveyor import Outside, Surveyed
from headgate.purge.table_reading import UNREAD_SECONDS
from headgate.testing.kernels import SteppedClock
from tests.unit.catalog.lakes import Node
from tests.unit.purge.referring import PLACE, Referring, Surveyor, into, name_of

LONG = REFERENCE_WAITING_SECONDS_MAX + 1
ENDLESS = REFERENCE_TABLE_SECONDS_MAX + 1


class Background(Surveyor):
    """Reads what another surveyor does, when a test lets it, and takes no time of purges."""

    def __init__(self, other: Surveyor) -> None:
        super().__init__()
        self.outside = other.outside
        self.seconds = other.seconds
        self.gate = asyncio.Event()
        self.before_read: Callable[[], None] = lambda: None

    async def survey(
        self, tables: Sequence[Surveyed], roots: Roots, seconds: float = math.inf
    ) -> list[Outside]:
        await self.gate.wait()
        self.before_read()
        return await super().survey(tables, roots, seconds)


class Slow(Referring):
    """A node with a second schema; reading takes time by its clock."""

    def __init__(self, node: Node, opened: Opened) -> None:
        super().__init__(node, opened)
        clock = node.kernel.clock
        assert isinstance(clock, SteppedClock)
        self.surveyor.clock = clock
        self.background = Background(self.surveyor)
        self.referrers = Referrers(node.kernel, self.surveyor, self.background)

    def now(self) -> float:
        return self.node.kernel.clock.seconds()

    async def all_read(self) -> list[str]:
        """What the background reads if it may."""
        self.background.gate.set()
        background = self.referrers._reading.background
        while background._ends:
            await background.wait(list(background._ends))
        self.background.gate.clear()
        read, self.background.asked = sorted(self.background.asked), []
        return read


@pytest.fixture
async def slow(node: Node) -> AsyncIterator[Slow]:
    """Its dropped tables are left alone."""
    node.lake.purging = Recorded()
    slow = Slow(node, await node.opened())
    await node.made("namespaces", {"namespace": ["b"]})
    yield slow
    await slow.referrers.close()


async def test_a_slow_table_of_another_schema_is_waited_for_a_short_time(
    slow: Slow, caplog: pytest.LogCaptureFixture
) -> None:
    """The purge goes on; the background reads the rest, and it counts for the next one."""
    await slow.node.table("one", "b")
    slow.surveyor.outside |= {"one": into(PLACE)}
    slow.surveyor.seconds |= {"one": LONG}
    began = slow.now()

    first = await slow.look()
    took = slow.now() - began
    before, later = slow.read(), await slow.all_read()
    second = await slow.look()

    assert (first, second) == ([], ["one"])
    assert took == pytest.approx(REFERENCE_WAITING_SECONDS_MAX, abs=0.1)
    assert (before, later, slow.read()) == (["one"], ["one"], [])
    assert caplog.text.count("it takes long") == 1


async def test_a_slow_table_of_the_same_schema_is_waited_for(slow: Slow) -> None:
    """However long it takes, as it may need the files; it counts at once."""
    slow.background.gate.set()
    await slow.node.table("one")
    slow.surveyor.outside |= {"one": into(PLACE)}
    slow.surveyor.seconds |= {"one": LONG}

    assert await slow.look() == ["one"]


async def test_a_table_of_the_same_schema_that_is_too_slow_holds_up_the_purge(
    slow: Slow,
) -> None:
    """After its whole time; purges of other schemas go on before that."""
    await slow.node.table("one")
    slow.surveyor.seconds |= {"one": ENDLESS}
    slow.background.gate.set()

    with pytest.raises(StorageUnavailable, match="a table of the same schema"):
        await slow.look()

    assert slow.background.asked == ["one"]


async def test_purges_that_wait_at_once_read_a_slow_table_once(slow: Slow) -> None:
    """All of them take over what one reading found."""
    await slow.node.table("one")
    slow.surveyor.outside |= {"one": into(PLACE)}
    slow.surveyor.seconds |= {"one": LONG}

    looks = [asyncio.create_task(slow.look()) for _ in range(5)]
    while not slow.referrers._reading.background._ends:
        await asyncio.sleep(0)
    later = await slow.all_read()

    assert await asyncio.gather(*looks) == [["one"]] * 5
    assert (slow.read(), later) == (["one"], ["one"])


@pytest.mark.parametrize("tables", [40, 80])
async def test_many_slow_tables_delay_a_purge_by_a_bounded_time(
    slow: Slow, caplog: pytest.LogCaptureFixture, tables: int
) -> None:
    """Twice as many take as long: when the time of their schema is used up they are not read."""
    for number in range(tables):
        await slow.node.table(f"t{number}", "b")
    slow.surveyor.seconds |= {f"t{number}": LONG for number in range(tables)}
    began = slow.now()

    assert await slow.look() == []

    batch = REFERENCE_TABLES_AT_ONCE * REFERENCE_WAITING_SECONDS_MAX
    assert slow.now() - began < READING_SECONDS + batch
    assert caplog.text.count("the time is used up") == 1
    assert set(await slow.all_read()) == {f"t{number}" for number in range(tables)}


async def test_a_schema_whose_time_is_used_up_delays_no_later_purge(slow: Slow) -> None:
    """What it commits is read in the background, and counts after that."""
    for number in range(2 * REFERENCE_TABLES_AT_ONCE):
        await slow.node.table(f"t{number}", "b")
    slow.surveyor.seconds |= dict.fromkeys((f"t{number}" for number in range(32)), LONG)
    await slow.look()
    await slow.all_read()
    slow.read()
    await slow.node.table("late", "b")
    slow.surveyor.outside |= {"late": into(PLACE)}
    began = slow.now()

    first = await slow.look()
    took = slow.now() - began
    later = await slow.all_read()

    assert (first, took < 1) == ([], True)
    assert await slow.look() == ["late"]
    assert (slow.read(), later) == ([], ["late"])


async def test_quick_tables_are_read_when_the_time_of_their_catalog_is_used_up(slow: Slow) -> None:
    """A schema that has no slow table keeps its protection, whatever others of its catalog do."""
    many = [f"t{number}" for number in range(REFERENCE_TABLES_AT_ONCE)]
    for name in many:
        await slow.node.table(name, "b")
    slow.surveyor.seconds |= dict.fromkeys(many, LONG)
    await slow.look()
    await slow.node.made("namespaces", {"namespace": ["c"]})
    await slow.node.table("quick", "c")
    slow.surveyor.outside |= {"quick": into(PLACE)}

    assert await slow.look() == ["quick"]


async def test_new_schemas_with_slow_tables_delay_purges_by_a_short_time_each(slow: Slow) -> None:
    """When the time of their catalog is used up: one table of each is tried, and not for long."""
    many = [f"t{number}" for number in range(REFERENCE_TABLES_AT_ONCE)]
    for name in many:
        await slow.node.table(name, "b")
    slow.surveyor.seconds |= dict.fromkeys(many, LONG)
    await slow.look()
    slow.read()
    began = slow.now()
    for name in ("c", "d"):
        await slow.node.made("namespaces", {"namespace": [name]})
        await slow.node.table(f"{name}1", name)
        slow.surveyor.seconds |= {f"{name}1": LONG, f"{name}2": LONG}
    await slow.look()
    for name in ("c", "d"):
        await slow.node.table(f"{name}2", name)
    await slow.look()

    assert slow.now() - began < 2 * READING_BRIEF_SECONDS + 1
    assert slow.read() == ["c1", "d1"]


async def test_a_purge_in_the_schema_whose_time_is_used_up_reads_its_tables(
    slow: Slow,
) -> None:
    """It waits for the background, and takes no time of others."""
    slow.background.gate.set()
    for number in range(REFERENCE_TABLES_AT_ONCE):
        await slow.node.table(f"t{number}")
    slow.surveyor.seconds |= dict.fromkeys((f"t{number}" for number in range(16)), LONG)
    await slow.look()
    await slow.node.table("late")
    slow.surveyor.outside |= {"late": into(PLACE)}

    assert await slow.look() == ["late"]


async def test_what_was_read_in_part_is_not_compared_with_the_whole(slow: Slow) -> None:
    """A child with more time may find more in it, and is not to take it for changed."""
    await slow.node.table("one", "b")
    part = msgspec.structs.replace(into(PLACE), unclear="it takes long", is_late=True)
    slow.surveyor.outside |= {"one": part}

    [found] = (await slow.referrers.to_places(slow.job)).tables

    assert (found.is_checked, found.holds_up) == (False, False)


async def test_what_is_known_in_part_counts_when_the_time_is_used_up(slow: Slow) -> None:
    """A table that is due again protects what it did, until the background has read it."""
    await slow.node.table("one", "b")
    slow.surveyor.outside |= {"one": msgspec.structs.replace(into(PLACE), unread=("/lost",))}
    assert await slow.look() == ["one"]
    many = [f"t{number}" for number in range(REFERENCE_TABLES_AT_ONCE)]
    for name in many:
        await slow.node.table(name, "b")
    slow.surveyor.seconds |= dict.fromkeys(many, LONG)
    await slow.look()
    clock = slow.surveyor.clock
    assert clock is not None
    clock.advance(1_000 * UNREAD_SECONDS)
    slow.read()

    assert await slow.look() == ["one"]
    assert slow.read() == []


async def test_a_table_is_read_anew_if_its_catalog_changed_its_places_meanwhile(
    slow: Slow,
) -> None:
    """What was outside before may be inside now."""
    await slow.node.table("one", "b")
    slow.surveyor.seconds |= {"one": LONG}
    await slow.look()
    [known] = [known for known in slow.referrers._known.values() if known.late]
    own = known.own

    def moved() -> None:
        known.own = (*own, "file:///elsewhere")

    slow.background.before_read = moved

    assert await slow.all_read() == ["one", "one"]
    assert not known.late


async def test_a_table_that_is_doubted_while_it_is_read_is_read_once_more(slow: Slow) -> None:
    """The reading began with manifests that are remembered, and these are what is doubted."""
    await slow.node.table("one", "b")
    slow.surveyor.outside |= {"one": into(PLACE)}
    slow.surveyor.seconds |= {"one": LONG}
    await slow.look()
    [known] = [known for known in slow.referrers._known.values() if known.late]
    doubted = [one.referrer(holds_up=False) for one in known.outsiders.values()]
    slow.background.before_read = lambda: slow.referrers.doubt(doubted)

    assert await slow.all_read() == ["one", "one"]
    assert not known.late
    assert not known.doubted


async def test_a_table_that_once_took_long_is_given_that_time_after_a_commit(slow: Slow) -> None:
    """The child that surveys remembers most of its manifests, and the one that deletes does not."""
    await slow.node.table("one", "b")
    slow.surveyor.outside |= {"one": into(PLACE)}
    slow.surveyor.seconds |= {"one": LONG}
    await slow.look()
    await slow.all_read()
    slow.surveyor.seconds |= {"one": 0.1}
    update = {"action": "set-properties", "updates": {"x": "y"}}
    body = {"requirements": [], "updates": [update]}
    await slow.node.made("namespaces/b/tables/one", body)

    [found] = (await slow.referrers.to_places(slow.job)).tables

    assert found.seconds == REFERENCE_WAITING_SECONDS_MAX + 2 * LONG


async def test_quick_tables_of_each_schema_are_asked_first(slow: Slow) -> None:
    """All tables of other schemas have a time together: slow ones do not use up that of others."""
    await slow.node.made("namespaces", {"namespace": ["c"]})
    names = {"b": ["b1", "b2", "b3"], "c": ["c1"]}
    for schema, tables in names.items():
        for name in tables:
            await slow.node.table(name, schema)
    slow.surveyor.outside |= {name: into(PLACE) for tables in names.values() for name in tables}
    slow.surveyor.seconds |= {"b1": 3.0, "b2": 1.0, "b3": 2.0, "c1": 4.0}

    found = (await slow.referrers.to_places(slow.job)).tables

    assert [name_of(one.table) for one in found] == ["b2", "c1", "b3", "b1"]
    assert [one.seconds for one in found] == [12.0, 18.0, 14.0, 16.0]
