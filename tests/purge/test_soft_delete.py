"""The steps of `features/soft_delete.feature` that no other feature has."""

from collections.abc import Iterator

from pytest_bdd import given, parsers, scenarios, then, when

from tests.purge.conftest import PATIENT, Servers, options
from tests.purge.jobs import JOBS_PATH, end_grace, job_of, jobs_of, steer
from tests.purge.lake import NAMESPACE, Lake

UNITS_MS = {"hour": 3_600_000, "second": 1_000}
OPEN = {"PENDING", "RUNNING", "DEAD_LETTER"}

scenarios("soft_delete.feature")


@given(parsers.parse("a server with a grace period of 1 {unit:w}"), target_fixture="lake")
def _lake_with_grace(servers: Servers, unit: str) -> Iterator[Lake]:
    lake = Lake(servers(*options(*PATIENT, f"grace-period-ms={UNITS_MS[unit]}")))
    yield lake
    lake.close()


@when(parsers.parse("the drop of {name:w} is taken back by {way}"))
def _undrop(lake: Lake, name: str, way: str) -> None:
    steer(lake, name, "undrop", way)


@when(parsers.parse("the drop of {name:w} is taken back as {other:w}"))
def _undrop_as(lake: Lake, name: str, other: str) -> None:
    wanted = {"name": [NAMESPACE, other]}
    url = f"{JOBS_PATH}/{job_of(lake, name)['id']}/undrop"
    lake.ask("POST", url, json=wanted).raise_for_status()


@when(parsers.parse("the grace period of {name:w} is ended by {way}"))
def _end_grace(lake: Lake, name: str, way: str) -> None:
    end_grace(lake, name, way)


@then(parsers.parse("the drop of {name:w} cannot be taken back: {why}"))
def _refused(lake: Lake, name: str, why: str) -> None:
    answer = lake.ask("POST", f"{JOBS_PATH}/{job_of(lake, name)['id']}/undrop")
    assert answer.status_code == 409
    assert why in answer.json()["error"]["message"]


@then(parsers.parse("{name:w} is exactly as it was"))
def _as_it_was(lake: Lake, name: str) -> None:
    assert lake.load(name) == lake.known[name].answer
    assert lake.ids(name) == lake.known[name].ids


@then(parsers.parse("{other:w} is exactly as the old {name:w} was"))
def _other_as_it_was(lake: Lake, other: str, name: str) -> None:
    known = lake.known[f"old {name}"]
    assert lake.load(other) == known.answer
    assert lake.ids(other) == known.ids


@then(parsers.parse("the job of {name:w} is {state:w}"))
def _job_is(lake: Lake, name: str, state: str) -> None:
    assert job_of(lake, name)["state"] == state


@then("no job is open")
def _no_job(lake: Lake) -> None:
    assert [job for job in jobs_of(lake) if job["state"] in OPEN] == []
