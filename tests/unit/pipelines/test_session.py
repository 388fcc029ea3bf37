"""What a session is started with."""

import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from headgate.pipelines import session
from headgate.pipelines.reporting import Report
from headgate.pipelines.session import EXTENSIONS, SparkOptions, remove_left, settings


def test_what_the_user_says_wins() -> None:
    """Over all that is set here."""
    told = settings(SparkOptions("local[3]", conf={"spark.ui.enabled": "true"}), [], Path("tmp"))

    assert told["spark.ui.enabled"] == "true"
    assert told["spark.sql.shuffle.partitions"] == "12"
    assert told["spark.driver.host"] == "127.0.0.1"


def test_a_cluster_is_not_told_of_this_machine() -> None:
    """Its executors could not reach it; jars are shipped to them."""
    told = settings(SparkOptions("spark://h:1"), [Path("a.jar"), Path("b.jar")], Path("tmp"))

    assert (told["spark.jars"], told["spark.sql.extensions"]) == ("a.jar,b.jar", EXTENSIONS)
    assert not {"spark.driver.host", "spark.local.dir"} & set(told)


def test_secrets_are_in_no_text() -> None:
    """Options are logged at times."""
    options = SparkOptions(conf={"x": "secret"}, storage={"s3.secret-access-key": "secret"})

    assert "secret" not in repr(options)


def test_folders_of_drivers_that_were_killed_go(tmp_path: Path) -> None:
    """Those of running ones stay, and so does what is not ours."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    names = (f"headgate-spark-{ended.pid}-x", f"headgate-spark-{os.getpid()}-x", "headgate-spark-x")
    for name in names:
        (tmp_path / name / "blocks").mkdir(parents=True)

    remove_left(tmp_path)

    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(names[1:])


def test_that_spark_starts_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes seconds, and nothing else happens meanwhile."""
    stream = io.StringIO()
    monkeypatch.setattr(session, "_start", lambda *_: SimpleNamespace(stop=lambda: None))

    with session._started(SparkOptions("local[3]"), "test", [], Report(stream=stream)):
        said = stream.getvalue()

    assert said.splitlines() == ["starting Spark on local[3]…", "starting Spark on local[3]  0:00"]
