"""What purges by Spark are tested with."""

import contextlib
from collections.abc import Iterator
from functools import partial

import psutil
import pytest

from headgate.purge.spark_driver import DRIVER
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles
from headgate.testing import headgate_server
from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.spark_session import JAVA_OPTIONS
from tests.purge.jobs import Job, job_of
from tests.purge.lake import Lake, in_the_end

CONF = {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": JAVA_OPTIONS}
SETTINGS = {
    "purger": "spark",
    "purger.spark.master": "local[1]",
    "purger.spark.threshold-files": "3",
    **{f"purger.spark.conf.{name}": text for name, text in CONF.items()},
    "purger.async.backoff-base-ms": "100",
    "purger.async.poll-interval-ms": "100",
}
START_SECONDS_MAX = 240.0
FILES_BELOW = partial(WorkerFiles, StorageOptions(local_sync=False))


def sets(settings: dict[str, str]) -> list[str]:
    """The command line of a server with these settings."""
    return [part for name, text in settings.items() for part in ("--set", f"{name}={text}")]


@contextlib.contextmanager
def patient() -> Iterator[None]:
    """Servers may take their time to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(headgate_server, "START_SECONDS_MAX", START_SECONDS_MAX)
        yield


def drivers(server: HeadgateServer) -> list[psutil.Process]:
    """The processes that drive Spark for a server."""
    below = psutil.Process(server.pid).children(recursive=True)
    return [one for one in below if DRIVER[-1] in one.cmdline()]


def wait_for(lake: Lake, name: str, state: str, attempts: int = 0) -> Job:
    """The job of a table when it has reached a state: Spark takes its time to start."""
    seen: list[Job] = []

    def reached() -> bool:
        seen[:] = [job_of(lake, name)]
        return bool(seen[0]["state"] == state and seen[0]["attempts"] >= attempts)

    assert in_the_end(reached, START_SECONDS_MAX), (seen, lake.server.said())
    return seen[0]
