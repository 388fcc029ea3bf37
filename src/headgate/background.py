"""Work that goes on beside requests, in a server or in a process that does nothing else: the files
of dropped tables are deleted, what is left of dropped catalogs and metalakes is cleared away,
locations without files that dropped tables left are freed,
old commits are cut from the log, checkpoints of it are written down, and what nothing refers to
any more is swept out of the store.
"""

import asyncio
import math
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from headgate.catalog.checkpoint_file import CheckpointFile
from headgate.catalog.checkpoint_rounds import CheckpointRounds
from headgate.catalog.checkpoints import SigningLogKey
from headgate.catalog.events import EventBus
from headgate.catalog.left_rounds import LeftRounds
from headgate.catalog.log_rounds import LogRounds
from headgate.catalog.ports import Roots, Storage
from headgate.catalog.purging import PurgeTerms
from headgate.clock import SystemClock
from headgate.errors import BadSetting
from headgate.extension_settings import purger_selection
from headgate.kernel.kernel import Kernel
from headgate.limits import CLOCK_BEHIND_MS_MAX
from headgate.maintenance.service import Maintenance, Terms
from headgate.purge.claims import Claims
from headgate.purge.deleter import WORKER, Deleter, Deleting
from headgate.purge.draining import Draining
from headgate.purge.enquiries import Enquiries
from headgate.purge.fence import clear_fences
from headgate.purge.jobs import JobTerms
from headgate.purge.outwork import Outwork
from headgate.purge.purgers import PurgerContext
from headgate.purge.queue import Queue
from headgate.purge.referrers import Lookups, Referrers
from headgate.purge.running import BUILT_IN, WITH_SPARK, Runner
from headgate.purge.selection import SPARK, Selection
from headgate.purge.service import AT_LEISURE, PurgeService
from headgate.purge.sizer import Sizer
from headgate.purge.spark_deleter import SparkDeleter, check_spark
from headgate.purge.spark_driver import driver_pool
from headgate.purge.stages import Children, Stages
from headgate.purge.surveyor import Surveyor
from headgate.purge.witness import Witnessed
from headgate.purge.workers import Workers
from headgate.server_settings import storage_options
from headgate.settings import purge_jobs as names
from headgate.settings.catalogs import CATALOGS_SHARE_FILES
from headgate.settings.maintenance import (
    MAINTENANCE_ENABLED,
    MAINTENANCE_GRACE,
    MAINTENANCE_INTERVAL,
)
from headgate.settings.purge_spark import (
    SPARK_IDLE,
    SPARK_MASTER,
    SPARK_REMOTE,
    SPARK_THRESHOLD,
)
from headgate.settings.server import (
    LOG_CHECKPOINT_FILE,
    LOG_CHECKPOINT_SECONDS,
    LOG_RETENTION,
)
from headgate.settings.setting import Settings
from headgate.settings.store import BACKEND, COMMIT_TIMEOUT
from headgate.storage.options import StorageOptions
from headgate.storage.s3_keys import with_present_keys
from headgate.storage.worker_files import WorkerFiles
from headgate.wiring import chance, entropy, server_name
from headgate.workers.pool import PoolOptions, WorkerPool
from headgate.workers.slots import shared

_DAY_SECONDS = 86_400
SURVEYED_SECONDS = 600.0
"""That a child lives which knows the manifests of other tables, if nobody asks it."""


class Background(NamedTuple):
    """What works in the background, not started yet."""

    service: PurgeService
    workers: Workers
    stages: Stages
    queue: Queue
    outwork: Outwork
    sizer: Sizer

    def start(self) -> None:
        """Begin, and go on until the stack ends."""
        clear_fences()
        self.workers.start()


async def open_background(
    settings: Settings,
    kernel: Kernel,
    storage: Storage,
    events: EventBus,
    stack: AsyncExitStack,
) -> Background:
    """Workers that can be started; they end with the stack. BadSetting if the purger cannot be
    used."""
    terms, selection, queue = job_terms(settings), purger_selection(settings), Queue(kernel)
    loop = asyncio.get_running_loop()
    context = PurgerContext(backend=kernel.backend, events=events, loop=loop)
    third_party = await selection.start(context, storage)
    if third_party is not None:
        stack.push_async_callback(third_party.close)
    slots = shared(max(1, terms.worker_threads)).slots
    pool = WorkerPool(WORKER, PoolOptions(workers=slots))
    stack.push_async_callback(pool.close)
    looks = WorkerPool(WORKER, PoolOptions(workers=slots))
    stack.push_async_callback(looks.close)
    files_below = partial(WorkerFiles, storage_options(settings))
    sizer, deleter = Sizer(looks, files_below), Deleter(pool, files_below)
    surveyor, slow = (Surveyor(_surveys(stack), files_below) for _ in range(2))
    lookups = _lookups(stack, files_below, max(1, terms.worker_threads))
    children = Children(deleter, surveyor, slow, lookups)
    if selection.name == SPARK and not purges_elsewhere(settings):
        large = Deleter(*await _driver(settings, selection, stack))
        least = settings[SPARK_THRESHOLD]
        children = children._replace(deleter=SparkDeleter(deleter, large, sizer, least))
    stages = Stages(kernel, queue, storage, children, terms)
    stack.push_async_callback(stages.referrers.close)
    purgers = {third_party.name: third_party} if third_party else {}
    built_in = WITH_SPARK if selection.name == SPARK else BUILT_IN
    runner = Runner(stages, events, chance(), purgers, built_in)
    draining = Draining(kernel, selection.name)
    claims = Claims(kernel, terms, events.server)
    workers = Workers(runner, claims, chance(), [draining.make_one])
    stack.push_async_callback(workers.close)
    promised = PurgeTerms(selection.name, settings[names.PURGE_GRACE_PERIOD])
    outwork = _outwork(stages, events, Deleter(looks, files_below))
    stack.push_async_callback(outwork.close)
    service = PurgeService(workers, promised)
    return Background(service, workers, stages, queue, outwork, sizer)


def open_enquiries(
    settings: Settings, kernel: Kernel, background: Background | None, stack: AsyncExitStack
) -> Enquiries:
    """What tells which files other catalogs need, also on a server that purges nothing; it ends
    with the stack."""
    if background is not None:
        referrers = background.stages.referrers
    else:
        files_below = partial(WorkerFiles, storage_options(settings))
        surveyor, slow = (Surveyor(_surveys(stack), files_below) for _ in range(2))
        referrers = Referrers(
            kernel,
            surveyor,
            slow,
            _lookups(stack, files_below, 1),
            across_catalogs=settings[CATALOGS_SHARE_FILES],
        )
        stack.push_async_callback(referrers.close)
    enquiries = Enquiries(referrers)
    stack.push_async_callback(enquiries.close)
    return enquiries


def _surveys(stack: AsyncExitStack) -> WorkerPool:
    """A child that reads what tables refer to; it ends with the stack."""
    surveys = WorkerPool(WORKER, PoolOptions(workers=1, idle_seconds=SURVEYED_SECONDS))
    stack.push_async_callback(surveys.close)
    return surveys


def _lookups(stack: AsyncExitStack, files_below: Callable[[Roots], object], purges: int) -> Lookups:
    """Children that look files up in tables, apart for purges, of which a principal has so many at
    a time, and for enquiries; tenants take turns for each. They end with the stack."""
    found: list[Surveyor] = []
    for workers in (purges, 1):
        options = PoolOptions(workers=workers, is_shared=True, idle_seconds=SURVEYED_SECONDS)
        pool = WorkerPool(WORKER, options)
        stack.push_async_callback(pool.close)
        found.append(Surveyor(pool, files_below))
    return Lookups(*found)


async def _driver(
    settings: Settings, selection: Selection, stack: AsyncExitStack
) -> tuple[WorkerPool, partial[WorkerFiles], bytes]:
    """What deletes large tables, and what it is told; it ends with the stack. BadSetting if there
    is no Spark."""
    conf = {key.removeprefix("conf."): text for key, text in selection.properties.items()}
    told = {"master": settings[SPARK_MASTER], "remote": settings[SPARK_REMOTE], "conf": conf}
    pool, options = driver_pool(settings[SPARK_IDLE]), msgspec.json.encode(told)
    stack.push_async_callback(pool.close)
    await check_spark(pool, options)
    return pool, spark_files(settings), options


def spark_files(settings: Settings) -> partial[WorkerFiles]:
    """How Spark reaches the files of tables."""
    is_here = settings[SPARK_MASTER].startswith("local") and not settings[SPARK_REMOTE]
    return partial(WorkerFiles if is_here else _files_elsewhere, storage_options(settings))


def _files_elsewhere(options: StorageOptions, roots: Roots) -> WorkerFiles:
    """Executors on other machines have no file with keys: they get those of this moment with each
    stage."""
    return WorkerFiles(with_present_keys(options, SystemClock()), roots)


def _outwork(stages: Stages, events: EventBus, witness: Deleting) -> Outwork:
    """What lets programs outside of this process work on jobs."""
    terms = stages.terms

    def runner(deleter: Deleting) -> Runner:
        seen = stages.with_deleter(Witnessed(deleter, witness))
        return Runner(seen, events, chance(), built_in=WITH_SPARK)

    def new_token() -> str:
        return f"{entropy():x}{entropy():x}"

    claims = Claims(stages.kernel, terms, f"{events.server} for a program outside")
    return Outwork(claims, runner, terms.lease_ms / 1_000, new_token)


def cut_logs(settings: Settings, kernel: Kernel, stack: AsyncExitStack) -> LogRounds | None:
    """Cut old commits now and then, until the stack ends; None if all are kept."""
    if not settings[LOG_RETENTION]:
        return None
    rounds = LogRounds(kernel, settings[LOG_RETENTION])
    task = asyncio.create_task(rounds.make_for_ever(entropy))
    stack.callback(task.cancel)
    return rounds


def free_left_locations(kernel: Kernel, storage: Storage, stack: AsyncExitStack) -> LeftRounds:
    """Free locations that dropped tables left without files, until the stack ends."""
    rounds = LeftRounds(kernel, storage)
    task = asyncio.create_task(rounds.make_for_ever(entropy))
    stack.callback(task.cancel)
    return rounds


def write_checkpoints(
    settings: Settings, kernel: Kernel, key: Callable[[], SigningLogKey], stack: AsyncExitStack
) -> CheckpointRounds | None:
    """Write checkpoints of the log now and then, until the stack ends; None if there is no file.
    BadSetting if it cannot be written, or there is no key."""
    if not settings[LOG_CHECKPOINT_FILE]:
        return None
    file = CheckpointFile(Path(settings[LOG_CHECKPOINT_FILE]).expanduser().absolute())
    file.check()
    rounds = CheckpointRounds(kernel, key(), file, settings[LOG_CHECKPOINT_SECONDS])
    task = asyncio.create_task(rounds.make_for_ever(entropy))
    stack.callback(task.cancel)
    return rounds


def job_terms(settings: Settings) -> JobTerms:
    """How jobs are worked on; BadSetting if that contradicts itself, or other settings."""
    if purges_elsewhere(settings):
        _check_elsewhere(settings)
    base_ms, max_ms = settings[names.PURGE_BACKOFF_BASE], settings[names.PURGE_BACKOFF_MAX]
    if base_ms > max_ms:
        raise BadSetting(
            f"{names.PURGE_BACKOFF_BASE.name} cannot be {base_ms}",
            why=f"{names.PURGE_BACKOFF_MAX.name} is {max_ms}, and that is the longest pause",
            fix="Let the first be the smaller one",
        )
    return JobTerms(
        worker_threads=settings[names.PURGE_WORKER_THREADS],
        delete_threads=settings[names.PURGE_DELETE_THREADS],
        poll_ms=settings[names.PURGE_POLL_INTERVAL],
        batch_size=settings[names.PURGE_BATCH_SIZE],
        lease_ms=settings[names.PURGE_LEASE_TIMEOUT],
        max_attempts=settings[names.PURGE_MAX_ATTEMPTS],
        backoff_base_ms=base_ms,
        backoff_max_ms=max_ms,
        completed_retention_hours=settings[names.PURGE_RETENTION],
        across_catalogs=settings[CATALOGS_SHARE_FILES],
    )


def purges_elsewhere(settings: Settings) -> bool:
    """Whether a server leaves all purges to other processes."""
    return settings[names.PURGE_WORKER_THREADS] == 0


def _check_elsewhere(settings: Settings) -> None:
    """Refuse to leave to others what only this process can do."""
    purger = purger_selection(settings).name
    if purger not in AT_LEISURE:
        why = f"with the purger {purger!r} a drop waits until the server itself has done it"
        fix = f"Use the purger {' or '.join(sorted(AT_LEISURE))}, or let the server have some"
    elif settings[BACKEND] == "memory:":
        why = "no other process sees what is in memory:"
        fix = "Let the server have some, or use another backend"
    else:
        return
    raise BadSetting(f"{names.PURGE_WORKER_THREADS.name} cannot be 0", why=why, fix=fix)


def open_maintenance(settings: Settings, kernel: Kernel, stack: AsyncExitStack) -> Maintenance:
    """Sweeps of the store: they begin by themselves if they are to, and end with the stack."""
    maintenance = Maintenance(kernel, maintenance_terms(settings), server_name())
    stack.push_async_callback(maintenance.close)
    if settings[MAINTENANCE_ENABLED]:
        maintenance.sweep_by_itself(entropy)
    return maintenance


def maintenance_terms(settings: Settings) -> Terms:
    """How the store is swept; BadSetting if that contradicts other settings.

    What a commit under way has stored must not be old enough to be swept, and the commit that was
    current when the grace began must still be kept.
    """
    grace, days = settings[MAINTENANCE_GRACE], settings[LOG_RETENTION]
    least = 2 * settings[COMMIT_TIMEOUT] + CLOCK_BEHIND_MS_MAX / 1_000
    if grace < least:
        raise BadSetting(
            f"{MAINTENANCE_GRACE.name} cannot be {grace}",
            why=f"commits may take {settings[COMMIT_TIMEOUT]:g} s ({COMMIT_TIMEOUT.name})",
            fix=f"Let it be {math.ceil(least)} or more",
        )
    if days and grace > days * _DAY_SECONDS:
        raise BadSetting(
            f"{MAINTENANCE_GRACE.name} cannot be {grace}",
            why=f"commits are kept for {days} days ({LOG_RETENTION.name})",
            fix=f"Let it be {days * _DAY_SECONDS} or less",
        )
    return Terms(grace * 1_000, settings[MAINTENANCE_INTERVAL] * 1_000)
