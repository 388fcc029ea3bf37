"""Settings of the workers that delete the files of dropped tables."""

from headgate.limits import (
    PURGE_ATTEMPTS_MAX,
    PURGE_BATCH_MAX,
    PURGE_DELETE_THREADS_MAX,
    PURGE_LEASE_MS_MIN,
    PURGE_MS_MAX,
    PURGE_POLL_MS_MIN,
    PURGE_RETENTION_HOURS_MAX,
    PURGE_WORKERS_MAX,
)
from headgate.purge.jobs import JobTerms
from headgate.settings.setting import Setting

_USUAL = JobTerms()

PURGE_WORKER_THREADS = Setting(
    name="purger.async.worker-threads",
    type=int,
    default=_USUAL.worker_threads,
    unit="jobs",
    least=0,
    most=PURGE_WORKERS_MAX,
    help="How many dropped tables of one principal one process purges at a time, each with a "
    "process of its own; two more are purged for others, one of them for other metalakes. A server "
    "with 0 leaves all of them to `headgate work`; with the purger `async` only.",
)
PURGE_DELETE_THREADS = Setting(
    name="purger.async.delete-threads-per-job",
    type=int,
    default=_USUAL.delete_threads,
    unit="threads",
    least=1,
    most=PURGE_DELETE_THREADS_MAX,
    help="How many threads delete the files of one table.",
)
PURGE_POLL_INTERVAL = Setting(
    name="purger.async.poll-interval-ms",
    type=int,
    default=_USUAL.poll_ms,
    unit="milliseconds",
    least=PURGE_POLL_MS_MIN,
    most=PURGE_MS_MAX,
    help="How often workers look for jobs that another server left; those of its own drops a "
    "server begins with at once.",
)
PURGE_BATCH_SIZE = Setting(
    name="purger.async.batch-size",
    type=int,
    default=_USUAL.batch_size,
    unit="jobs",
    least=1,
    most=PURGE_BATCH_MAX,
    help="How many jobs one look hands to the workers of a process.",
)
PURGE_LEASE_TIMEOUT = Setting(
    name="purger.async.lease-timeout-ms",
    type=int,
    default=_USUAL.lease_ms,
    unit="milliseconds",
    least=PURGE_LEASE_MS_MIN,
    most=PURGE_MS_MAX,
    help="How long a worker may be silent before another one takes its job. The same on all "
    "servers of a store.",
)
PURGE_MAX_ATTEMPTS = Setting(
    name="purger.async.max-attempts",
    type=int,
    default=_USUAL.max_attempts,
    unit="attempts",
    least=1,
    most=PURGE_ATTEMPTS_MAX,
    help="After how many failed attempts a job waits for an operator, as DEAD_LETTER; or after how "
    "many workers in a row that died with it and got no further.",
)
PURGE_BACKOFF_BASE = Setting(
    name="purger.async.backoff-base-ms",
    type=int,
    default=_USUAL.backoff_base_ms,
    unit="milliseconds",
    least=1,
    most=PURGE_MS_MAX,
    help="Half of how long a job waits after its first failure; each further failure doubles it. "
    "Up to a half of each pause is left out, by chance, so that jobs do not return all at once.",
)
PURGE_BACKOFF_MAX = Setting(
    name="purger.async.backoff-max-ms",
    type=int,
    default=_USUAL.backoff_max_ms,
    unit="milliseconds",
    least=1,
    most=PURGE_MS_MAX,
    help="How long a job waits at most between two attempts, whatever chance says.",
)
PURGE_RETENTION = Setting(
    name="purger.async.completed-retention-hours",
    type=int,
    default=_USUAL.completed_retention_hours,
    unit="hours",
    least=0,
    most=PURGE_RETENTION_HOURS_MAX,
    help="How long jobs that have ended are remembered.",
)
PURGE_GRACE_PERIOD = Setting(
    name="purger.async.grace-period-ms",
    type=int,
    default=0,
    unit="milliseconds",
    least=0,
    most=PURGE_MS_MAX,
    help="How long a table that was dropped with purge can come back (`headgate jobs undrop`): "
    "none of its files is deleted before.",
)

PURGE_JOBS = (
    PURGE_WORKER_THREADS,
    PURGE_DELETE_THREADS,
    PURGE_POLL_INTERVAL,
    PURGE_BATCH_SIZE,
    PURGE_LEASE_TIMEOUT,
    PURGE_MAX_ATTEMPTS,
    PURGE_BACKOFF_BASE,
    PURGE_BACKOFF_MAX,
    PURGE_RETENTION,
    PURGE_GRACE_PERIOD,
)
