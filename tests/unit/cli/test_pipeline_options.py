"""The options that all pipelines share."""

import subprocess
import sys

import click
import msgspec
import pytest

from headgate.cli.main import run
from headgate.cli.pipeline import pipeline
from headgate.cli.pipeline_options import PipelineRun, pipeline_options
from headgate.errors import Forbidden
from headgate.pipelines.session import SparkOptions

HEAVY = ("grpc", "numpy", "pandas", "py4j", "pyarrow", "pyspark", "requests")
RUNS: list[PipelineRun] = []


class Summary(msgspec.Struct):
    files: int


@click.command
@click.option("--fail", is_flag=True)
@pipeline_options
def example(run: PipelineRun, *, fail: bool) -> None:
    """A pipeline."""
    RUNS.append(run)
    if fail:
        raise Forbidden("not you", why="no right", fix="Ask")
    run.report.end(Summary(1_000))


@pytest.fixture(autouse=True)
def _example(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command of its own, for the time of a test."""
    RUNS.clear()
    monkeypatch.setitem(pipeline.commands, "example", example)


def test_without_options_it_is_all_local() -> None:
    """The usual server, nobody in particular, all cores."""
    assert run(["pipeline", "example"]) == 0

    [told] = RUNS
    assert told.server.url == "http://127.0.0.1:8181"
    assert told.server.authorization == ""
    assert told.spark == SparkOptions("local[*]")
    assert (told.catalog, told.storage) == ("", {})


def test_options_are_turned_into_what_pipelines_work_with() -> None:
    """All of them."""
    line = "--server http://h:1 --token t --metalake m --catalog c --master yarn --remote sc://h "
    line += "--conf a=1 --conf b=2 --jar x.jar --repository http://r --storage s3.region=eu --json"
    assert run(["pipeline", "example", *line.split()]) == 0

    [told] = RUNS
    assert (told.server.url, told.server.authorization) == ("http://h:1", "Bearer t")
    assert told.server.warehouse("c") == "m.c"
    assert told.spark == SparkOptions(
        "yarn", "sc://h", {"a": "1", "b": "2"}, "x.jar", "http://r", {"s3.region": "eu"}
    )
    assert told.needs_catalog() == "c"
    assert told.json


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("export", "--catalog"),
        ("export", "--storage"),
        ("import", "--metalake"),
        ("import", "--catalog"),
        ("purge", "--storage"),
        ("purge", "--jar"),
        ("orphans", "--jar"),
    ],
)
def test_what_a_pipeline_has_no_use_for_is_refused(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who gives it believes that it does something."""
    folder = ["x"] if command in {"export", "import"} else []
    assert run(["pipeline", command, *folder, option, "a=b"]) == 2

    assert f"no such option '{option}'" in capsys.readouterr().err


def test_secrets_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that says who you are wins over all of it."""
    environ = {"HEADGATE_TOKEN": "t", "HEADGATE_USER": "u", "HEADGATE_PASSWORD": "p"}
    monkeypatch.setattr("headgate.cli.options.environment", lambda: environ)

    assert run(["pipeline", "example"]) == run(["pipeline", "example", "--user", "me"]) == 0

    assert [told.server.authorization for told in RUNS] == ["Bearer t", "Basic bWU6cA=="]


def test_the_end_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """As facts, or as one object."""
    assert run(["pipeline", "example"]) == run(["pipeline", "example", "--json"]) == 0

    assert capsys.readouterr().out.splitlines() == ["files  1,000", '{"files":1000}']


def test_a_failure_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """With --debug the trace comes before it."""
    assert run(["pipeline", "example", "--fail"]) == 1
    plain = capsys.readouterr().err
    assert run(["pipeline", "example", "--fail", "--debug"]) == 1

    assert plain == "headgate: error: not you: no right. Ask\n"
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--conf", "x"], "--conf 'x' cannot be used: it has no ="),
        (["--storage", "s3.what=1"], "--storage 's3.what' is unknown"),
        (["--server", "nowhere"], "the address of the server cannot be used"),
    ],
)
def test_bad_options_are_refused_before_anything_starts(
    option: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2."""
    assert run(["pipeline", "example", *option]) == 2

    assert words in capsys.readouterr().err
    assert RUNS == []


def test_a_pipeline_that_needs_a_catalog_asks_for_one() -> None:
    """Not every one does."""
    run(["pipeline", "example"])

    with pytest.raises(Exception, match=r"no catalog is named\. Name one with --catalog"):
        RUNS[0].needs_catalog()


def test_help_loads_neither_spark_nor_its_friends() -> None:
    """Every command would have to wait for them, and they may not be installed."""
    program = f"import headgate.cli.main, sys; print([m for m in {HEAVY} if m in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert answer.stdout == "[]\n"
