"""The process that drives Spark for purges."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from headgate.pipelines import purge_driver
from headgate.pipelines.session import SparkOptions
from headgate.workers.serving import Job


def test_spark_is_stopped_before_its_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later it would wait for ever for a thread that is gone, and its JVM with it."""
    said: list[str] = []

    @contextmanager
    def session(options: SparkOptions, name: str) -> Iterator[str]:
        said.append(f"{name} on {options.master}")
        yield "a session"
        said.append("stopped")

    def live(jobs: dict[bytes, Job], is_over: object, allowance: object) -> None:
        assert allowance is None  # a JVM would inherit what is set
        driver = jobs[b"delete"].__self__  # type: ignore[attr-defined]
        options = msgspec.json.encode(SparkOptions("local[1]"))
        driver._start(options)
        said.append("nobody asks any more")

    monkeypatch.setattr(purge_driver, "spark_session", session)
    monkeypatch.setattr(purge_driver, "live", live)
    purge_driver.main()

    assert said == ["headgate purge on local[1]", "nobody asks any more", "stopped"]
