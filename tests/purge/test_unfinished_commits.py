"""Metadata files of commits that never landed go with their table."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import pytest

from headgate.catalog.lake import Lake as CatalogLake
from headgate.catalog.purging import LiveJob
from headgate.purge.job_states import State
from headgate.purge.stages import Stages
from headgate.purge.steps import ROOTS
from headgate.testing.faults import Crashed
from tests.purge.listing import files_below, local_path
from tests.purge.machine import Machine, Site, files_of
from tests.unit.catalog.lakes import commit, set_properties
from tests.unit.catalog.outside import CountingFiles

TABLE = "namespaces/a/tables/t"


async def crash_in_commit(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server dies when the metadata file is written, and the commit is not made."""

    async def die(*_arguments: Any, **_more: Any) -> NoReturn:
        raise Crashed

    with monkeypatch.context() as patch:
        patch.setattr(CatalogLake, "commit", die)
        with pytest.raises(Crashed):
            await machine.node.post(TABLE, commit([set_properties(a="1")]))


@pytest.mark.parametrize("codec", ["none", "gzip"])
async def test_what_a_killed_server_left_is_gone_after_the_purge(
    site: Site, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    """Nothing refers to these files but their names, and they are in the table's own folder. What
    others put there stays, and is listed."""
    machine = await site.machine()
    made = await machine.make()
    properties = {"write.metadata.compression-codec": codec}
    update = {"action": "set-properties", "updates": properties}
    await machine.node.made(TABLE, commit([update]))
    before = files_of(made)
    for _ in range(3):
        await crash_in_commit(machine, monkeypatch)
    strays = files_of(made) - before
    foreign = local_path(made.location) / "metadata" / "README"
    foreign.write_text("mine")

    job = await machine.drop()
    await machine.work()
    row = await machine.row(job)

    assert len(strays) == 3
    assert (row.state, row.attempts, row.failed) == (State.SUCCEEDED, 1, 0)
    assert files_of(made) == {foreign}
    assert row.deleted == len(before) + len(strays)
    assert (row.unreferenced.count, row.left_outside.count) == (1, 0)
    assert [local_path(path) for path in row.unreferenced.paths] == [foreign]


async def test_a_metadata_file_that_another_table_was_registered_with_stays(site: Site) -> None:
    """It is named as those of unfinished commits, and lies among them: another table needs it."""
    machine = await site.machine()
    await machine.make("model")
    folder, elsewhere = (Path(site.world.warehouse, "a", name) for name in ("t", "b"))
    metadata = (await machine.node.load("model"))["metadata"] | {
        "location": elsewhere.as_posix(),
        "snapshots": [],
        "snapshot-log": [],
        "metadata-log": [],
        "statistics": [],
        "partition-statistics": [],
        "refs": {},
        "current-snapshot-id": -1,
    }
    file = folder / "metadata" / f"00042-{uuid4()}.metadata.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(metadata))
    body = {"name": "b", "metadata-location": file.as_posix()}
    await machine.node.made("namespaces/a/register", body)
    made = await machine.make(location=folder.as_posix())

    job = await machine.drop()
    await machine.work()
    row = await machine.row(job)

    assert (row.state, row.unreferenced.count) == (State.SUCCEEDED, 0)
    assert files_of(made) == {file}


async def test_what_is_left_is_known_after_a_crash_at_the_end(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last file is gone when the worker dies: nobody can count again, and nobody has to."""
    machine = await site.machine()
    made = await machine.make()
    foreign = local_path(made.location) / "data" / "foreign"
    foreign.write_text("mine")
    job = await machine.drop()

    whole = Stages._whole

    async def fail_at_last(self: Stages, live: LiveJob, stage: str, *more: Any) -> None:
        await whole(self, live, stage, *more)
        if stage == ROOTS:
            raise OSError("the worker cannot go on")

    with monkeypatch.context() as patch:
        patch.setattr(Stages, "_whole", fail_at_last)
        await machine.work()
    assert (await machine.row(job)).state == State.PENDING
    assert files_of(made) == {foreign}
    site.world.rig.clock.advance(machine.terms.backoff_max_ms)
    await machine.work()
    row = await machine.row(job)
    assert (row.state, row.unreferenced.count) == (State.SUCCEEDED, 1)
    assert [local_path(path) for path in row.unreferenced.paths] == [foreign]


async def test_a_slow_node_takes_away_what_it_writes_after_the_drop(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commit finds no table any more, and its file goes with the commit."""
    machine, slow = await site.machine(), await site.machine()
    made = await machine.make()
    reached, gone = asyncio.Event(), asyncio.Event()
    write = CountingFiles.write

    async def write_late(self: CountingFiles, location: str, data: bytes | Sequence[bytes]) -> None:
        reached.set()
        await gone.wait()
        await write(self, location, data)

    monkeypatch.setattr(CountingFiles, "write", write_late)
    changing = asyncio.create_task(slow.node.post(TABLE, commit([set_properties(a="1")])))
    await reached.wait()
    job = await machine.drop()
    await machine.work()
    row = await machine.row(job)
    gone.set()
    answer = await changing

    assert (row.state, answer.status) == (State.SUCCEEDED, 404)
    assert files_of(made) == set()
    assert files_below(Path(site.world.warehouse)) == set()
