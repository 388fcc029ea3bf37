"""Purge jobs as operators see them: over HTTP and on the command line."""

import json
import subprocess
import sys
from typing import Any

from headgate.testing.headgate_server import environment
from tests.purge.lake import NAMESPACE, Lake, in_the_end

HTTP, COMMAND_LINE = "HTTP", "the command line"
JOBS_PATH = "/management/v1/jobs"

Job = dict[str, Any]


def jobs_of(lake: Lake) -> list[Job]:
    """All jobs of the scenario's catalog, the newest first."""
    query = {"metalake": lake.metalake, "catalog": lake.catalog}
    answer = lake.ask("GET", JOBS_PATH, params=query).raise_for_status()
    jobs: list[Job] = answer.json()["jobs"]
    return jobs


def job_of(lake: Lake, name: str, way: str = HTTP) -> Job:
    """All of the job of a table that was dropped."""
    [id] = [job["id"] for job in jobs_of(lake) if job["table"] == [NAMESPACE, name]]
    if way == COMMAND_LINE:
        shown: Job = json.loads(headgate(lake, "jobs", "show", id, "--json"))
    else:
        shown = lake.ask("GET", f"{JOBS_PATH}/{id}").raise_for_status().json()
    return shown


def wait_for(lake: Lake, name: str, state: str, attempts: int = 0) -> Job:
    """The job of a table when it has reached a state, after so many attempts at least."""
    seen: list[Job] = []

    def reached() -> bool:
        seen[:] = [job_of(lake, name)]
        [job] = seen
        return bool(job["state"] == state and job["attempts"] >= attempts)

    assert in_the_end(reached), seen
    return seen[0]


def steer(lake: Lake, name: str, verb: str, way: str = HTTP) -> None:
    """Do something to the job of a table: retry, cancel or undrop."""
    id = job_of(lake, name)["id"]
    if way == COMMAND_LINE:
        headgate(lake, "jobs", verb, id, *(("--yes",) if verb == "cancel" else ()))
    else:
        lake.ask("POST", f"{JOBS_PATH}/{id}/{verb}").raise_for_status()


def end_grace(lake: Lake, name: str, way: str) -> None:
    """Let the job of a table begin before its time."""
    id = job_of(lake, name)["id"]
    if way == COMMAND_LINE:
        headgate(lake, "jobs", "retry", id, "--end-grace")
    else:
        body = {"end-grace": True}
        lake.ask("POST", f"{JOBS_PATH}/{id}/retry", json=body).raise_for_status()


def headgate(lake: Lake, *arguments: str) -> str:
    """What the command line says; it is an error if it fails."""
    command = [sys.executable, "-m", "headgate", *arguments]
    done = subprocess.run(
        [*command, "--data", str(lake.server.folder / "data")],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
