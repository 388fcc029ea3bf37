"""A standalone cluster of Spark: one master and two workers of one core each, whose processes can
be killed."""

import contextlib
import os
import re
import sys
from pathlib import Path

import httpx
import psutil
import pyspark

from headgate.pipelines.session import SparkOptions
from headgate.testing.child import Child
from headgate.testing.private_server import PrivateServer
from headgate.testing.spark_session import JAVA_OPTIONS

HOME = Path(pyspark.__file__).parent
WORKERS = 2
START_SECONDS_MAX = 120.0
PACKAGE = "org.apache.spark.deploy"
MASTER = re.compile(r"Starting Spark master at (spark://\S+:\d+)")
PAGE = re.compile(r"started at (http://\S+:\d+)")
EXECUTOR = "CoarseGrainedExecutorBackend"


def environment(folder: Path) -> dict[str, str]:
    """What processes of Spark are told: little memory, and a place for what they leave behind."""
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"{JAVA_OPTIONS} -Djava.io.tmpdir={folder}",
    }


class SparkCluster(PrivateServer):
    """Its files lie in `folder`. A worker that was killed is replaced by `heal`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._master: Child | None = None
        self._page = ""
        self._workers: list[Child] = []
        self.url = ""

    def options(self, **conf: str) -> SparkOptions:
        """A session on it: both workers, with little memory."""
        usual = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": JAVA_OPTIONS,
            "spark.driver.memory": "512m",
            "spark.cores.max": str(WORKERS),
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": JAVA_OPTIONS,
            "spark.sql.shuffle.partitions": "4",
        }
        return SparkOptions(self.url, conf=usual | conf)

    def start(self) -> None:
        master = self._run("master", "master.Master", "--webui-port", "0")
        self._master = master
        self.url = master.wait_until(lambda: MASTER.search(master.said()), START_SECONDS_MAX)[1]
        self._page = master.wait_until(lambda: PAGE.search(master.said()), START_SECONDS_MAX)[1]
        self.heal()

    def heal(self) -> None:
        """Let there be two workers."""
        self._workers = [worker for worker in self._workers if worker.is_running]
        while len(self._workers) < WORKERS:
            self._workers.append(self._worker())
        assert self._master
        self._master.wait_until(self._is_whole, START_SECONDS_MAX)

    def executors(self) -> list[int]:
        """The ids of the processes that run tasks of anybody."""
        return [pid for worker in self._workers for pid in _executors(worker)]

    def remove(self) -> None:
        for child in (*self._workers, self._master):
            if child is not None:
                child.kill()

    def _worker(self) -> Child:
        name = f"worker-{len(list(self._folder.glob('worker-*')))}"
        work = self._folder / name
        work.mkdir()
        return self._run(
            name,
            "worker.Worker",
            *("--webui-port", "0", "--cores", "1", "--memory", "1g"),
            *("--work-dir", str(work), self.url),
        )

    def _run(self, name: str, program: str, *arguments: str) -> Child:
        command = [str(HOME / "bin" / "spark-class"), f"{PACKAGE}.{program}"]
        command += ["--host", "127.0.0.1", "--port", "0", *arguments]
        return Child(command, self._folder / f"{name}.log", environment(self._folder))

    def _is_whole(self) -> bool | None:
        with contextlib.suppress(httpx.HTTPError):
            alive = httpx.get(f"{self._page}/json/", trust_env=False).json()["aliveworkers"]
            return True if alive >= WORKERS else None
        return None


def _executors(worker: Child) -> list[int]:
    with contextlib.suppress(psutil.NoSuchProcess):
        below = psutil.Process(worker.pid).children(recursive=True)
        return [process.pid for process in below if _is_executor(process)]
    return []


def _is_executor(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return any(EXECUTOR in word for word in process.cmdline())
    return False
