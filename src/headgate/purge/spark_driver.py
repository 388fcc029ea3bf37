"""The driver of Spark: a child process like any other that deletes, which is asked the same and
answers the same."""

from headgate.limits import SPARK_DRIVER_END_SECONDS
from headgate.workers.pool import PoolOptions, WorkerPool, module

DRIVER = ("env", "PYTHONHASHSEED=0", *module("headgate.pipelines.purge_driver"))
"""By its name: it is above us, and what it imports need not be installed. It has the same hashes as
Python on executors, which Spark gives this seed."""
WAITING_MAX = 1_000
"""Large tables that wait for Spark."""


def driver_pool(idle_seconds: float) -> WorkerPool:
    """The driver of one process. It starts with the first large table; tables wait for each other,
    as all of Spark's machines work for one."""
    options = PoolOptions(
        1,
        waiting_max=WAITING_MAX,
        idle_seconds=idle_seconds,
        grace_seconds=SPARK_DRIVER_END_SECONDS,
    )
    return WorkerPool(DRIVER, options)
