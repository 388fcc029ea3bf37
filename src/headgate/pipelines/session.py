"""A Spark session for a pipeline, on any master or by Spark Connect; all that is known to go wrong
is looked at before it starts."""

import logging
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from headgate.errors import BadSetting, HeadgateError, Unavailable
from headgate.masking import mask_userinfo
from headgate.pipelines.bounds import (
    SPARK_EXECUTOR_SECONDS_MAX,
    SPARK_LOG_TAIL_BYTES,
    SPARK_START_SECONDS_MAX,
    SPARK_TASKS_PER_CORE,
)
from headgate.pipelines.failures import as_ours, translated, words_of
from headgate.pipelines.machine import end_machine, launch_machine
from headgate.pipelines.names import ALIAS
from headgate.pipelines.prerequisites import (
    check_connect,
    check_java,
    check_master,
    check_pyspark,
    check_remote,
    cores,
    is_local,
)
from headgate.pipelines.reporting import QUIET, Report
from headgate.pipelines.runtime_jar import runtime_jars
from headgate.pipelines.server import DELEGATION, VENDED, Server
from headgate.pipelines.signals import listen_again
from headgate.pipelines.storage import iceberg_properties, is_s3
from headgate.workers.running import is_running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG_CLASS = "org.apache.iceberg.spark.SparkCatalog"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
STARTING = "starting Spark"
LOOPBACK = "127.0.0.1"
FOLDER = "headgate-spark-"  # followed by the driver's number
SENSITIVE = "(?i)secret|password|token|(access|account)[.-]?key|authorization|credential"
HIDDEN = "-"  # for as long as a session does not know it
PINNED = {
    "spark.log.level": "ERROR",
    "spark.redaction.regex": SENSITIVE,
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

T = TypeVar("T")


class SparkOptions(msgspec.Struct, frozen=True):
    """Which Spark, and what it is told."""

    master: str = "local[*]"
    remote: str = ""
    """sc://host:port of Spark Connect; then the master is not used."""
    conf: dict[str, str] = {}
    """Properties of Spark, which win over ours."""
    jar: str = ""
    """Paths or Maven coordinates, by commas; empty: found or downloaded."""
    repository: str = ""
    """Of Maven, to download from; empty: as the user's settings of Maven say, else Central."""
    storage: dict[str, str] = {}
    """What Iceberg in Spark needs to reach files, if the server does not hand it out."""
    debug: bool = False
    """Whether all that Spark says is shown."""

    @property
    def shown_remote(self) -> str:
        """The address of Spark Connect without its parameters, of which one may be a token."""
        return mask_userinfo(self.remote.partition(";")[0])

    def __repr__(self) -> str:
        """Without the other fields, in which keys may be."""
        master = mask_userinfo(self.master)
        return f"SparkOptions(master={master!r}, remote={self.shown_remote!r})"


@contextmanager
def spark_session(
    options: SparkOptions,
    name: str,
    server: Server | None = None,
    catalog: str = "",
    *,
    iceberg: bool = False,
    report: Report = QUIET,
) -> Iterator["SparkSession"]:
    """A session for one pipeline, stopped in the end. Failures of Spark come out as ours.

    With `iceberg` the session knows the catalog of the server as `hg`, and tables of Iceberg by
    their metadata. A session that already runs in this process is used, in a session of its own
    beside it, and not stopped: a JVM is started with its jars and takes no others later.
    """
    check_pyspark()
    running = None if options.remote else _running()
    if running is None:
        check_options(options)
    opened: AbstractContextManager[SparkSession]
    known: dict[str, str] = {}
    if iceberg and server is not None and catalog:
        known = catalog_properties(server, catalog, _keys(options))
    with translated():
        if options.remote:
            opened = _connected(options)
        elif running is not None:
            opened = nullcontext(_beside(running, options, iceberg=iceberg))
        else:
            jars = _jars(options, server, catalog, report) if iceberg else []
            opened = _started(_announced(options, known), name, jars, report)
        with opened as session:
            if known:
                set_catalog(session, ALIAS, known)
            yield session


def check_options(options: SparkOptions) -> None:
    """Refuse what Spark could not start with, and a master that is not there."""
    check_pyspark()
    if options.remote:
        check_connect()
        check_remote(options.remote)
    else:
        check_master(options.master)
        check_java(os.environ)


def add_catalog(
    session: "SparkSession", name: str, server: Server, catalog: str, more: Mapping[str, str]
) -> None:
    """Let a session know a server's catalog."""
    set_catalog(session, name, catalog_properties(server, catalog, more))


def catalog_properties(server: Server, catalog: str, more: Mapping[str, str]) -> dict[str, str]:
    """A server's catalog, as whoever the server is asked by; purges are left to the server, and
    nothing is served from memory."""
    properties = {
        "uri": server.iceberg_url,
        "warehouse": server.warehouse(catalog),
        "cache-enabled": "false",
        "rest-catalog-purge": "true",
        "rest-metrics-reporting-enabled": "false",
    }
    if server.authorization:
        properties["header.Authorization"] = server.authorization
    return {**properties, **more}


def set_catalog(session: "SparkSession", name: str, properties: Mapping[str, str]) -> None:
    """Let a session know a REST catalog by a name it has not had. Secrets are set this way and not
    when Spark starts: a JVM's command line is there for everybody to read."""
    prefix = f"spark.sql.catalog.{name}"
    session.conf.set(prefix, CATALOG_CLASS)
    for option, text in {"type": "rest", **properties}.items():
        session.conf.set(f"{prefix}.{option}", text)


def settings(options: SparkOptions, jars: list[Path], folder: Path) -> dict[str, str]:
    """What Spark is started with; what the user says wins."""
    chosen = dict(PINNED)
    if jars:
        chosen["spark.jars"] = ",".join(map(str, jars))
        chosen["spark.sql.extensions"] = EXTENSIONS
    if is_local(options.master):
        here = cores(options.master, os.cpu_count() or 1)
        chosen |= {
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.local.dir": str(folder),
            "spark.sql.shuffle.partitions": str(SPARK_TASKS_PER_CORE * here),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
    return chosen | options.conf


def _keys(options: SparkOptions) -> dict[str, str]:
    """Keys to files: the caller's own, or those that the server gives."""
    return iceberg_properties(options.storage) or {f"header.{DELEGATION}": VENDED}


def _announced(options: SparkOptions, known: Mapping[str, str]) -> SparkOptions:
    """With the names of secrets that a session will know. Spark writes what it is told later into
    its event log as it is, unless it was started with something of that name."""
    names = (f"spark.sql.catalog.{ALIAS}.{name}" for name in known if re.search(SENSITIVE, name))
    return msgspec.structs.replace(options, conf=dict.fromkeys(names, HIDDEN) | options.conf)


def _jars(options: SparkOptions, server: Server | None, catalog: str, report: Report) -> list[Path]:
    location = server.catalog(catalog).location if server is not None and catalog else ""
    s3 = is_s3(location) or any(name.startswith("s3.") for name in options.storage)
    return runtime_jars(options.jar, options.repository, s3=s3, report=report)


@contextmanager
def _started(
    options: SparkOptions, name: str, jars: list[Path], report: Report
) -> Iterator["SparkSession"]:
    """A JVM of our own, with all it writes in a folder that goes with it."""
    remove_left(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
    try:
        with report.stage(mask_userinfo(f"{STARTING} on {options.master}"), is_announced=True):
            session = _start(options, name, settings(options, jars, folder), folder / "log")
        try:
            yield session
        except KeyboardInterrupt:
            end_machine()  # it may be in the middle of an answer, and is not asked anything more
            raise
        finally:
            with suppress(Exception):  # it may have died, and whoever waits wants to hear of that
                session.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def end_at_once() -> None:
    """End the Spark of this process from any thread, and remove what it wrote."""
    end_machine()
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}{os.getpid()}-*"):
        shutil.rmtree(folder, ignore_errors=True)


def remove_left(above: Path) -> None:
    """Remove the folders of drivers that were killed: they may be large, and nobody else would."""
    for folder in above.glob(f"{FOLDER}*-*"):
        pid = folder.name.removeprefix(FOLDER).partition("-")[0]
        if pid.isdigit() and not is_running(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _start(options: SparkOptions, name: str, conf: dict[str, str], log: Path) -> "SparkSession":
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else it is `python3` of the PATH
    if is_local(options.master):
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK  # else Spark looks for an address of its own
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it would show all that Spark is told
    told = SparkConf().setMaster(options.master).setAppName(f"headgate {name}")
    told.setAll(list(conf.items()))
    timer = threading.Timer(SPARK_START_SECONDS_MAX, end_machine)
    timer.daemon = True
    timer.start()
    try:
        if SparkContext._gateway is None:  # noqa: SLF001  there is no other way to catch its output
            with log.open("wb") as output:
                gateway = launch_machine(told, None if options.debug else output)
            SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001  the same
        SparkContext.getOrCreate(told)
        listen_again()
        session = SparkSession.builder.config(conf=told).getOrCreate()
    except KeyboardInterrupt:
        end_machine()
        raise
    except Exception as error:
        raise _not_started(options, error, log) from error
    finally:
        timer.cancel()
    if not is_local(options.master):
        _await_executors(session, options.master)
    return session


def _not_started(options: SparkOptions, error: Exception, log: Path) -> HeadgateError:
    said = ""
    if log.exists():
        said = log.read_bytes()[-SPARK_LOG_TAIL_BYTES:].decode(errors="replace")
    known = as_ours(error)
    why = words_of(said) if "JAVA_GATEWAY_EXITED" in str(error) and said else ""
    return Unavailable(
        f"Spark did not start on {options.master}",
        why=why or (known.why or known.what if known else str(error)),
        fix="--debug shows all that it says",
    )


def _await_executors(session: "SparkSession", master: str) -> None:
    """Run something tiny: a cluster without room would let a pipeline wait for ever."""
    has_ended = threading.Event()

    def give_up() -> None:
        wait = SPARK_EXECUTOR_SECONDS_MAX
        while not has_ended.wait(wait):
            session.sparkContext.cancelAllJobs()
            wait = 1.0  # the job may not have been there yet

    threading.Thread(target=give_up, daemon=True).start()
    try:
        session.range(1).count()
    except Exception as error:
        has_ended.set()  # before there is nothing left to be cancelled
        session.stop()
        raise Unavailable(
            f"{master} gives this pipeline no executor",
            why=f"none came within {SPARK_EXECUTOR_SECONDS_MAX:.0f} s",
            fix="Check that it has workers with free cores and memory, and spark.executor.memory",
        ) from error
    finally:
        has_ended.set()


@contextmanager
def _connected(options: SparkOptions) -> Iterator["SparkSession"]:
    """A session of a server of Spark Connect."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(options.remote)
    session = builder.config(map=dict(options.conf)).getOrCreate()
    try:
        version = _within(SPARK_START_SECONDS_MAX, lambda: session.version, options.shown_remote)
        logging.getLogger(__name__).debug("Spark Connect %s", version)
        session.conf.set("spark.sql.session.timeZone", "UTC")
        yield session
    finally:
        with suppress(Exception):
            session.stop()


def _within(seconds: float, work: Callable[[], T], who: str) -> T:
    """What comes of this, if it comes in time."""
    found: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            found.append(work())
        except Exception as error:  # noqa: BLE001  raised again below
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not found:
        raise Unavailable(
            f"Spark Connect does not answer at {who}",
            why=f"nothing came within {seconds:.0f} s",
            fix="Check that it is a server of Spark Connect",
        )
    return found[0]


def _running() -> "SparkSession | None":
    """The session that this process already has."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    has_one = SparkContext._active_spark_context is not None  # noqa: SLF001  do not start one
    return SparkSession.builder.getOrCreate() if has_one else None


def _beside(running: "SparkSession", options: SparkOptions, *, iceberg: bool) -> "SparkSession":
    """A session with names and settings of its own, in the same Spark."""
    if iceberg and EXTENSIONS not in (running.conf.get("spark.sql.extensions", "") or ""):
        raise BadSetting(
            "the Spark session of this program cannot be used",
            why="it was started without Iceberg's extensions and jar",
            fix="Stop it first, or start it with both",
        )
    session = running.newSession()
    for option, text in (PINNED | options.conf).items():
        if option.startswith("spark.sql."):  # all others are settled
            session.conf.set(option, text)
    return session
