"""The steps of `features/cleanup_failure.feature` that no other feature has."""

from collections.abc import Iterator
from pathlib import Path

from pytest_bdd import given, parsers, scenarios, then

from tests.purge.conftest import Servers, options
from tests.purge.jobs import job_of
from tests.purge.lake import Lake
from tests.purge.listing import files_below, obstruct

scenarios("cleanup_failure.feature")


@given(parsers.parse("a server that tries {attempts:d} times"), target_fixture="lake")
def _impatient_server(servers: Servers, attempts: int) -> Iterator[Lake]:
    quick = ("poll-interval-ms=100", "backoff-base-ms=50", "backoff-max-ms=50")
    lake = Lake(servers(*options(*quick, f"max-attempts={attempts}")))
    yield lake
    lake.close()


@given(parsers.parse("a statistics file of {name:w} cannot be deleted"), target_fixture="obstacle")
def _statistics(lake: Lake, name: str) -> Path:
    file = lake.known[name].folder / "metadata" / "statistics.puffin"
    snapshot = lake.known[name].answer["metadata"]["current-snapshot-id"]
    statistics = {
        "snapshot-id": snapshot,
        "statistics-path": f"file://{file}",
        "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1,
        "blob-metadata": [],
    }
    update = {"action": "set-statistics", "snapshot-id": snapshot, "statistics": statistics}
    body = {"requirements": [], "updates": [update]}
    lake.ask("POST", f"{lake.tables_path}/{name}", json=body).raise_for_status()
    return obstruct(file)


@then(parsers.parse("the job of {name:w} tells the file and the reason by {way}"))
def _on_the_ledger(lake: Lake, name: str, way: str, obstacle: Path) -> None:
    job = job_of(lake, name, way)
    [line] = job["ledger"]
    assert line["path"] == f"file://{obstacle}"
    assert line["why"] == "it is a folder"
    assert job["files-failed"] == 1
    assert str(obstacle) in job["error"]


@then(parsers.re(r"the job of (?P<name>\w+) counts (?P<attempts>\d+) attempts?"))
def _attempts(lake: Lake, name: str, attempts: str) -> None:
    assert job_of(lake, name)["attempts"] == int(attempts)


@then(parsers.parse("all other data files of {name:w} are gone"))
def _others_gone(lake: Lake, name: str, obstacle: Path) -> None:
    known = lake.known[name]
    assert files_below(known.folder / "data") == {obstacle / "obstacle"}


@then(parsers.parse("no data file of {name:w} is left"))
def _no_data(lake: Lake, name: str) -> None:
    assert files_below(lake.known[name].folder / "data") == set()


@then(parsers.parse("what leads to the file of {name:w} is still there"))
def _way_there(lake: Lake, name: str) -> None:
    known = lake.known[name]
    assert known.files - known.data <= files_below(known.folder)
