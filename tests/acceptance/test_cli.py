"""The command line as people and scripts use it, on the embedded store and on PostgreSQL."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.conftest import EXECUTABLE, Headgate

REFUSED = [
    (["realm", "activate", "nobody"], 1, "RealmNotFound"),
    (["realm", "create", "demo"], 1, "RealmExists"),
    (["realm", "purge", "demo"], 1, "IllegalRealmMove"),
    (["realm", "delete", "demo"], 2, "BadRequest"),
    (["realm", "delete", "demo", "--yes"], 1, "IllegalRealmMove"),
    (["realm", "create", "::system::"], 2, "BadName"),
    (["realm", "create", ""], 2, "BadName"),
    (["realm", "activate", "\udcff"], 2, "BadName"),
    (["log", "--realm", "nobody"], 1, "RealmNotFound"),
    (["log", "--pointer", "nothing"], 1, "PointerNotFound"),
    (["log", "--since", "x"], 2, "InvalidInput"),
]


def test_a_realm_lives_from_create_to_delete(headgate: Headgate) -> None:
    """Each move answers with the realm in its new state, and the list agrees."""
    made = headgate.json("realm", "create", "demo")
    moves = (["deactivate"], ["activate"], ["deactivate"], ["purge", "--yes"], ["delete", "--yes"])
    states = [headgate.json("realm", *move, "demo")["state"] for move in moves]

    assert set(made) == {"id", "name", "state", "created", "changed", "properties"}
    assert (made["name"], made["state"], made["properties"]) == ("demo", "ACTIVE", {})
    assert made["created"].endswith("Z")
    assert states == ["INACTIVE", "ACTIVE", "INACTIVE", "PURGED", "DELETED"]
    assert headgate.json("realm", "list") == []


def test_a_realm_is_found_by_its_id_too(headgate: Headgate) -> None:
    """What `realm list` shows can be given to the other commands."""
    made = headgate.json("realm", "create", "demo")

    assert headgate.json("realm", "deactivate", made["id"])["name"] == "demo"


def test_people_read_sentences_and_tables(headgate: Headgate) -> None:
    """Without --json the answers are for people."""
    headgate.run("realm", "create", "gone")
    for move in (["deactivate"], ["purge", "--yes"], ["delete", "--yes"]):
        headgate.run("realm", *move, "gone")
    empty, _ = headgate.run("realm", "list")
    created, _ = headgate.run("realm", "create", "demo")
    listed, _ = headgate.run("realm", "list")
    headgate.run("realm", "deactivate", "demo")
    purged, _ = headgate.run("realm", "purge", "demo", "--yes")
    deleted, _ = headgate.run("realm", "delete", "demo", "--yes")

    assert empty == "There are no realms; `headgate realm create NAME` makes one.\n"
    assert created == "Realm 'demo' is created; it is ACTIVE.\n"
    assert [line.split()[:2] for line in listed.splitlines()] == [
        ["NAME", "STATE"],
        ["demo", "ACTIVE"],
    ]
    assert purged == "Realm 'demo' is purged; it is PURGED.\n"
    assert deleted == "Realm 'demo' is deleted; its name is free.\n"


def test_what_cannot_be_done_is_said_in_one_line(headgate: Headgate) -> None:
    """Failures have a name, a message, a fix and an exit code, and change nothing."""
    headgate.run("realm", "create", "demo")
    before = headgate.json("realm", "list"), headgate.json_lines("log")
    for command, code, error in REFUSED:
        out, text = headgate.run(*command, expect=code)
        _, line = headgate.run(*command, "--json", expect=code)
        problem = json.loads(line)["error"]

        assert out == ""
        assert text.startswith("headgate: error: ")
        assert text.count("\n") == 1
        assert problem["type"] == error, command
        assert problem["message"]
        assert problem["fix"], command
    assert (headgate.json("realm", "list"), headgate.json_lines("log")) == before


def test_the_log_tells_what_was_done(headgate: Headgate) -> None:
    """Every commit is there, in order, with what it changed."""
    headgate.run("realm", "create", "one")
    headgate.run("realm", "create", "two")
    commits = headgate.json_lines("log", "--realm", "::system::", "--pointer", "realms")
    keys = {
        entry["key"]
        for commit in commits
        for group in commit["groups"]
        for entry in group["entries"]
    }

    assert [commit["seq"] for commit in commits] == list(range(1, len(commits) + 1))
    assert [int(commit["id"]) for commit in commits] == sorted(int(one["id"]) for one in commits)
    assert {"one", "two"} <= keys
    assert {"id", "seq", "realm", "pointer", "time", "node", "groups"} == set(commits[0])


def test_the_log_can_be_read_in_pieces(headgate: Headgate) -> None:
    """`--limit` shows the last commits, and `--since` what came after one."""
    headgate.run("realm", "create", "one")
    headgate.run("realm", "create", "two")
    whole = headgate.json_lines("log")

    assert len(whole) > 3
    assert headgate.json_lines("log", "--limit", "2") == whole[-2:]
    assert headgate.json_lines("log", "--since", whole[0]["id"]) == whole[1:]
    assert headgate.json_lines("log", "--since", whole[0]["id"], "--limit", "1") == whole[1:2]
    assert headgate.json_lines("log", "--since", whole[-1]["id"]) == []


def test_the_log_is_readable(headgate: Headgate) -> None:
    """People see one line for each commit, and what it changed below."""
    headgate.run("realm", "create", "demo")
    out, _ = headgate.run("log")

    assert "::system:: realms #1  node " in out
    assert "    added    names  demo\n" in out


def test_catalogs_are_listed_created_and_changed(headgate: Headgate) -> None:
    """And the log tells it in words, and in JSON with the names as they are."""
    headgate.run("realm", "create", "default")
    assert headgate.json("catalog", "list") == []
    made = headgate.json("catalog", "create", "café")
    changed = headgate.json("catalog", "set", "café", "comment=c")
    _, err = headgate.run("catalog", "create", "café", "--json", expect=1)
    told, _ = headgate.run("log", "--pointer", "catalogs")
    entries = [
        entry
        for commit in headgate.json_lines("log", "--pointer", "catalogs")
        for entry in commit["groups"][0]["entries"]
        if entry["index"] == "names"
    ]

    assert changed == made | {"comment": "c"}
    assert headgate.json("catalog", "list") == [changed]
    assert json.loads(err)["error"]["type"] == "CatalogExists"
    assert "    catalog café was created by operator\n" in told
    assert "    added    names  catalog café\n" in told
    assert entries[0] == {
        "index": "names",
        "kind": "added",
        "key": "café",
        "names": "catalog",
        "parent": "0",
    }


def test_looking_makes_no_store(headgate: Headgate) -> None:
    """Where there is none, all commands that only read say so, each time."""
    for command in (["log"], ["realm", "list"], ["catalog", "list"], ["catalog", "show", "main"]):
        _, err = headgate.run(*command, "--json", expect=1)
        problem = json.loads(err)["error"]
        assert problem["type"] == "StoreNotFound"
        assert problem["message"].startswith("there is no store: ")
        assert f"`headgate serve {shlex.join(headgate.store[:2])}" in problem["fix"]


def test_the_log_can_be_followed(headgate: Headgate) -> None:
    """New commits appear once each while following, and a signal ends it in good order."""
    headgate.run("realm", "create", "one")
    before = headgate.json_lines("log")
    with headgate.start("log", "--follow", "--json") as follower:
        assert follower.stdout is not None
        seen = [follower.stdout.readline() for _ in before]
        headgate.run("realm", "create", "two")
        added = headgate.json_lines("log", "--since", before[-1]["id"])
        seen += [follower.stdout.readline() for _ in added]
        follower.terminate()  # an interrupt may be ignored, as under nohup
        rest, err = follower.communicate(timeout=30)

    assert [json.loads(line) for line in seen] == before + added
    assert (rest, err, follower.returncode) == ("", "", 0)


def test_a_reader_that_stops_early_is_no_failure(headgate: Headgate) -> None:
    """`headgate log | head -1` ends quietly."""
    headgate.run("realm", "create", "demo")
    with headgate.start("log", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()

    assert err == ""


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_the_embedded_store_lies_in_the_data_directory(headgate: Headgate, tmp_path: Path) -> None:
    """Without a backend everything is in `headgate.db` in the data directory."""
    headgate.run("realm", "create", "demo")

    assert (tmp_path / "data" / "headgate.db").exists()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("postgresql://nobody:secret@127.0.0.1:1/none", 1),
        ("oracle://host/database", 2),
        ("sqlite:///dev/null/x.db", 1),
        ("sqlite://[bad", 2),
        ("sqlite:///tmp/a%00b", 2),
        ("sqlite:relative.db", 2),
        ("sqlite://u:secret@h/x", 2),
        ("postgresql://user:secret/db", 1),
        ("postgresql:user:secret", 2),
    ],
)
def test_a_store_that_cannot_be_opened_is_said_in_one_line(
    headgate: Headgate, url: str, code: int
) -> None:
    """An unreachable or unknown store is named, without its password."""
    headgate.store = ["--backend", url]
    out, err = headgate.run("realm", "list", expect=code)

    assert out == ""
    assert err.startswith("headgate: error: ")
    assert err.count("\n") == 1
    assert "secret" not in err


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("output", [">&-", "> /dev/full"])
@pytest.mark.parametrize("command", ["version", "realm list", "--help"])
def test_output_that_goes_nowhere_is_a_failure(
    headgate: Headgate, command: str, output: str
) -> None:
    """A closed or full output is said in one line, without a traceback."""
    store = "" if command in {"version", "--help"} else shlex.join(headgate.store)
    done = subprocess.run(
        f"{shlex.quote(str(EXECUTABLE))} {command} {store} {output}",
        shell=True,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("headgate: error: ")
    assert done.stderr.count("\n") == 1
