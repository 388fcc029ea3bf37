"""The files of dropped tables, deleted by Spark: purge jobs of a server that are due are claimed
over HTTP and done here."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from headgate.clock import SystemClock, deadline_from
from headgate.errors import (
    Conflict,
    Forbidden,
    HeadgateError,
    InvalidInput,
    LeaseLost,
    NotFound,
    StorageUnavailable,
)
from headgate.pipelines.purge_totals import Totals
from headgate.pipelines.purge_work import PATH, Work, claim
from headgate.pipelines.session import STARTING
from headgate.purge.deleter import Deleter
from headgate.purge.fence import new_fence
from headgate.purge.job_states import State
from headgate.purge.orders import LOST
from headgate.purge.sizing import Sizes
from headgate.purge.spark_driver import driver_pool
from headgate.storage.worker_files import WorkerFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headgate.catalog.ports import Roots
    from headgate.pipelines.reporting import Report, Stage
    from headgate.pipelines.server import Server
    from headgate.pipelines.session import SparkOptions
    from headgate.purge.deleter import Progress

IDLE_SECONDS = 60.0
WAITS, SMALL, TAKEN = "WAITS", "SMALL", "TAKEN"
"""What became of jobs that were not begun: a dry run, too few files, somebody else has it."""


class PurgeOptions(msgspec.Struct, frozen=True):
    """Which jobs are to be done."""

    job: str = ""
    """This one only."""
    metalake: str = ""
    """Those of this metalake only."""
    catalog: str = ""
    """Those of this catalog only."""
    min_files: int = 0
    """Those with so many data files only."""
    dry_run: bool = False


class JobFacts(msgspec.Struct, frozen=True, rename="kebab"):
    """A job as the server tells of it."""

    id: str
    catalog: str
    table: tuple[str, ...]
    state: str
    files_deleted: int = 0
    files_missing: int = 0
    bytes_deleted: int = 0
    files_outside: int = 0
    files_unreferenced: int = 0

    @property
    def name(self) -> str:
        """Of its table."""
        return ".".join((self.catalog, *self.table))


class JobDone(msgspec.Struct, frozen=True):
    """What became of a job."""

    job: str
    table: str
    state: str
    files: Sizes | None = None
    """As lists of manifests told before; None if nobody could read them."""
    deleted: int = 0
    missing: int = 0
    bytes: int = 0
    why: str = ""
    outside: int = 0
    """Files that it refers to and that stay, as they are outside of its own locations."""
    unreferenced: int = 0
    """Files that stay in its own locations, as nothing refers to them."""


class PurgeSummary(msgspec.Struct, frozen=True):
    """What became of all jobs."""

    jobs: list[JobDone]

    @property
    def has_failures(self) -> bool:
        """Whether a job that was begun did not succeed."""
        return any(one.state not in {State.SUCCEEDED, WAITS, SMALL, TAKEN} for one in self.jobs)


def run(options: PurgeOptions, server: Server, spark: SparkOptions, report: Report) -> PurgeSummary:
    """Do all jobs that are due, one after the other."""
    check_rights(server)
    jobs = _due(options, server)
    if options.dry_run:
        return PurgeSummary([_waiting(job, _sizes(server, job.id)) for job in jobs])
    return asyncio.run(_purged(options, server, spark, report, jobs))


def check_rights(server: Server) -> None:
    """Refuse who may not work on jobs: it would see none, and believe that there are none. What is
    asked here needs the same right, and changes nothing."""
    try:
        server.get(f"{PATH}/0/files")
    except Forbidden as error:
        raise Forbidden(
            "purges cannot be worked on",
            why="only service admins may, as who deletes files is handed the keys to all stores",
            fix="Run the pipeline as one of authorization.service-admins, or leave purges to the "
            "server",
        ) from error
    except (NotFound, InvalidInput):  # no job has this number
        return


async def _purged(
    options: PurgeOptions,
    server: Server,
    spark: SparkOptions,
    report: Report,
    jobs: Iterator[JobFacts],
) -> PurgeSummary:
    pool, told = driver_pool(IDLE_SECONDS), msgspec.json.encode(spark)
    try:
        await pool.run("check", told)  # before anything is claimed
        done: list[JobDone] = []
        for job in jobs:
            sizes = _sizes(server, job.id)
            if options.min_files > (sizes.data if sizes else 0):
                done.append(JobDone(job.id, job.name, SMALL, sizes))
            else:
                one = Purge(server, job, sizes, report)
                done.append(await one.run(lambda files: Deleter(pool, files, told)))
        return PurgeSummary(done)
    finally:
        await pool.close()


class Purge:
    """One job."""

    def __init__(self, server: Server, job: JobFacts, sizes: Sizes | None, report: Report) -> None:
        self._server = server
        self._job = job
        self._sizes = sizes
        self._report = report
        self._totals = Totals(sizes)
        self._is_starting = False

    async def run(self, deleter: Callable[[Callable[[Roots], object]], Deleter]) -> JobDone:
        """Claim it and do it, if nobody else does."""
        clock = SystemClock()
        began = deadline_from(clock)
        try:
            claimed = claim(self._server, self._job.id)
        except (Conflict, NotFound) as error:  # who else did it may be done by now
            return self._done(TAKEN, error.why or error.what)
        with new_fence(clock) as fence:
            fence.extend(began.after(claimed.silence_seconds))
            work = Work(self._server, self._job.id, claimed, fence)
            try:
                with self._report.stage(self._job.name) as stage:
                    stage.expect(self._totals.total, is_guess=True)
                    order = await work.run(
                        deleter(partial(WorkerFiles, claimed.storage)), partial(self._show, stage)
                    )
                    if order.state == State.SUCCEEDED:
                        stage.expect(stage.files)
            except LeaseLost as error:
                return self._done(LOST, str(error))
        return self._done(order.state, order.why)

    def _show(self, stage: Stage, progress: Progress) -> None:
        if progress.phase == STARTING and not self._is_starting:
            self._is_starting = True
            self._report.say(f"{STARTING}…")
        files, size = self._totals.add(progress)
        stage.advance(files=files, bytes=size)
        stage.expect(self._totals.total, is_guess=True)

    def _done(self, state: str, why: str) -> JobDone:
        facts = self._job
        with suppress(HeadgateError):  # they are only numbers
            facts = _facts(self._server, facts.id)
        gone = facts.files_deleted, facts.files_missing, facts.bytes_deleted
        left = facts.files_outside, facts.files_unreferenced
        return JobDone(facts.id, facts.name, state, self._sizes, *gone, why, *left)


def _due(options: PurgeOptions, server: Server) -> Iterator[JobFacts]:
    """The jobs that wait, as far as they are wanted; whether they are due is seen when they are
    claimed."""
    if options.job:
        yield _facts(server, options.job)
        return
    query = {"state": State.PENDING, "metalake": options.metalake, "catalog": options.catalog}
    token = ""
    while True:
        page = server.get(PATH, **query, **({"page-token": token} if token else {}))
        yield from msgspec.convert(page["jobs"], list[JobFacts])
        token = page["next-page-token"]
        if not token:
            return


def _facts(server: Server, job: str) -> JobFacts:
    return msgspec.convert(server.get(f"{PATH}/{quote(job, safe='')}"), JobFacts)


def _sizes(server: Server, job: str) -> Sizes | None:
    """How many files a job is about; None if its metadata cannot be read, as its purge will say."""
    try:
        return msgspec.convert(server.get(f"{PATH}/{job}/files"), Sizes)
    except (NotFound, InvalidInput, StorageUnavailable):
        return None


def _waiting(job: JobFacts, sizes: Sizes | None) -> JobDone:
    return JobDone(job.id, job.name, WAITS, sizes)
