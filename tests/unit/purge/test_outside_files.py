"""Files of a dropped table that are not in its own places, and tables that do not stand still: what
the parent does about them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from headgate.catalog.ports import Files
from headgate.catalog.providers import CATALOG_SCOPE
from headgate.catalog.purging import LiveJob
from headgate.limits import PURGE_OUTSIDE_AT_ONCE
from headgate.purge.claims import Lease
from headgate.purge.deleter import STILL_THERE, Progress
from headgate.purge.history import finished_job
from headgate.purge.job_states import State
from headgate.purge.referrers import Referrers, Referring
from headgate.purge.stages import STALE_MAX
from tests.unit.catalog.lakes import Node, World
from tests.unit.purge.scripted import Purging

COUNT = 3 * PURGE_OUTSIDE_AT_ONCE
STALE = Progress("data", is_stale=True)


@pytest.fixture
async def purging(node: Node) -> Purging:
    """A node that purges by script."""
    return Purging(node)


def loose_files(world: World, count: int) -> list[Path]:
    """Files in the catalog's place that no table has."""
    folder = Path(world.warehouse, "loose")
    folder.mkdir(parents=True)
    files = [folder / f"{number}.parquet" for number in range(count)]
    for file in files:
        file.touch()
    return files


def told(files: Sequence[Path]) -> Progress:
    return Progress("data", outside=[file.as_posix() for file in files])


def watch(purging: Purging, monkeypatch: pytest.MonkeyPatch, *, obeys: bool) -> list[int]:
    """How many files are deleted at once from now on; or only said to be."""
    sizes: list[int] = []
    open_files = purging.node.storage.files

    def watched(roots: tuple[str, ...]) -> Files:
        files = open_files(roots)
        delete = files.delete

        async def counted(locations: Sequence[str]) -> list[tuple[str, str]]:
            sizes.extend([len(locations)] if locations else [])
            return await delete(locations) if obeys else []

        files.delete = counted  # type: ignore[method-assign]
        return files

    monkeypatch.setattr(purging.node.storage, "files", watched)
    return sizes


async def test_files_outside_are_deleted_and_counted(world: World, purging: Purging) -> None:
    """Few at a time; the job is done when they are gone."""
    await purging.node.purge_in(CATALOG_SCOPE)
    files = loose_files(world, COUNT)
    purging.deleter.scripts = [[told(files)]]
    await purging.drop()
    await purging.workers.idle()

    assert [file for file in files if file.exists()] == []
    assert await purging.live() == []


async def test_files_outside_that_an_older_program_tells_of_are_left(
    world: World, purging: Purging
) -> None:
    """Whatever a child tells, the parent deletes nothing outside unless the catalog says so."""
    files = loose_files(world, 2)
    purging.deleter.scripts = [[told(files)]]
    live = await purging.drop()
    await purging.workers.idle()
    ended = await finished_job(purging.node.kernel, live.id)

    assert ended is not None
    assert (ended[1].state, ended[1].deleted, ended[1].left_outside.count) == ("SUCCEEDED", 0, 2)
    assert all(file.exists() for file in files)
    assert [task.whole_catalog for task in purging.deleter.tasks] == [False, False]


async def test_files_outside_that_others_hold_are_counted(world: World, purging: Purging) -> None:
    """In a whole catalog, too: those of live tables, and what lies beyond its locations."""
    await purging.node.purge_in(CATALOG_SCOPE)
    made = await purging.node.table("other")
    held = Path(made["metadata-location"])
    [loose] = loose_files(world, 1)
    purging.deleter.scripts = [[told([held, loose, Path("/beyond/x")])]]
    live = await purging.drop()
    await purging.workers.idle()
    ended = await finished_job(purging.node.kernel, live.id)

    assert ended is not None
    assert (ended[1].deleted, ended[1].left_outside.count) == (1, 2)
    assert set(ended[1].left_outside.paths) == {held.as_posix(), "/beyond/x"}
    assert (held.exists(), loose.exists()) == (True, False)


async def test_a_file_outside_that_is_still_there_is_told(
    world: World, purging: Purging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that says yes and does nothing does not end a job: each file is looked for."""
    await purging.node.purge_in(CATALOG_SCOPE)
    files = loose_files(world, 2)
    watch(purging, monkeypatch, obeys=False)
    purging.deleter.scripts = [[told(files)]]
    live = await purging.drop()
    await purging.workers.idle()
    row = await purging.row(live)

    assert row is not None
    assert (row.state, row.failed, row.deleted) == (State.PENDING, 2, 0)
    assert {(one.path, one.why) for one in row.ledger} == {
        (file.as_posix(), STILL_THERE) for file in files
    }


async def test_a_lease_is_looked_at_between_few_files(
    world: World, purging: Purging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker may have the job by now: the rest is left to it."""
    await purging.node.purge_in(CATALOG_SCOPE)
    files = loose_files(world, COUNT)
    sizes = watch(purging, monkeypatch, obeys=True)
    monkeypatch.setattr(Lease, "holds", lambda _: not sizes)
    purging.deleter.scripts = [[told(files)]]
    await purging.drop()
    await purging.workers.idle()

    assert sizes == [PURGE_OUTSIDE_AT_ONCE]
    assert len([file for file in files if file.exists()]) == COUNT - PURGE_OUTSIDE_AT_ONCE


async def test_what_lies_outside_stops_what_leads_to_it(world: World, purging: Purging) -> None:
    """A manifest elsewhere cannot be deleted: the child does not come to what names it."""
    await purging.node.purge_in(CATALOG_SCOPE)
    elsewhere = Path(world.warehouse) / "loose.avro"
    elsewhere.parent.mkdir()
    elsewhere.write_text("a manifest")
    purging.node.storage.counts["undeletable"] = 1
    outside = Progress("manifests", outside=[elsewhere.as_posix()])
    purging.deleter.scripts = [[], [outside, Progress("last", 1)]]
    live = await purging.drop()
    await purging.workers.idle()
    row = await purging.row(live)

    assert row is not None
    assert [line.path for line in row.ledger] == [elsewhere.as_posix()]
    assert purging.deleter.steps == 1


async def test_a_stage_begins_anew_when_another_table_changed(purging: Purging) -> None:
    """The child found other references than it was told of, and did nothing."""
    purging.deleter.scripts = [[STALE], [STALE]]
    await purging.drop()
    await purging.workers.idle()

    assert len(purging.deleter.tasks) == 2 + 2
    assert await purging.live() == []


async def test_tables_that_never_stand_still_fail_an_attempt(purging: Purging) -> None:
    """Nothing is deleted in doubt; it is tried again later."""
    purging.deleter.scripts = [[STALE] for _ in range(STALE_MAX)]
    live = await purging.drop()
    await purging.workers.idle()
    row = await purging.row(live)

    assert row is not None
    assert row.state == State.PENDING
    assert row.error.startswith("it is not known which files of table a.t others need")
    assert len(purging.deleter.tasks) == STALE_MAX


async def test_tables_of_others_that_never_stand_still_hold_up_nobody_in_the_end(
    purging: Purging, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last try of an attempt takes them as they are; what can be read of them counts."""
    lenient: list[bool] = []
    look = Referrers.to_places

    async def noted(
        self: Referrers, live: LiveJob, *, anew: bool = False, is_lenient: bool = False
    ) -> Referring:
        lenient.append(is_lenient)
        return await look(self, live, anew=anew, is_lenient=is_lenient)

    monkeypatch.setattr(Referrers, "to_places", noted)
    purging.deleter.scripts = [[STALE] for _ in range(STALE_MAX - 1)]
    await purging.drop()
    await purging.workers.idle()

    assert lenient == [False] * (STALE_MAX - 1) + [True] + [False]
    assert await purging.live() == []
