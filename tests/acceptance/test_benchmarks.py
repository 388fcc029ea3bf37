"""The benchmarks run, and report what they promise; how fast it is depends on the machine."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from benchmarks import kernel
from benchmarks.__main__ import main
from benchmarks.authz.goals import GOALS as AUTHZ_GOALS
from benchmarks.pipelines import suite as pipelines
from benchmarks.pipelines.turns import take_turns
from benchmarks.purge.goals import GOALS as PURGE_GOALS
from benchmarks.purge.memory import memory_folder
from benchmarks.report import GOALS, table
from benchmarks.rest import suite as rest
from benchmarks.rest.goals import GOALS as REST_GOALS
from benchmarks.rest.jobs import holds
from headgate.errors import BadSetting
from headgate.testing import maven

ROOT = Path(__file__).parents[2]
COUNTS = (
    "contended_failed",
    "two_process_failed",
    "postgresql_contended_failed",
    "postgresql_two_process_failed",
    "distinct_failed",
    "postgresql_distinct_failed",
)
FIGURES = (
    "contended_commits_per_second",
    "group_commit_speedup",
    "two_process_commits_per_second",
    "two_process_worst_wait_seconds",
    "postgresql_contended_commits_per_second",
    "commit_ms_1e3",
    "commit_ms_1e6",
    "commit_ratio",
    "bytes_written_per_commit_1e6",
    "bytes_written_worst_1e6",
    "lookup_us_1e3",
    "lookup_us_1e6",
    "children_ms_1e3",
    "children_ms_1e6",
    "children_ratio",
    "pointer_batch_read_us",
    "raw_batch_read_us",
    "pointer_read_ratio",
)
REST_COUNTS = (
    "load_table_failed",
    "load_table_failed_bound",
    "load_table_failed_reference",
    "commit_failed",
    "commit_failed_reference",
    "load_growth_failed",
    "tree_failed",
    "tree_failed_reference",
)
REST_FIGURES = (
    "load_table_rps",
    "load_table_rps_reference",
    "load_table_rps_bound",
    "load_table_p99_ms",
    "load_table_p99_ms_reference",
    "commit_rps",
    "commit_rps_reference",
    "commit_ms_10k_snapshots",
    "commit_ms_1_snapshot",
    "load_growth",
    "start_seconds",
    "idle_rss_mb",
)
PURGE_COUNTS = ("drop_failed", "serving_failed", "files_left", "iceberg_files_left")
PURGE_FIGURES = (
    "drop_p99_ms_small",
    "drop_p99_ms_500k",
    "drop_ratio",
    "drop_p99_ms_concurrent",
    "purge_files_per_second",
    "iceberg_files_per_second",
    "rm_files_per_second",
    "serving_slowdown",
    "worker_rss_mb_500k",
)
AUTHZ_COUNTS = (
    "revoke_to_refused_requests",
    "grant_to_allowed_requests",
    "revoke_failed",
    "rates_failed",
)
AUTHZ_FIGURES = (
    "load_table_on_off",
    "list_on_off",
    "check_us_1k_policies",
    "check_us_100k_policies",
    "check_growth",
    "pycasbin_ratio",
    "requests_after_revokes",
)


def test_the_kernel_suite_reports_every_figure(tmp_path: Path) -> None:
    """One JSON object on standard output, no failed commit, a plot, and a table of all goals."""
    plot = tmp_path / "kernel.svg"
    options = ["--smoke", "--quick", "--json", "--plot", str(plot)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "kernel", *options],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["scale"] == "smoke"
    assert {key: figures[key] for key in COUNTS} == dict.fromkeys(COUNTS, 0)
    assert [key for key in FIGURES if not figures[key] > 0] == []
    assert plot.read_text("utf-8").count("<svg") == 1
    assert len(table(figures).splitlines()) == len(GOALS) + 1


def test_the_rest_suite_reports_every_figure(tmp_path: Path) -> None:
    """Ours, the reference and the bound answer all requests rightly; a warm load reads once."""
    plot = tmp_path / "rest.svg"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "rest", "--smoke", "--json", "--plot", str(plot)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["scale"] == "smoke"
    assert {key: figures[key] for key in REST_COUNTS} == dict.fromkeys(REST_COUNTS, 0), figures
    assert [key for key in REST_FIGURES if not figures[key] > 0] == []
    assert figures["reads_per_load"] == 1
    assert plot.read_text("utf-8").count("<svg") == 1
    assert len(table(figures, REST_GOALS).splitlines()) == len(REST_GOALS) + 1


def test_the_authz_suite_reports_every_figure(tmp_path: Path) -> None:
    """A warm load reads once, a new caller's rights are few reads, none outlives its revoke."""
    plot = tmp_path / "authz.svg"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "authz", "--smoke", "--json", "--plot", str(plot)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["scale"] == "smoke"
    assert {key: figures[key] for key in AUTHZ_COUNTS} == dict.fromkeys(AUTHZ_COUNTS, 0), figures
    assert [key for key in AUTHZ_FIGURES if not figures[key] > 0] == []
    assert figures["reads_per_authorization_warm"] == 1
    assert 1 < figures["reads_per_authorization_cold"] <= 3
    assert figures["reads_cold_process"] >= figures["reads_cold_process_off"]
    assert plot.read_text("utf-8").count("<svg") == 1
    assert len(table(figures, AUTHZ_GOALS).splitlines()) == len(AUTHZ_GOALS) + 1


def test_the_purge_suite_reports_every_figure(tmp_path: Path) -> None:
    """All drops are answered rightly, and neither ours nor Iceberg's purge leaves a file."""
    plot = tmp_path / "purge.svg"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "purge", "--smoke", "--json", "--plot", str(plot)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["scale"] == "smoke"
    assert {key: figures[key] for key in PURGE_COUNTS} == dict.fromkeys(PURGE_COUNTS, 0), figures
    assert [key for key in PURGE_FIGURES if not figures[key] > 0] == []
    assert plot.read_text("utf-8").count("<svg") == 1
    assert len(table(figures, PURGE_GOALS).splitlines()) == len(PURGE_GOALS) + 1


def test_ours_and_theirs_take_turns() -> None:
    """Who begins changes, and turns are compared one by one: a busy machine is so for both."""
    order: list[str] = []

    def taken(who: str, figures: list[float], number: int) -> float:
        order.append(f"{who}{number}")
        return figures[number]

    compared = take_turns(
        "turns", 3, partial(taken, "o", [4.0, 9.0, 30.0]), partial(taken, "t", [2.0, 3.0, 30.0])
    )

    assert order == ["o0", "t0", "t1", "o1", "o2", "t2"]
    assert (compared.middle, compared.ratio) == ((9.0, 3.0), 2.0)


def test_content_is_compared_and_not_only_its_size() -> None:
    """An answer holds what is wanted if no member and no element of a list differs or lacks."""
    answer = {"metadata": {"location": "here", "properties": {"a": "1", "b": "2"}}, "names": [1, 2]}

    assert holds(answer, {"metadata": {"properties": {"a": "1"}}, "names": [2, 1]})
    assert not holds(answer, {"metadata": {"properties": {"a": "2"}}})
    assert not holds(answer, {"metadata": {"properties": {"c": "1"}}})
    assert not holds(answer, {"names": [1]})


def test_an_unknown_suite_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever names none, or one that does not exist, is told which there are."""
    assert (main([]), main(["nothing"])) == (2, 2)
    assert "{authz,fixture,kernel,pipelines,purge,rest,swarm}" in capsys.readouterr().err


def test_too_little_memory_is_named() -> None:
    """Whoever has no room for the files is told so before any is made."""
    with pytest.raises(RuntimeError, match="1,000,000,000,000 files need more"):
        memory_folder(10**12, 1).__enter__()
    with pytest.raises(RuntimeError, match="1,000,000,000,000 are needed"):
        memory_folder(1, 10**12).__enter__()


def test_missing_java_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without Java the suite says so in one line, before it measures anything."""

    def find_nothing() -> str:
        raise RuntimeError("`java` was not found: install it")

    monkeypatch.setattr(maven, "java", find_nothing)

    assert rest.main(["--quick"]) == 2
    assert capsys.readouterr().err == "benchmarks: `java` was not found: install it\n"


def test_missing_spark_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without Spark the suite of pipelines says so in one line, before it measures anything."""

    def refuse(_: object) -> None:
        raise BadSetting("Spark cannot start", why="there is no Java", fix="Install it")

    monkeypatch.setattr(pipelines, "check_options", refuse)

    assert pipelines.main(["--quick"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("benchmarks: Spark cannot start")
    assert said.count("\n") == 1


def test_a_missing_server_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without PostgreSQL the suite says so in one line, before it measures anything."""

    def find_nothing() -> Path:
        raise RuntimeError("no PostgreSQL server was found: install one")

    monkeypatch.setattr(kernel, "find_binaries", find_nothing)

    assert kernel.main(["--quick"]) == 2
    assert capsys.readouterr().err == "benchmarks: no PostgreSQL server was found: install one\n"
