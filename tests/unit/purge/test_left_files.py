"""Files that a purge leaves: an exact count, and a list that has an end."""

import msgspec
import pytest

from headgate.catalog.purging import LiveJob, PurgeJob
from headgate.limits import (
    INDEX_VALUE_BYTES_MAX,
    LOCATION_BYTES_MAX,
    PURGE_LEFT_BYTES_MAX,
    PURGE_LEFT_PATHS_MAX,
)
from headgate.model.names import Identifier
from headgate.purge.finishing import FinishedJob, decode_finished, finish
from headgate.purge.history import finished_job
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow
from headgate.purge.ledger import COUNT_MAX, NONE_LEFT, Failed, LeftFiles, left_files
from tests.unit.catalog.lakes import Node
from tests.unit.purge.rows import write_row
from tests.unit.purge.scripted import Purging


def test_a_path_that_two_lists_name_counts_once() -> None:
    """A table may name a file as data and as statistics."""
    both = left_files(["/a", "/b"]) + left_files(["/b", "/c"])

    assert both == LeftFiles(3, ("/a", "/b", "/c"))
    assert both + NONE_LEFT == both
    assert NONE_LEFT + both == both


def test_a_list_is_bounded_in_paths_and_in_bytes() -> None:
    """The count goes on."""
    many = left_files(f"/{number}" for number in range(1_000))
    long = left_files("x" * 4_000 for _ in range(50))

    assert (many.count, len(many.paths)) == (1_000, PURGE_LEFT_PATHS_MAX)
    assert (long.count, len(long.paths)) == (50, PURGE_LEFT_BYTES_MAX // 4_000)
    assert many.shortened(20) == LeftFiles(1_000, tuple(f"/{number}" for number in range(10)))


def test_what_another_program_tells_is_bounded_too() -> None:
    """Neither counts nor lists of its own making reach a row."""
    told = msgspec.json.decode(
        msgspec.json.encode([0, [str(number) for number in range(500)]]), type=LeftFiles
    )
    most = LeftFiles(COUNT_MAX, ("/x",))

    assert NONE_LEFT + told == NONE_LEFT
    assert len((most + told + most).paths) == 1
    assert (most + most).count == COUNT_MAX
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b"[-1, []]", type=LeftFiles)


async def test_a_finished_job_lists_what_it_left(node: Node) -> None:
    """As far as an entry of the history has room for it; the counts are whole."""
    purging = Purging(node)
    await purging.workers.close()
    live = await purging.drop()
    paths = tuple(f"/w/{number:0100}" for number in range(PURGE_LEFT_PATHS_MAX))
    row = JobRow(
        State.SUCCEEDED,
        left_outside=LeftFiles(5_000, paths),
        unreferenced=LeftFiles(100, paths),
    )
    await write_row(node, live.id, row)
    assert await finish(node.kernel, live, row)
    ended = await finished_job(node.kernel, live.id)

    assert ended is not None
    assert (ended[1].left_outside.count, ended[1].unreferenced.count) == (5_000, 100)
    assert ended[1].left_outside.paths == paths[: len(ended[1].left_outside.paths)]
    assert len(ended[1].left_outside.paths) == len(ended[1].unreferenced.paths) > 40


async def test_a_job_with_long_locations_still_ends(node: Node) -> None:
    """Its entry of the history takes less of the lists, and never more than an index takes."""
    purging = Purging(node)
    await purging.workers.close()
    live = await purging.drop()
    long = tuple(f"/{number}{'x' * (LOCATION_BYTES_MAX - 2)}" for number in range(5))
    job = msgspec.structs.replace(live.job, reserved=long, metadata_location="/" + "m" * 4_000)
    row = JobRow(
        State.CANCELLED,
        left_outside=LeftFiles(9, tuple("y" * 2_000 for _ in range(9))),
        unreferenced=LeftFiles(9, tuple("z" * 2_000 for _ in range(9))),
        ledger=tuple(Failed(f"/{number}" + "p" * 500, "why") for number in range(20)),
    )
    await write_row(node, live.id, row)
    assert await finish(node.kernel, live._replace(job=job), row)
    ended = await finished_job(node.kernel, live.id)

    assert ended is not None
    was, kept = ended
    assert was.job.reserved == long
    assert (kept.left_outside.count, kept.unreferenced.count) == (9, 9)


def test_jobs_of_older_programs_left_nothing() -> None:
    """Their rows and their history have no such fields."""
    job = PurgeJob(Identifier(("a",), "t"), "/m")
    live = LiveJob("1", "default", 2, "main", 7, job, ("/w",))
    old = FinishedJob("default", 2, "main", job, State.SUCCEEDED, 5)
    fields = msgspec.to_builtins(old)
    for name in ("left_outside", "unreferenced"):
        del fields[name]
    raw = msgspec.msgpack.encode(fields)

    assert len(raw) < INDEX_VALUE_BYTES_MAX
    assert decode_finished(raw) == old
    assert decode_finished(raw).row.left_outside == NONE_LEFT
    assert live.whole_catalog is False
