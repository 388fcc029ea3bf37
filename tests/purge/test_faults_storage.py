"""Purges of a storage in trouble: a file that cannot be deleted keeps its job open, and a job that
has succeeded has left nothing."""

import random
import re
from pathlib import Path

import pytest

from headgate.catalog.events import PurgeCompleted, PurgeFailed
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow, JobTerms
from tests.purge.listing import files_below, local_path, lying_below
from tests.purge.machine import Machine, Site, files_of
from tests.seeds import draw_seed

TERMS = JobTerms()
ATTEMPTS_MAX = 60  # a job that needs more of them is not getting anywhere
ORDER = (r"/data/", r"-m\d+\.avro$", r"/snap-", r"\.puffin$|\.parquet$|/0\d+-.*\.metadata\.json$")


@pytest.fixture(name="machine")
async def _machine(site: Site) -> Machine:
    return await site.machine()


async def attempt(site: Site, machine: Machine, job: int) -> JobRow:
    """Wait until a job is due, and let it be tried once; its row then."""
    row, now_ms = (await machine.find(job)).row, site.world.rig.clock.wall_ms()
    pause_ms = row.next_attempt_ms - now_ms if row else 0
    await site.world.rig.pass_time(max(pause_ms, TERMS.poll_ms))
    await machine.work()
    return await machine.row(job)


async def attempts_to_the_end(site: Site, machine: Machine, job: int) -> int:
    """Try a job until it has succeeded, as an operator would who gives nothing up."""
    for number in range(1, ATTEMPTS_MAX + 1):
        row = await attempt(site, machine, job)
        if row.state == State.SUCCEEDED:
            return number
        if row.state == State.DEAD_LETTER:
            await machine.steering.retry(job)
    raise AssertionError(row)


def rank(location: str) -> int:
    """The place of a file in the order of deletion."""
    return next(at for at, pattern in enumerate(ORDER) if re.search(pattern, location))


def is_leaf_first(site: Site) -> bool:
    """Whether nothing was deleted before what it led to."""
    ranks = [rank(location) for location in site.trouble.deleted]
    return ranks == sorted(ranks)


@pytest.mark.parametrize(("share", "attempts_max"), [(0.01, 1), (0.5, ATTEMPTS_MAX)])
async def test_deletions_that_fail_now_and_then_are_repeated(
    site: Site, machine: Machine, share: float, attempts_max: int
) -> None:
    """Of every hundred one, or every other one: leaf first, until nothing is left."""
    site.trouble.chance = random.Random(draw_seed("failing deletions"))
    site.trouble.failing_share = share
    made = await machine.make()
    job = await machine.drop()
    attempts = await attempts_to_the_end(site, machine, job)
    row = await machine.row(job)

    assert attempts <= attempts_max
    assert lying_below(local_path(made.location)) == set()
    assert is_leaf_first(site)
    assert row.deleted == made.files == len(site.trouble.deleted)
    assert (row.missing, row.failed, row.ledger) == (0, 0, ())


async def test_files_that_may_not_be_deleted_keep_their_job_open(
    site: Site, machine: Machine
) -> None:
    """They are on the ledger, what leads to them stays, and an operator can let it go on."""
    bystander = await machine.make("bystander")
    untouched = files_of(bystander)
    made = await machine.make()
    denied = sorted(map(str, files_below(local_path(made.location) / "data")))[::10]
    leading = files_below(local_path(made.location) / "metadata")
    site.trouble.denied = frozenset(denied)
    job = await machine.drop()
    for number in range(1, TERMS.max_attempts + 1):
        row = await attempt(site, machine, job)
        assert (row.attempts, row.failed) == (number, len(denied))
        assert sorted((line.path, line.why) for line in row.ledger) == [
            (path, "AccessDenied") for path in denied
        ]
        assert files_of(made) == leading | set(map(Path, denied))

    assert row.state == State.DEAD_LETTER
    assert f"{len(denied)} files cannot be deleted" in row.error
    assert [type(event) for event in machine.told].count(PurgeFailed) == 1
    site.trouble.denied = frozenset()
    await site.world.rig.pass_time(TERMS.backoff_max_ms)
    await machine.work()
    assert files_of(made) == leading | set(map(Path, denied))  # nobody asked for more

    await machine.steering.retry(job)
    assert await attempts_to_the_end(site, machine, job) == 1
    assert lying_below(local_path(made.location)) == set()
    assert files_of(bystander) == untouched


async def test_what_was_only_said_to_be_deleted_is_found(site: Site, machine: Machine) -> None:
    """The storage acknowledges and does nothing: a look at what is left tells."""
    made = await machine.make()
    liars = [str(next(iter(files_below(local_path(made.location) / "data"))))]
    site.trouble.stubborn = frozenset(liars)
    job = await machine.drop()
    row = await attempt(site, machine, job)
    assert (row.state, [line.path for line in row.ledger]) == (State.PENDING, liars)
    assert row.ledger[0].why == "it was deleted and is still there"

    site.trouble.stubborn = frozenset()
    assert await attempts_to_the_end(site, machine, job) == 1
    assert lying_below(local_path(made.location)) == set()


async def test_a_table_of_a_bucket_that_is_gone_has_not_been_purged(
    site: Site, machine: Machine
) -> None:
    """That its metadata cannot be found is no proof: the bucket may be back, with all files."""
    made = await machine.make()
    site.trouble.is_gone = True
    job = await machine.drop()
    for _ in range(TERMS.max_attempts):
        row = await attempt(site, machine, job)
    assert (row.state, len(files_of(made))) == (State.DEAD_LETTER, made.files)
    assert "NoSuchBucket" in row.error

    site.trouble.is_gone = False
    await machine.steering.retry(job)
    assert await attempts_to_the_end(site, machine, job) == 1
    assert lying_below(local_path(made.location)) == set()


async def test_a_disk_that_is_not_mounted_loses_no_purge(site: Site, machine: Machine) -> None:
    """Its folder is empty, as if all had been deleted."""
    made = await machine.make()
    job = await machine.drop()
    disk, elsewhere = Path(site.world.warehouse), site.world.folder / "elsewhere"
    disk.rename(elsewhere)
    row = await attempt(site, machine, job)
    assert row.state == State.PENDING, row
    elsewhere.rename(disk)

    assert await attempts_to_the_end(site, machine, job) == 1
    assert lying_below(local_path(made.location)) == set()


async def test_credentials_that_expire_midway_are_waited_for(site: Site, machine: Machine) -> None:
    """What was deleted by then is counted once, and the rest follows with new ones."""
    made = await machine.make()
    site.trouble.expires_after = 20
    job = await machine.drop()
    for _ in range(2):
        row = await attempt(site, machine, job)
        assert (row.state, row.deleted) == (State.PENDING, 20)
        assert "ExpiredToken" in row.error

    site.trouble.expires_after = None
    assert await attempts_to_the_end(site, machine, job) == 1
    row = await machine.row(job)
    assert (row.deleted, row.missing) == (made.files, 0)
    assert lying_below(local_path(made.location)) == set()
    assert is_leaf_first(site)


async def test_metadata_that_cannot_be_read_is_tried_less_and_less_often(
    site: Site, machine: Machine
) -> None:
    """Each pause is twice the one before, and after the last attempt the reason is kept."""
    made = await machine.make()
    site.trouble.expires_after = 0
    job = await machine.drop()
    pauses: list[int] = []
    for number in range(1, TERMS.max_attempts + 1):
        row = await attempt(site, machine, job)
        assert row.attempts == number
        assert "ExpiredToken" in row.error
        pauses.append(row.next_attempt_ms - row.updated_ms)

    first = 3 * TERMS.backoff_base_ms // 2
    assert pauses[:-1] == [first, 2 * first, 4 * first, 8 * first]
    assert row.state == State.DEAD_LETTER
    assert len(files_of(made)) == made.files


async def test_damaged_metadata_ends_as_a_dead_letter(site: Site, machine: Machine) -> None:
    """No file is deleted that nobody could find again."""
    made = await machine.make()
    job = await machine.drop()
    metadata = local_path((await machine.find(job)).live.job.metadata_location)
    metadata.write_bytes(b"{" + metadata.read_bytes()[:100])
    for _ in range(TERMS.max_attempts):
        row = await attempt(site, machine, job)

    assert (row.state, len(files_of(made))) == (State.DEAD_LETTER, made.files)
    assert "Cannot parse the table's metadata" in row.error


async def test_a_damaged_manifest_keeps_what_leads_to_its_files(
    site: Site, machine: Machine
) -> None:
    """It is named; the files it leads to are unknown, so the job cannot be done."""
    made = await machine.make()
    metadata = local_path(made.location) / "metadata"
    damaged = min(metadata.glob("*-m*.avro"))
    leading = files_below(metadata)
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2])
    job = await machine.drop()
    row = await attempt(site, machine, job)
    assert [line.path for line in row.ledger] == [str(damaged)]
    assert leading <= files_of(made)

    damaged.write_bytes(whole)
    assert await attempts_to_the_end(site, machine, job) == 1
    assert lying_below(local_path(made.location)) == set()


async def test_files_that_others_deleted_count_as_missing(site: Site, machine: Machine) -> None:
    """All files are accounted for: gone is deleted or missing."""
    made = await machine.make()
    data = sorted(files_below(local_path(made.location) / "data"))
    for file in data[::3]:
        file.unlink()
    job = await machine.drop()
    row = await attempt(site, machine, job)

    assert row.state == State.SUCCEEDED
    assert row.missing == len(data[::3])
    assert row.deleted + row.missing == row.expected == made.files
    assert [type(event) for event in machine.told].count(PurgeCompleted) == 1
