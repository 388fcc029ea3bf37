"""Which tables refer to files outside of their places, and how little is read to know it."""

import asyncio

import msgspec
import pytest

from headgate.catalog.purging import PurgeTerms
from headgate.errors import StorageAwaited, StorageUnavailable
from headgate.limits import OUTAGE_SECONDS_MAX
from headgate.purge import referrers as subject
from headgate.purge import table_reading
from headgate.purge.queue import Queue
from headgate.purge.surveyor import Outside
from headgate.purge.table_reading import UNREAD_SECONDS
from headgate.testing.kernels import SteppedClock
from tests.unit.catalog.lakes import Node, World
from tests.unit.purge.referring import PLACE, Referring, into, name_of

MANY = 300


async def commit(node: Node, name: str, value: str = "y") -> None:
    body = {"updates": [{"action": "set-properties", "updates": {"x": value}}]}
    answer = await node.send("POST", f"namespaces/a/tables/{name}", {"requirements": [], **body})
    assert answer.status == 200, answer


async def test_tables_are_found_that_refer_to_files_in_a_place(referring: Referring) -> None:
    """Others do not count: those that keep to themselves, and those that refer elsewhere."""
    for name in ("one", "two", "three"):
        await referring.node.table(name)
    referring.surveyor.outside = {"one": into(PLACE), "two": into("file:///elsewhere")}

    assert await referring.look() == ["one"]


async def test_unchanged_tables_are_read_once(referring: Referring) -> None:
    """However many there are; a commit costs its table, a new table itself, a drop nothing."""
    for number in range(MANY):
        await referring.node.table(f"t{number}")
    assert await referring.look() == []
    assert len(referring.read()) == MANY

    await referring.look()
    assert referring.read() == []
    await commit(referring.node, "t7")
    await referring.node.table("new")
    await referring.node.delete("namespaces/a/tables/t8")
    await referring.look()
    assert referring.read() == ["new", "t7"]


async def test_after_very_many_commits_names_are_walked_over_and_known_tables_not_read(
    referring: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changed is found in another way, and is the same."""
    for name in ("one", "two", "three"):
        await referring.node.table(name)
    referring.surveyor.outside = {"one": into(PLACE), "two": into(PLACE)}
    await referring.look()
    referring.read()
    monkeypatch.setattr(subject, "REFERENCE_COMMITS_MAX", 0)

    await commit(referring.node, "one")
    await referring.node.delete("namespaces/a/tables/two")

    assert await referring.look() == ["one"]
    assert referring.read() == ["one"]


async def test_a_table_that_is_renamed_is_known(referring: Referring) -> None:
    """It is the same, wherever its name is."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": into(PLACE)}
    await referring.look()
    names = {
        "source": {"namespace": ["a"], "name": "one"},
        "destination": {"namespace": ["a"], "name": "two"},
    }
    await referring.node.send("POST", "tables/rename", names)
    referring.read()

    assert await referring.look() == ["one"]
    assert referring.read() == []


async def test_a_table_that_is_gone_needs_nothing(referring: Referring) -> None:
    """Also if it is dropped with purge."""
    for name in ("one", "two"):
        await referring.node.table(name)
    referring.surveyor.outside = {"one": into(PLACE), "two": into(PLACE)}
    assert await referring.look() == ["one", "two"]

    await referring.node.delete("namespaces/a/tables/one")
    await referring.node.delete("namespaces/a/tables/two?purgeRequested=true")

    assert await referring.look() == []


async def test_a_table_that_can_come_back_needs_its_files(
    world: World, referring: Referring
) -> None:
    """Until its purge has begun; it is not even read again."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": into(PLACE)}
    await referring.look()
    referring.read()
    referring.node.lake.purging.terms = PurgeTerms(grace_ms=1_000)  # type: ignore[misc]
    await referring.node.delete("namespaces/a/tables/one?purgeRequested=true")

    assert await referring.look() == ["one"]
    assert referring.read() == []
    world.rig.clock.advance(2_000)
    referring.node.purges.wake()
    await referring.node.purges.idle()
    assert await Queue(referring.node.kernel).live_jobs() == []
    assert await referring.look() == []


async def test_what_could_not_be_read_is_looked_for_again(
    world: World, referring: Referring, caplog: pytest.LogCaptureFixture
) -> None:
    """After a while: somebody may have restored it. It is complained about once."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": Outside(unread=("file:/lost",))}
    for _ in range(2):
        assert await referring.look() == []
    assert referring.read() == ["one"]
    world.rig.clock.advance(1_000 * UNREAD_SECONDS)
    await referring.look()
    referring.surveyor.outside = {"one": into(PLACE)}
    assert await referring.look() == []
    world.rig.clock.advance(1_000 * UNREAD_SECONDS)

    assert await referring.look() == ["one"]
    assert caplog.text.count("file:/lost") == 1


async def test_looks_that_wait_for_each_other_read_what_was_lost_once(
    referring: Referring,
) -> None:
    """What was read since a look was asked for is new enough for it."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": Outside(unread=("file:/lost",))}
    await referring.look()
    referring.read()
    clock, reads, go_on = referring.node.kernel.clock, asyncio.Semaphore(0), asyncio.Event()

    async def wait() -> None:
        reads.release()
        await go_on.wait()

    def look() -> asyncio.Task[object]:
        return asyncio.create_task(referring.referrers.to_places(referring.job, anew=True))

    referring.surveyor.while_read = wait
    first = look()
    await reads.acquire()  # it reads
    assert isinstance(clock, SteppedClock)
    clock.advance(1)
    others = [look() for _ in range(5)]
    await asyncio.sleep(0.05)  # they wait
    clock.advance(1)
    go_on.set()
    await asyncio.gather(first, *others)

    assert referring.read() == ["one", "one"]


async def test_tables_without_metadata_files_are_read_together(referring: Referring) -> None:
    """The database has what these files said: that is one more question, however many they are."""
    for number in range(3):
        made = await referring.node.table(f"t{number}")
        lost = Outside(unread=(made["metadata-location"],))
        referring.surveyor.outside[f"t{number}"] = lost

    assert await referring.look() == []
    assert referring.read() == sorted(["t0", "t1", "t2"] * 2)
    assert len(referring.surveyor.roots) == 2


async def test_a_damaged_table_that_changes_all_the_time_does_not_hold_up_a_look(
    referring: Referring,
) -> None:
    """What it lost may have moved by the first change, but not by all that follow."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": msgspec.structs.replace(into(PLACE), unread=("/lost",))}

    async def change() -> None:
        await commit(referring.node, "one", str(len(referring.surveyor.asked)))

    referring.surveyor.while_read = change
    async with asyncio.timeout(10):
        assert await referring.look() == ["one"]

    assert referring.read() == ["one"] * 4  # twice in each of two looks


async def test_what_a_changed_table_was_missing_is_looked_for_where_it_is_now(
    referring: Referring,
) -> None:
    """Its files went away while they were read, as it does not need them any more."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": Outside(unread=("/moved",))}

    async def move() -> None:
        if referring.surveyor.outside["one"].unread:
            await commit(referring.node, "one")
            referring.surveyor.outside = {"one": into(PLACE)}

    referring.surveyor.while_read = move

    assert await referring.look() == ["one"]


async def test_a_storage_that_is_down_is_asked_again(referring: Referring) -> None:
    """Nothing is taken for granted that was not read."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": into(PLACE)}
    referring.surveyor.is_down = True
    for _ in range(2):
        with pytest.raises(StorageUnavailable):
            await referring.look()
    referring.surveyor.is_down = False

    assert await referring.look() == ["one"]


async def test_files_outside_are_asked_about_where_others_refer_to(referring: Referring) -> None:
    """Only tables that refer to something in the very same folder are walked over."""
    for name in ("one", "two"):
        await referring.node.table(name)
    referring.surveyor.outside = {"one": into(PLACE), "two": Outside(trees=(b"",))}

    near = await referring.referrers.shared(referring.job, [f"{PLACE}/data/a", "rubbish"])
    far = await referring.referrers.shared(referring.job, ["file:///purged/other/a"])

    assert sorted(near.paths) == ["one", "two"]
    assert far.paths == ["two"]


async def in_another_schema(referring: Referring, name: str) -> None:
    """A table beside the schema of the dropped one."""
    await referring.node.made("namespaces", {"namespace": ["b"]})
    await referring.node.table(name, "b")


UNCLEAR = Outside(unread=("/one",), unclear="the codec is not known")


async def test_a_table_of_the_same_schema_that_cannot_be_read_holds_up_a_purge(
    referring: Referring, caplog: pytest.LogCaptureFixture
) -> None:
    """Only the operator's log names it; the next look reads it."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": UNCLEAR}
    for _ in range(2):
        with pytest.raises(StorageUnavailable, match="a table of the same schema") as refused:
            await referring.look()
        assert "codec" not in str(refused.value)
        assert "one-" not in str(refused.value)
    assert caplog.text.count("the codec is not known") == 1
    with pytest.raises(StorageUnavailable):
        await referring.referrers.shared(referring.job, [f"{PLACE}/data/a"])
    read = referring.read()
    referring.surveyor.outside = {"one": into(PLACE)}

    assert await referring.look() == ["one"]
    assert set(read) == {"one"}


async def test_a_dropped_table_of_the_schema_that_can_come_back_holds_up_a_purge(
    referring: Referring,
) -> None:
    """It counts like one that is there."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": UNCLEAR}
    referring.node.lake.purging.terms = PurgeTerms(grace_ms=1_000)  # type: ignore[misc]
    await referring.node.delete("namespaces/a/tables/one?purgeRequested=true")

    with pytest.raises(StorageUnavailable, match="a table of the same schema"):
        await referring.look()


async def test_a_table_of_another_schema_that_cannot_be_read_holds_up_nobody(
    referring: Referring, caplog: pytest.LogCaptureFixture
) -> None:
    """What can be read of it protects files all the same; only the operator reads its name."""
    await in_another_schema(referring, "one")
    referring.surveyor.outside = {"one": msgspec.structs.replace(into(PLACE), unclear="packed")}

    found = await referring.referrers.to_places(referring.job)
    shared = await referring.referrers.shared(referring.job, [f"{PLACE}/data/a"])

    assert [one.holds_up for one in found.tables] == [False]
    assert shared.paths == ["one"]
    assert caplog.text.count("packed") == 1


async def test_a_table_of_the_same_schema_is_checked_however_lenient_a_look_is(
    referring: Referring,
) -> None:
    """Those of others may change without end, and hold up nobody then."""
    await referring.node.table("one")
    await in_another_schema(referring, "two")
    referring.surveyor.outside = {"one": into(PLACE), "two": into(PLACE)}

    strict = await referring.referrers.to_places(referring.job)
    lenient = await referring.referrers.to_places(referring.job, is_lenient=True)

    assert [one.is_checked for one in strict.tables] == [True, True]
    assert {name_of(one.table): one.is_checked for one in lenient.tables} == {
        "one": True,
        "two": False,
    }


AWAY = Outside(unread=("/one",), unclear="it is away", is_away=True)


async def test_a_storage_that_does_not_answer_is_waited_for(
    world: World, referring: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked a few times at once, then once by each look; after five minutes what cannot be
    read there is passed over for a while, also by those who look anew."""
    monkeypatch.setattr(table_reading, "AWAY_PAUSES_SECONDS", (0.0, 0.0))
    await in_another_schema(referring, "one")
    await referring.node.table("two")
    referring.surveyor.outside = {"one": AWAY}

    with pytest.raises(StorageAwaited) as first:
        await referring.look()
    assert referring.read() == ["one", "one", "one", "two"]
    world.rig.clock.advance(1_000 * OUTAGE_SECONDS_MAX - 1_000)
    with pytest.raises(StorageAwaited):
        await referring.look()
    assert referring.read() == ["one"]
    world.rig.clock.advance(1_000)
    for _ in range(2):
        await referring.referrers.to_places(referring.job, anew=True)

    assert referring.read() == ["one"]
    assert "/one" not in str(first.value)
    assert "it is away" not in str(first.value)


async def test_a_storage_that_answers_again_in_time_protects_what_it_did(
    referring: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next look reads its tables, and keeps what they need."""
    monkeypatch.setattr(table_reading, "AWAY_PAUSES_SECONDS", ())
    await in_another_schema(referring, "one")
    referring.surveyor.outside = {"one": AWAY}
    with pytest.raises(StorageAwaited):
        await referring.look()
    referring.surveyor.outside = {"one": into(PLACE)}

    assert await referring.look() == ["one"]


async def test_what_a_child_cannot_read_is_waited_for_as_long(
    world: World, referring: Referring
) -> None:
    """A table that was read before is awaited by the child, until its storage was away for too
    long."""
    await in_another_schema(referring, "one")
    referring.surveyor.outside = {"one": into(PLACE)}
    [before] = (await referring.referrers.to_places(referring.job)).tables
    error = referring.referrers.awaited(before.table.metadata_location)
    [meanwhile] = (await referring.referrers.to_places(referring.job)).tables
    world.rig.clock.advance(1_000 * OUTAGE_SECONDS_MAX)
    [after] = (await referring.referrers.to_places(referring.job)).tables

    assert [one.is_awaited for one in (before, meanwhile, after)] == [True, True, False]
    assert before.table.metadata_location not in str(error)
