"""Reading what the compatibility kit reports."""

import fcntl
from pathlib import Path

import pytest

from headgate.testing import rck

REPORT = """<testsuite>
  <testcase name="good()" classname="org.iceberg.KitTests"/>
  <testcase name="left()" classname="org.iceberg.KitTests"><skipped/></testcase>
  <testcase name="bad()" classname="org.iceberg.KitTests">
    <failure message="it is not so&#10;&#9;at some.place" type="java.lang.AssertionError"/>
  </testcase>
  <testcase name="broken()" classname="org.iceberg.KitTests"><error type="x.Y"/></testcase>
</testsuite>"""


def test_a_report_is_sorted_by_outcome(tmp_path: Path) -> None:
    """What was skipped is not executed; a failure keeps its reason without the stack."""
    report = tmp_path / "report.xml"
    report.write_text(REPORT)

    result = rck.read_report(report)

    assert (result.executed, result.passed) == (3, ("KitTests.good()",))
    assert result.skipped == ("KitTests.left()",)
    assert result.failed == {
        "KitTests.bad()": "java.lang.AssertionError: it is not so",
        "KitTests.broken()": "x.Y: ",
    }


def test_the_kit_runs_once_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A second run is refused before it disturbs the first."""
    lock = tmp_path / "lock"
    monkeypatch.setattr(rck, "LOCK", lock)
    with lock.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        with pytest.raises(RuntimeError, match="runs already"):
            rck.run_kit("http://127.0.0.1:1", "main")
