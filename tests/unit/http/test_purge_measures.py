"""Numbers of purges: of the store once, of each process by itself."""

import logging
import os
from pathlib import Path

import msgspec
import pytest

from headgate.clock import SystemClock
from headgate.http.measures import Measures
from headgate.http.purge_measures import PurgeMeasures
from headgate.http.shared_measures import SharedMeasures
from headgate.limits import PURGE_MEASURES_SECONDS
from headgate.purge.inspecting import Inspector
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow
from headgate.testing.faults import Fault
from tests.unit.catalog.conftest import node, world
from tests.unit.catalog.dropping import HOUR_MS, drop
from tests.unit.catalog.lakes import Node, World
from tests.unit.purge.rows import write_row

__all__ = ["node", "world"]


class Deleted:
    """What a process deleted."""

    files = 0
    bytes = 0


@pytest.fixture
def deleted() -> Deleted:
    return Deleted()


@pytest.fixture
def measures(node: Node, deleted: Deleted) -> PurgeMeasures:
    return PurgeMeasures(Inspector(node.kernel), node.kernel.clock, deleted)


def jobs(measures: PurgeMeasures) -> dict[str, float]:
    """How many jobs are in which state."""
    name = 'headgate_purge_jobs{state="'
    samples = measures.samples()
    return {key[len(name) : -2]: samples[key] for key in samples if key.startswith(name)}


async def test_jobs_are_counted_by_state(node: Node, measures: PurgeMeasures) -> None:
    """Those that are not done; before anybody asks nothing is said of them."""
    assert jobs(measures) == {}
    for name, state in (("t1", None), ("t2", State.RUNNING), ("t3", State.RUNNING), ("t4", None)):
        await node.table(name)
        job = await drop(node, name, 0)
        if state is not None:
            await write_row(node, job, JobRow(state))
    await measures.refresh()

    assert jobs(measures) == {"PENDING": 2, "RUNNING": 2, "DEAD_LETTER": 0}


async def test_the_oldest_pending_job_tells_how_far_behind_workers_are(
    node: Node, world: World, measures: PurgeMeasures
) -> None:
    """A grace period is no delay: it counts from its end."""
    name = "headgate_purge_oldest_pending_seconds"
    await node.table("t")
    await drop(node, "t", HOUR_MS)
    await measures.refresh()
    assert measures.samples()[name] == 0
    await world.rig.pass_time(HOUR_MS + 90_000)
    await measures.refresh()

    assert measures.samples()[name] == pytest.approx(90, abs=1)


async def test_jobs_are_not_read_again_at_once(
    node: Node, world: World, measures: PurgeMeasures
) -> None:
    """However often somebody asks."""
    await measures.refresh()
    world.rig.backend.reset()
    await measures.refresh()
    assert world.rig.backend.calls.total() == 0
    world.rig.clock.advance(PURGE_MEASURES_SECONDS * 1_000)
    await measures.refresh()

    assert world.rig.backend.calls["scan_pointers"] == 1


async def test_without_the_database_the_other_numbers_are_told(
    world: World, measures: PurgeMeasures, caplog: pytest.LogCaptureFixture
) -> None:
    """What is not known is left out."""
    await measures.refresh()
    world.rig.clock.advance(PURGE_MEASURES_SECONDS * 1_000)
    world.rig.faults.schedule("scan_pointers", Fault.UNAVAILABLE)
    with caplog.at_level(logging.WARNING):
        await measures.refresh()

    assert set(measures.samples()) == {
        "headgate_purge_files_total",
        "headgate_purge_bytes_total",
        "headgate_purge_files_per_second",
    }
    assert "the purge jobs cannot be counted" in caplog.text


def test_the_rate_is_of_the_time_since_the_last_look(
    node: Node, world: World, measures: PurgeMeasures, deleted: Deleted
) -> None:
    """A look that follows at once tells the same; when nothing is deleted it is zero."""
    rate = "headgate_purge_files_per_second"
    seen = []
    for ms, files in ((10_000, 500), (100, 600), (4_900, 700), (2_000, 0)):
        world.rig.clock.advance(ms)
        deleted.files += files
        deleted.bytes += 10 * files
        seen.append(measures.samples()[rate])

    assert seen == [50.0, 50.0, 260.0, 0.0]
    assert measures.samples()["headgate_purge_files_total"] == 1_800
    assert measures.samples()["headgate_purge_bytes_total"] == 18_000


async def test_a_server_without_workers_only_counts_jobs(node: Node) -> None:
    """One that only reads."""
    measures = PurgeMeasures(Inspector(node.kernel), node.kernel.clock)
    await measures.refresh()

    assert jobs(measures) == {"PENDING": 0, "RUNNING": 0, "DEAD_LETTER": 0}
    assert not any("files" in name for name in measures.samples())


def test_several_processes_count_the_jobs_of_their_store_once(tmp_path: Path) -> None:
    """And add up what each of them deleted."""
    pending = 'headgate_purge_jobs{state="PENDING"}'
    own = {pending: 3.0, "headgate_purge_files_total": 10.0, "headgate_purge_files_per_second": 5.0}
    (tmp_path / f"{os.getppid()}.json").write_bytes(msgspec.json.encode(own))
    measures = Measures([lambda: own])
    samples = SharedMeasures(measures, tmp_path, SystemClock()).samples()

    assert samples[pending] == 3
    assert samples["headgate_purge_files_total"] == 20
    assert samples["headgate_purge_files_per_second"] == 10
