"""Sessions of pipelines: in a running Spark, in one of their own, on a cluster and over Connect."""

import itertools
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headgate.errors import Forbidden, HeadgateError, TableNotFound
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.testing.headgate_server import HeadgateServer, environment
from headgate.testing.spark_session import JAVA_OPTIONS
from tests.spark.cluster import SparkCluster
from tests.spark.connect import ConnectServer

# pyspark leaves the socket of each result to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
PROGRAM_SECONDS_MAX = 200
SMALL = SparkOptions(
    "local[1]",
    conf={"spark.driver.extraJavaOptions": JAVA_OPTIONS, "spark.driver.memory": "512m"},
)
_numbers = itertools.count(1)


def program(folder: Path, options: SparkOptions, text: str) -> "subprocess.CompletedProcess[str]":
    """Run these lines in a process of their own, with `options` for their session."""
    head = f"""
import json, sys
from headgate.errors import HeadgateError
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session
import msgspec
options = msgspec.json.decode({msgspec.json.encode(options)!r}, type=SparkOptions)
"""
    file = folder / f"program{next(_numbers)}.py"
    file.write_text(head + textwrap.dedent(text))
    return subprocess.run(
        [sys.executable, str(file)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS_MAX,
    )


@pytest.fixture(name="table", scope="module")
def _table(spark: SparkSession, headgate: Server) -> str:
    """A table with three rows."""
    with spark_session(SparkOptions(), "fixture", headgate, "main", iceberg=True) as session:
        session.sql("CREATE NAMESPACE hg.s")
        session.sql("CREATE TABLE hg.s.t USING iceberg AS SELECT id FROM range(3)")
    return "hg.s.t"


def refuse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What an executor does that may not go on."""
    next(iter(batches), None)
    raise Forbidden("Location is not allowed: s3://b", why="it is not yours")


def test_a_session_that_runs_is_used_and_left_running(
    spark: SparkSession, headgate: Server, table: str
) -> None:
    """With settings and names of its own, which nobody else sees."""
    with spark_session(SparkOptions(), "test", headgate, "main", iceberg=True) as session:
        session.range(1).createOrReplaceTempView("own")
        assert session.sql(f"SELECT count(*) FROM {table}").collect()[0][0] == 3
        assert session.sparkContext is spark.sparkContext

    assert spark.range(2).count() == 2
    assert not spark.catalog.tableExists("own")
    assert spark.conf.get("spark.sql.catalog.hg", None) is None


def test_failures_come_out_as_ours(headgate: Server, table: str) -> None:
    """Of an executor, of Iceberg and of Spark itself."""
    statements = {
        "SELECT * FROM hg.s.nothing": TableNotFound,
        f"CALL hg.system.rollback_to_snapshot('{table[3:]}', 1)": HeadgateError,
        "CALL hg.system.expire_snapshots('s.nothing')": TableNotFound,
    }
    for statement, kind in statements.items():
        with (
            pytest.raises(kind) as refused,
            spark_session(SparkOptions(), "test", headgate, "main", iceberg=True) as session,
        ):
            session.sql(statement)
        assert "\n" not in str(refused.value)

    with (
        pytest.raises(Forbidden, match=r"^Location is not allowed: s3://b: it is not yours$"),
        spark_session(SparkOptions(), "test") as session,
    ):
        session.range(1).mapInArrow(refuse, "id long").collect()


def test_tasks_of_a_stage_are_shown(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While Spark works on it."""
    monkeypatch.setattr("headgate.pipelines.reporting.REPORT_LINE_SECONDS", 0.01)

    with Report().stage("counting", spark=spark) as stage:
        while stage.tasks is None:
            stage.advance(rows=spark.range(1000).repartition(2).count())
        ended, all_of = stage.tasks

    assert 0 < ended <= all_of
    assert " tasks  " in capsys.readouterr().err


def test_a_session_of_its_own_says_nothing_and_leaves_nothing(
    tmp_path: Path, server: HeadgateServer, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python on executors is the driver's, secrets are on no command line, and what Spark writes
    of itself is gone in the end."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = program(
        tmp_path,
        SMALL,
        f"""
        import psutil, pyarrow as pa
        server = Server({server.url!r}, token="very-secret")
        def where(batches):
            for batch in batches:
                yield pa.RecordBatch.from_pydict({{"path": [sys.executable]}})
        with spark_session(options, "test", server, "main", iceberg=True) as session:
            told = {{
                "rows": session.sql("SELECT count(*) FROM {table}").collect()[0][0],
                "python": session.range(1).mapInArrow(where, "path string").collect()[0][0],
                "lines": [one.cmdline() for one in psutil.Process().children()],
                "conf": session.sql("SET").collect(),
            }}
        print(json.dumps(told))
        """,
    )

    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["rows"], told["python"]) == (3, sys.executable)
    assert any("java" in line[0] for line in told["lines"])
    assert "very-secret" not in done.stdout
    assert list(tmp_path.glob("headgate-spark-*")) == []


def test_secrets_are_in_no_log(server: HeadgateServer, tmp_path: Path) -> None:
    """Neither in events of Spark, which clusters keep for long, nor in what `--debug` shows."""
    events = tmp_path / "events"
    events.mkdir()
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{events}"}
    names = ("s3.secret-access-key", "s3.session-token", "gcs.service-account-key")
    options = msgspec.structs.replace(
        SMALL,
        conf={**SMALL.conf, **logged, "spark.eventLog.compress": "false"},
        storage=dict.fromkeys((*names, "azure.account-key"), "plain-text"),
        debug=True,
    )
    text = f"""
    import logging
    logging.basicConfig(level=logging.DEBUG)
    server = Server({server.url!r}, token="plain-text")
    with spark_session(options, "test", server, "main", iceberg=True) as spark:
        assert spark.conf.get("spark.sql.catalog.hg.s3.session-token") == "plain-text"
        spark.sql("CREATE NAMESPACE hg.secret")
        spark.sql("CREATE TABLE hg.secret.t AS SELECT 1 AS id")
        spark.sql("SELECT * FROM hg.secret.t").collect()
    """
    done = program(tmp_path, options, text)
    kept = [file.read_text() for file in events.rglob("events_*")]

    assert done.returncode == 0, done.stderr
    assert any("hg.secret.t" in file for file in kept)
    assert not any("plain-text" in file for file in (*kept, done.stdout, done.stderr))


def test_a_spark_that_does_not_start_says_why(tmp_path: Path) -> None:
    """In one line, out of all that Java writes."""
    done = program(
        tmp_path,
        SparkOptions("yarn"),
        """
        try:
            with spark_session(options, "test"):
                pass
        except HeadgateError as error:
            print(type(error).__name__, error)
        """,
    )

    assert done.stderr == ""
    [line] = done.stdout.splitlines()
    assert line.startswith("Unavailable Spark did not start on yarn: ")
    assert "HADOOP_CONF_DIR" in line


def test_a_cluster_runs_what_is_sent_to_it(
    tmp_path: Path, cluster: SparkCluster, server: HeadgateServer, table: str
) -> None:
    """Executors of their own processes, which find Headgate; one that is killed is replaced, and
    nothing is lost. One that has no room is not waited for, as Spark alone would for ever."""
    done = program(
        tmp_path,
        cluster.options(),
        f"""
        from headgate.pipelines import session as sessions
        import os, signal, psutil, pyarrow as pa
        from headgate.errors import Forbidden
        def once(batches):
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    mark = {str(tmp_path)!r} + "/killed"
                    if number == 7 and not os.path.exists(mark):
                        open(mark, "x").close()
                        executor = psutil.Process().parent()
                        while "java" not in executor.name():
                            executor = executor.parent()
                        executor.kill()
                yield batch
        server = Server({server.url!r})
        conf = options.conf | {{"spark.executor.memory": "64g"}}
        large = msgspec.structs.replace(options, conf=conf)
        patience, sessions.SPARK_EXECUTOR_SECONDS_MAX = sessions.SPARK_EXECUTOR_SECONDS_MAX, 1.0
        try:
            with spark_session(large, "test", iceberg=True):
                pass
        except HeadgateError as error:
            refusal = str(error)
        sessions.SPARK_EXECUTOR_SECONDS_MAX = patience
        with spark_session(options, "test", server, "main", iceberg=True) as session:
            rows = session.range(0, 20, 1, 4).mapInArrow(once, "id long").collect()
            count = session.sql("SELECT count(*) FROM {table}").collect()[0][0]
        print(json.dumps([sorted(row[0] for row in rows), count, refusal]))
        """,
    )

    assert (done.returncode, done.stderr) == (0, "")
    rows, count, refusal = json.loads(done.stdout)
    assert (rows, count) == (list(range(20)), 3)
    assert (tmp_path / "killed").exists()
    assert refusal.startswith(
        f"{cluster.url} gives this pipeline no executor: none came within 1 s"
    )


def test_spark_connect_does_the_same(
    tmp_path: Path, connect_server: ConnectServer, server: HeadgateServer, table: str
) -> None:
    """SQL through the catalog, DataFrames, Python on executors, stages, and failures as ours."""
    done = program(
        tmp_path,
        connect_server.options,
        f"""
        import pyarrow as pa
        from pyspark.sql import functions as F
        from headgate.errors import Forbidden
        from headgate.pipelines.reporting import Report
        def refuse(batches):
            raise Forbidden("Location is not allowed: s3://b", why="it is not yours")
        def double(batches):
            for batch in batches:
                yield pa.RecordBatch.from_pydict({{"id": [2 * n.as_py() for n in batch.column(0)]}})
        server = Server({server.url!r})
        try:
            with spark_session(options, "test", server, "main", iceberg=True) as session:
                with Report(is_quiet=True).stage("doubling", spark=session) as stage:
                    found = session.table("{table}").mapInArrow(double, "id long")
                    rows = found.where(F.col("id") > 0).collect()
                    stage.advance(rows=len(rows))
                print(json.dumps(sorted(row[0] for row in rows)))
                session.range(1).mapInArrow(refuse, "id long").collect()
        except Forbidden as error:
            print(error)
        """,
    )

    assert done.stdout.splitlines() == [
        "[2, 4]",
        "Location is not allowed: s3://b: it is not yours",
    ]
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("options", "path", "code", "words"),
    [
        ((), "/nowhere", 2, "Java was not found: it is not in the PATH. Install Java 17"),
        (("--master", "lokal"), None, 2, "master 'lokal' cannot be used: Spark knows no such"),
        (("--master", "spark://127.0.0.1:1"), None, 1, "cannot be reached: nothing answers there"),
        (("--remote", "sc://127.0.0.1:1"), None, 1, "Spark Connect cannot be reached at 127."),
        (("--server", "http://127.0.0.1:1"), None, 1, "the server at http://127.0.0.1:1 cannot be"),
    ],
)
def test_a_command_that_cannot_begin_says_why_in_one_line(
    server: HeadgateServer, options: tuple[str, ...], path: str | None, code: int, words: str
) -> None:
    """Before anything is started, changed or written."""
    environ = {name: text for name, text in environment().items() if name != "JAVA_HOME"}
    if path is not None:
        environ["PATH"] = path
    line = ["pipeline", "inventory", "--server", server.url, "--catalog", "main", *options]

    done = subprocess.run(
        [sys.executable, "-m", "headgate", *line],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS_MAX,
    )

    [told] = done.stderr.splitlines()
    assert told.startswith("headgate: error: ")
    assert words in told
    assert (done.returncode, done.stdout) == (code, "")
