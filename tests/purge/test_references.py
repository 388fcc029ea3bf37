"""A file that another table of the catalog refers to is never deleted, wherever it lies; when that
one goes too, so does the file, as purges delete in the whole catalog here."""

import asyncio
import logging
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from pyiceberg.manifest import write_manifest_list
from pyiceberg.table import Table

from headgate.catalog.providers import CATALOG_SCOPE, PURGE_SCOPE
from headgate.catalog.purging import PurgeTerms
from headgate.purge import worker
from headgate.purge.job_states import State
from headgate.purge.service import PurgeService
from headgate.purge.stages import GROUND_SECONDS
from headgate.testing.kernels import SteppedClock
from tests.planning.tables import MetadataTable, data_file
from tests.purge.conftest import PATIENT, Servers, options
from tests.purge.faulty_files import Trouble
from tests.purge.jobs import headgate, job_of, wait_for
from tests.purge.lake import NAMESPACE, Lake
from tests.purge.listing import files_below, local_path, lying_below, obstruct
from tests.purge.machine import Machine, Site, files_of
from tests.purge.pauses import Pause

MANY = 300
GRACE_MS = 60_000
TAKEN = 7_000_000_000_000_000_000


@pytest.fixture(name="lake")
def _lake(servers: Servers) -> Iterator[Lake]:
    lake = Lake(servers(*options(*PATIENT)))
    lake.purge_in(CATALOG_SCOPE)
    yield lake
    lake.close()


@pytest.fixture(autouse=True)
def _whole_catalog(site: Site) -> None:
    site.world.properties[PURGE_SCOPE] = CATALOG_SCOPE


@pytest.fixture(name="stopped")
def _stopped(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set as soon as a child that deletes knows that nobody listens to it."""
    stopped = threading.Event()

    class Over(threading.Event):
        def set(self) -> None:
            super().set()
            stopped.set()

    monkeypatch.setattr(worker, "Event", Over)
    return stopped


def take_over(lake: Lake, name: str, other: str) -> None:
    """A snapshot of a table that has the manifests of another one besides its own."""
    table: Table = lake.iceberg.load_table((NAMESPACE, name))
    source: Table = lake.iceberg.load_table((NAMESPACE, other))
    before, theirs = table.current_snapshot(), source.current_snapshot()
    assert before is not None
    assert theirs is not None
    path, number = f"{table.location()}/metadata/taken.avro", (before.sequence_number or 0) + 1
    file = table.io.new_output(path)
    with write_manifest_list(2, file, TAKEN, before.snapshot_id, number, "null") as writer:
        writer.add_manifests([*theirs.manifests(source.io), *before.manifests(table.io)])
    snapshot = {
        "snapshot-id": TAKEN,
        "parent-snapshot-id": before.snapshot_id,
        "sequence-number": number,
        "timestamp-ms": before.timestamp_ms + 1,
        "manifest-list": path,
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    branch = {"ref-name": "main", "type": "branch", "snapshot-id": TAKEN}
    updates = [
        {"action": "add-snapshot", "snapshot": snapshot},
        {"action": "set-snapshot-ref", **branch},
    ]
    body = {"requirements": [], "updates": updates}
    lake.ask("POST", f"{lake.tables_path}/{name}", json=body).raise_for_status()


def test_a_data_file_that_another_table_took_up_stays_until_that_one_goes(lake: Lake) -> None:
    """A client reads all its rows, the job says what was kept, and in the end nothing is left."""
    for name in ("orders", "customers"):
        lake.create(name)
    shared = min(lake.known["orders"].data)
    lake.iceberg.load_table((NAMESPACE, "customers")).add_files([f"file://{shared}"])
    lake.remember("customers")

    lake.drop("orders")
    job = wait_for(lake, "orders", "SUCCEEDED")

    assert files_below(lake.known["orders"].folder) == {shared}
    assert lake.ids("customers") == lake.known["customers"].ids
    files = len(lake.known["orders"].files)
    assert (job["files-kept"], job["files-deleted"], job["files-expected"]) == (
        1,
        files - 1,
        files - 1,
    )
    assert "1 file that other tables refer to" in headgate(lake, "jobs", "show", job["id"])
    lake.drop("customers")
    wait_for(lake, "customers", "SUCCEEDED")
    assert files_below(lake.known["orders"].folder) == set()
    assert lying_below(lake.known["customers"].folder) == set()


def test_manifests_that_another_table_took_over_stay_with_their_data(lake: Lake) -> None:
    """Its list names them where they are; all else of the dropped table goes."""
    for name in ("orders", "customers"):
        lake.create(name)
    take_over(lake, "customers", "orders")
    lake.remember("customers")
    assert len(lake.ids("customers")) == 2 * len(lake.known["orders"].ids)

    lake.drop("orders")
    wait_for(lake, "orders", "SUCCEEDED")

    left = files_below(lake.known["orders"].folder)
    assert lake.ids("customers") == lake.known["customers"].ids
    assert lake.known["orders"].data < left
    assert job_of(lake, "orders")["files-kept"] == len(left)
    lake.drop("customers")
    wait_for(lake, "customers", "SUCCEEDED")
    assert files_below(lake.known["orders"].folder) == set()


async def register(site: Site, name: str, paths: Iterable[Path]) -> Path:
    """A table that refers to these files and has none of its own; its manifest."""
    folder = Path(site.world.warehouse, "registered", name)
    folder.mkdir(parents=True)
    table = MetadataTable(folder)
    manifest = table.manifest([data_file(f"file://{path}") for path in paths])
    table.snapshot(1, [manifest])
    metadata = folder / "00000.metadata.json"
    metadata.write_bytes(table.metadata())
    body = {"name": name, "metadata-location": metadata.as_posix()}
    await site.machines[0].node.made("namespaces/a/register", body)
    return Path(manifest.manifest_path)


def data_of(paths: Iterable[Path]) -> list[Path]:
    """Files that lead to no others, in an order."""
    return sorted(path for path in paths if "/metadata/" not in path.as_posix())


async def paused_machine(site: Site, after: int) -> tuple[Machine, Pause]:
    """A machine whose child is held up before it deletes its next file."""
    pause, clock = Pause(after), SteppedClock(site.world.rig.clock.wall_ms())
    return await site.machine(clock=clock, trouble=Trouble(before_check=pause)), pause


async def test_a_reference_that_is_made_during_a_purge_stops_it(
    site: Site, stopped: threading.Event
) -> None:
    """What is left of the table by then, and another one needs, stays until that one goes."""
    machine, pause = await paused_machine(site, after=20)
    made = await machine.make()
    job = await machine.drop()
    machine.workers.wake()
    await pause.began()
    left = data_of(files_of(made))
    await register(site, "b", left)
    stopped.clear()

    machine.node.kernel.clock.advance(1_000 * GROUND_SECONDS)  # type: ignore[attr-defined]
    await asyncio.to_thread(stopped.wait)
    pause.end()
    await machine.workers.idle()
    row = await machine.row(job)

    assert (row.state, row.kept, row.failed) == (State.SUCCEEDED, len(left), 0)
    assert files_of(made) == set(left)
    await machine.drop("b")
    await machine.work()
    assert files_below(Path(site.world.warehouse)) == set()


async def test_a_commit_that_needs_nothing_more_does_not_stop_a_purge(site: Site) -> None:
    """A table that others' files are part of may go on with its life."""
    machine, pause = await paused_machine(site, after=20)
    made = await machine.make()
    kept = data_of(files_of(made))[:3]
    await register(site, "b", kept)
    job = await machine.drop()
    machine.workers.wake()
    await pause.began()
    body = {"updates": [{"action": "set-properties", "updates": {"x": "y"}}], "requirements": []}
    assert (await machine.node.post("namespaces/a/tables/b", body)).status == 200
    read = len(machine.trouble.read)

    machine.node.kernel.clock.advance(1_000 * GROUND_SECONDS)  # type: ignore[attr-defined]
    while len(machine.trouble.read) == read:  # the table that changed
        await asyncio.sleep(0.01)
    pause.end()
    await machine.workers.idle()

    assert not machine.pool.broken_off.is_set()
    assert (await machine.row(job)).kept == 3
    assert files_of(made) == set(kept)


async def test_tables_that_need_each_other_s_files_can_be_purged_at_once(site: Site) -> None:
    """What the first one keeps for the second is deleted by the second, which goes first."""
    machine, pause = await paused_machine(site, after=20)
    other = await site.machine(clock=machine.node.kernel.clock, trouble=Trouble())
    made = await machine.make()
    kept = data_of(files_of(made))[-3:]
    await register(site, "b", kept)
    first = await machine.drop()
    machine.workers.wake()
    await pause.began()
    second = await other.drop("b")
    await other.work()

    assert (await other.row(second)).state == State.SUCCEEDED
    assert sorted(path for path in kept if path.exists()) == []
    pause.end()
    await machine.workers.idle()
    assert (await machine.row(first)).state == State.SUCCEEDED
    assert files_below(Path(site.world.warehouse)) == set()


async def test_a_table_that_can_come_back_keeps_what_it_needs(site: Site) -> None:
    """It was dropped with a grace period: when that is over, all goes."""
    machine = await site.machine()
    made = await machine.make()
    kept = data_of(files_of(made))[:2]
    await register(site, "b", kept)
    machine.node.lake.purging = PurgeService(machine.node.purges, PurgeTerms(grace_ms=GRACE_MS))
    await machine.drop("b")
    machine.node.lake.purging = PurgeService(machine.node.purges, PurgeTerms())
    job = await machine.drop()
    await machine.work()

    assert (await machine.row(job)).kept == 2
    assert files_of(made) == set(kept)
    site.world.rig.clock.advance(GRACE_MS)
    await machine.work()
    assert files_below(Path(site.world.warehouse)) == set()


async def test_a_damaged_manifest_keeps_nothing(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody can read what it leads to; but that it is damaged is told."""
    machine = await site.machine()
    made = await machine.make()
    manifest = await register(site, "b", data_of(files_of(made))[:2])
    manifest.write_bytes(b"rubbish")
    with caplog.at_level(logging.WARNING):
        job = await machine.drop()
        await machine.work()

    assert ((await machine.row(job)).state, (await machine.row(job)).kept) == (State.SUCCEEDED, 0)
    assert lying_below(local_path(made.location)) == set()
    assert caplog.text.count(str(manifest)) == 1


@pytest.mark.parametrize("rubbish", [b"rubbish", None])
async def test_a_damaged_metadata_file_that_the_database_knows_keeps_files(
    site: Site, rubbish: bytes | None
) -> None:
    """Clients get what the database has, and read all files."""
    machine = await site.machine()
    made = await machine.make()
    kept = data_of(files_of(made))[:2]
    metadata = (await register(site, "b", kept)).parent / "00000.metadata.json"
    metadata.unlink()
    if rubbish is not None:
        metadata.write_bytes(rubbish)
    job = await machine.drop()
    await machine.work()

    assert ((await machine.row(job)).state, (await machine.row(job)).kept) == (State.SUCCEEDED, 2)
    assert files_of(made) == set(kept)


async def test_files_outside_are_counted_once_over_all_attempts(site: Site) -> None:
    """A file cannot be deleted at first: then as many are gone as there were."""
    machine = await site.machine()
    await machine.node.made("namespaces", {"namespace": ["a"]})
    folder = Path(site.world.warehouse, "raw")
    folder.mkdir(parents=True)
    files = [folder / name for name in ("1.parquet", "2.parquet", "3.parquet")]
    for file in files:
        file.touch()
    await register(site, "a", files)
    obstruct(files[2])
    job = await machine.drop("a")
    await machine.work()
    before = await machine.row(job)
    shutil.rmtree(files[2])
    files[2].touch()
    await machine.steering.retry(job)
    await machine.work()

    row = await machine.row(job)
    assert (before.deleted, before.failed, before.expected) == (2, 1, 3)
    assert (row.state, row.deleted, row.missing, row.expected) == (State.SUCCEEDED, 6, 0, 6)


async def test_a_manifest_that_goes_away_between_purges_keeps_nothing(site: Site) -> None:
    """What was known of another table is not true any more: it is read again."""
    machine = await site.machine()
    made, later = await machine.make(), await machine.make("u")
    kept = data_of(files_of(made))[:2]
    manifest = await register(site, "b", [*kept, *data_of(files_of(later))[:2]])
    await machine.drop()
    await machine.work()
    assert files_of(made) == set(kept)
    manifest.unlink()

    job = await machine.drop("u")
    await machine.work()

    row = await machine.row(job)
    assert (row.state, row.attempts, row.kept) == (State.SUCCEEDED, 1, 0)
    assert files_of(later) == set()


async def test_files_outside_that_another_table_needs_stay(site: Site) -> None:
    """Two tables took up the same files, which no table has: the last one takes them along."""
    machine = await site.machine()
    await machine.node.made("namespaces", {"namespace": ["a"]})
    folder = Path(site.world.warehouse, "raw")
    folder.mkdir(parents=True)
    files = [folder / name for name in ("1.parquet", "2.parquet", "3.parquet")]
    for file in files:
        file.touch()
    await register(site, "a", files)
    await register(site, "b", files[1:])
    job = await machine.drop("a")
    await machine.work()

    assert files_below(folder) == set(files[1:])
    row = await machine.row(job)
    assert (row.state, row.kept) == (State.SUCCEEDED, 2)
    await machine.drop("b")
    await machine.work()
    assert files_below(Path(site.world.warehouse)) == set()


async def test_a_second_purge_reads_no_other_table(site: Site) -> None:
    """The first one read all of them, and none has changed."""
    machine = await site.machine()
    tables = [await machine.make(name, 10) for name in ("t", "u")]
    for number in range(MANY):
        await machine.node.table(f"t{number}")
    others: list[int] = []
    for name, made in zip(("t", "u"), tables, strict=True):
        machine.trouble.read.clear()
        await machine.drop(name)
        await machine.work()
        own = made.location.removeprefix("file://")
        others.append(len([path for path in machine.trouble.read if own not in path]))

    assert others[0] >= MANY
    assert others[1] == 0
    assert all(files_of(made) == set() for made in tables)
