"""The audit of a real server that checks rights."""

import json
import stat
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer

NAMESPACES = "/iceberg/v1/default.main/namespaces"
ADMIN = ("root", "a-secret-of-root")
GUARDED = (
    *("--set", "authorization.enabled=true"),
    *("--set", "authorization.service-admins=root"),
    *("--set", "audit.sampling=1"),
)


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def decided(found: list[Any]) -> list[tuple[str, str, list[str], bool]]:
    return [(one["principal"], one["action"], one["object"], one["allowed"]) for one in found]


@pytest.mark.parametrize("processes", ["1", "2"])
def test_decisions_are_recorded(tmp_path: Path, processes: str) -> None:
    """A change, a read and two refusals, by name and without any secret; all before it ends."""
    with HeadgateServer(tmp_path, *GUARDED, "--processes", processes) as server:
        with httpx.Client(base_url=server.url) as client:
            new = {"namespace": ["a"]}
            made = client.post(NAMESPACES, json=new, auth=ADMIN).raise_for_status()
            client.get(f"{NAMESPACES}/a", auth=ADMIN).raise_for_status()
            refused = client.get(f"{NAMESPACES}/a", auth=("eve\n", "a-secret-of-eve"))
            assert refused.status_code == 403
        file = tmp_path / "data" / "audit.log"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = lines(file)

    assert sorted(decided(found)) == [
        ("eve\n", "loadMetalake", [], False),
        ("root", "createSchema", ["main"], True),
        ("root", "loadSchema", ["main", "a"], True),
    ]
    [change] = [one for one in found if one["action"] == "createSchema"]
    assert change["request"] == made.headers["x-request-id"]
    assert "a-secret-of" not in file.read_text()


def test_refused_logins_are_recorded(tmp_path: Path) -> None:
    """Each kind once and then by its number: passwords, secrets and tokens, without any of them."""
    methods = ("--set", "authentication.methods=basic,token")
    with HeadgateServer(tmp_path, *GUARDED, *methods) as server:
        with httpx.Client(base_url=server.url) as client:
            wrong = [client.get(NAMESPACES, auth=("eve\n", "a-secret-of-eve")) for _ in range(3)]
            bearer = {"authorization": "Bearer a-secret-of-adam"}
            wrong += [client.get(NAMESPACES, headers=bearer), client.get(NAMESPACES)]
            form = {
                "grant_type": "client_credentials",
                "client_id": "abel",
                "client_secret": "a-secret-of-abel",
            }
            wrong.append(client.post("/iceberg/v1/oauth/tokens", data=form))
        file = tmp_path / "data" / "audit.log"
    assert [one.status_code for one in wrong] == [401] * 6
    found = lines(file)

    assert {one["action"] for one in found} == {"login"}
    assert {one["address"] for one in found} == {"127.0.0.1"}
    assert sorted((one["principal"], one["why"], one.get("times", 1)) for one in found) == [
        ("", "credentials", 1),
        ("abel", "unknown user", 1),
        ("eve\\n", "unknown user", 1),
        ("eve\\n", "unknown user", 2),
    ]
    assert "a-secret-of" not in file.read_text()


def test_a_file_that_is_moved_away_is_made_anew(tmp_path: Path) -> None:
    """While the server runs: nothing is lost and nothing twice."""
    with HeadgateServer(tmp_path, *GUARDED) as server:
        file = tmp_path / "data" / "audit.log"
        with httpx.Client(base_url=server.url, auth=ADMIN) as client:
            before = client.post(NAMESPACES, json={"namespace": ["a"]}).raise_for_status()
            while not file.read_text():
                threading.Event().wait(0.01)
            moved = file.rename(tmp_path / "audit.log.1")
            after = client.post(NAMESPACES, json={"namespace": ["b"]}).raise_for_status()

    assert [one["request"] for one in lines(moved)] == [before.headers["x-request-id"]]
    assert [one["request"] for one in lines(file)] == [after.headers["x-request-id"]]
