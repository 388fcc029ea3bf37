"""Tables that cannot show what they refer to: they hold up purges of their own schema, and nobody
else's; and nobody else reads their names."""

from pathlib import Path

import pytest

from headgate.limits import OUTAGE_PAUSE_SECONDS, OUTAGE_SECONDS_MAX
from headgate.purge import outages, table_reading
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow, JobTerms
from tests.planning.bombs import spoil
from tests.planning.tables import MetadataTable, data_file
from tests.purge.machine import Machine, Site, files_of
from tests.purge.test_references_elsewhere import data_of, other_catalog, register, taking_up


async def work_until(machine: Machine, site: Site, job: int, seconds: float) -> list[JobRow]:
    """Work on a job whenever it is due, for so long by the clock; its row after each look."""
    rows: list[JobRow] = []
    until = site.world.rig.clock.seconds() + seconds
    while site.world.rig.clock.seconds() < until:
        await machine.work()
        rows.append(await machine.row(job))
        site.world.rig.clock.advance(1_000 * OUTAGE_PAUSE_SECONDS)
    return rows


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_disk_of_another_catalog_that_is_not_there_is_waited_for(
    site: Site, monkeypatch: pytest.MonkeyPatch, *, comes_back: bool
) -> None:
    """The job is postponed, which counts as no attempt and names nothing of others. After five
    minutes it goes on without; if the disk is back before, what its tables need stays."""
    monkeypatch.setattr(table_reading, "AWAY_PAUSES_SECONDS", (0.0, 0.0))
    machine = await site.machine(JobTerms(max_attempts=2))
    made = await machine.make()
    kept = data_of(made)[:2]
    folder = await other_catalog(site, machine)
    await register(machine, folder, taking_up(folder, kept))
    folder.rename(folder.with_name("away"))

    job = await machine.drop()
    waiting = await work_until(machine, site, job, OUTAGE_SECONDS_MAX - OUTAGE_PAUSE_SECONDS)
    if comes_back:
        folder.with_name("away").rename(folder)
    [*_, row] = await work_until(machine, site, job, 3 * OUTAGE_PAUSE_SECONDS)

    assert {(one.state, one.attempts, one.deleted) for one in waiting} == {(State.PENDING, 0, 0)}
    assert len(waiting) > 2
    assert not any(str(folder) in one.error for one in waiting)
    assert (row.state, row.attempts, row.error) == (State.SUCCEEDED, 1, "")
    assert row.kept == 2 * comes_back
    assert files_of(made) == (set(kept) if comes_back else set())


async def test_a_disk_of_another_catalog_that_is_gone_for_long_holds_up_no_purge(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was waited for before; the purge goes on, and its job names nothing of others."""
    monkeypatch.setattr(table_reading, "AWAY_PAUSES_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(outages, "OUTAGE_SECONDS_MAX", 0.0)
    machine = await site.machine()
    made = await machine.make()
    folder = await other_catalog(site, machine)
    await register(machine, folder, taking_up(folder, data_of(made)[:2]))
    folder.rename(folder.with_name("away"))

    job = await machine.drop()
    await machine.work()

    row = await machine.row(job)
    assert (row.state, row.attempts, row.kept, row.error) == (State.SUCCEEDED, 1, 0, "")
    assert files_of(made) == set()


@pytest.mark.parametrize("damage", ["codec", "bomb", "deep", "rubbish"])
async def test_what_another_tenant_s_table_cannot_show_holds_up_nobody(
    site: Site, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its manifest list is packed with an unknown codec, or with too much in it, or is no list:
    the purge in another metalake succeeds at once, and only the operator's log has a name."""
    machine = await site.machine()
    made = await machine.make()
    folder = await other_catalog(site, machine, "other")
    table = taking_up(folder, data_of(made)[:2])
    await register(machine, folder, table, "other")
    [listed] = (folder / "b").glob("snap-*.avro")
    spoil(listed, damage)

    job = await machine.drop()
    await machine.work()

    row = await machine.row(job)
    assert (row.state, row.attempts, row.error, row.ledger) == (State.SUCCEEDED, 1, "", ())
    assert files_of(made) == set()
    assert str(folder) in caplog.text


async def neighbour(machine: Machine, site: Site, namespace: str, paths: list[Path]) -> Path:
    """A table of the same catalog that took up these files; its manifest list."""
    folder = Path(site.world.warehouse) / "neighbour"
    folder.mkdir(parents=True)
    table = MetadataTable(folder)
    table.snapshot(1, [table.manifest([data_file(f"file://{path}") for path in paths])])
    metadata = folder / "00000.metadata.json"
    metadata.write_bytes(table.metadata())
    body = {"name": "n", "metadata-location": metadata.as_posix()}
    await machine.node.made(f"namespaces/{namespace}/register", body)
    [listed] = folder.glob("snap-*.avro")
    return listed


async def test_a_table_of_the_same_schema_that_cannot_be_read_is_named_by_the_log_only(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """The job says that there is one. When it can be read again the purge goes on, and keeps what
    is needed."""
    machine = await site.machine()
    made = await machine.make()
    kept = data_of(made)[:2]
    listed = await neighbour(machine, site, "a", kept)
    content = listed.read_bytes()
    spoil(listed, "codec")

    job = await machine.drop()
    await machine.work()
    before = await machine.row(job)
    listed.write_bytes(content)
    await machine.steering.retry(job)
    await machine.work()

    assert (before.state, before.attempts, before.deleted) == (State.PENDING, 1, 0)
    assert "a table of the same schema cannot be read" in before.error
    assert str(listed.parent) not in before.error
    assert str(listed) in caplog.text
    row = await machine.row(job)
    assert (row.state, row.kept) == (State.SUCCEEDED, 2)
    assert files_of(made) == set(kept)


async def test_a_table_of_another_schema_of_the_same_catalog_holds_up_nobody(site: Site) -> None:
    """Schemas of one catalog may have owners who do not know of each other."""
    machine = await site.machine()
    made = await machine.make()
    await machine.node.made("namespaces", {"namespace": ["b"]})
    listed = await neighbour(machine, site, "b", data_of(made)[:2])
    spoil(listed, "codec")

    job = await machine.drop()
    await machine.work()

    row = await machine.row(job)
    assert (row.state, row.attempts, row.error) == (State.SUCCEEDED, 1, "")
    assert files_of(made) == set()


@pytest.mark.parametrize("how", ["codec", "bomb", "deep"])
async def test_a_dropped_table_that_cannot_be_read_ends_as_a_dead_letter(
    site: Site, how: str
) -> None:
    """Each try counts, the reason is told to those who own it, and no other job waits for it."""
    machine = await site.machine(JobTerms(max_attempts=1))
    await machine.make("other")
    listed = await neighbour(machine, site, "a", [])
    spoil(listed, how)

    job = await machine.drop("n")
    await machine.work()
    second = await machine.drop("other")
    await machine.work()

    row = await machine.row(job)
    assert (row.state, row.attempts, row.deleted) == (State.DEAD_LETTER, 1, 0)
    assert row.ledger[0].path == str(listed)
    assert str(listed) in row.error
    assert (await machine.row(second)).state == State.SUCCEEDED
