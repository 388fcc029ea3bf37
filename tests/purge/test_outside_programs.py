"""Programs outside of a server that say they deleted the files of a table."""

from pathlib import Path
from typing import Any

import pytest

from headgate.testing.headgate_server import HeadgateServer
from tests.purge.jobs import JOBS_PATH, job_of
from tests.purge.lake import Lake
from tests.purge.listing import files_below

SETTINGS = ("--set", "purger.async.worker-threads=0", "--set", "purger.async.backoff-base-ms=1")


def ended(lake: Lake, name: str, *, unlink: bool) -> dict[str, Any]:
    """Claim a job and say that each stage is done, perhaps after its data is deleted; the end."""
    path = f"{JOBS_PATH}/{job_of(lake, name)['id']}"
    token = lake.ask("POST", f"{path}/claim").raise_for_status().json()["token"]
    if unlink:
        for file in lake.known[name].data:
            file.unlink()
    order: dict[str, Any] = {}
    for number in (1, 2):
        progress = {"phase": "data", "deleted": 9, "expected": 9}
        report = {"token": token, "number": number, "progress": progress, "has-ended": True}
        order = lake.ask("POST", f"{path}/report", json=report).raise_for_status().json()
        if order.get("state"):
            break
    return order


@pytest.mark.parametrize("unlink", [False, True])
def test_a_job_is_not_done_because_somebody_says_so(tmp_path: Path, unlink: bool) -> None:
    """The job says what is still there: data, or the metadata file that goes last."""
    with HeadgateServer(tmp_path, *SETTINGS) as server:
        lake = Lake(server)
        lake.create("t")
        lake.drop("t")
        order = ended(lake, "t", unlink=unlink)
        job = job_of(lake, "t")
        lake.close()
    known = lake.known["t"]

    assert order["state"] == job["state"] == "PENDING"
    assert "still there" in order["why"]
    assert ("metadata.json" in order["why"]) is unlink
    assert files_below(known.folder) == known.files - (known.data if unlink else set())
