"""`headgate doctor`: what it finds, and that it changes nothing."""

import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.cli import doctor, port
from headgate.cli.main import run
from headgate.clock import NS_PER_MS, SystemClock
from tests.unit.cli.doctors import Capture, failures, looked, make_store


class LateClock(SystemClock):
    """The machine's clock, an hour behind."""

    def _machine(self) -> tuple[int, int]:
        wall_ns, stopwatch_ns = super()._machine()
        return wall_ns - 3_600_000 * NS_PER_MS, stopwatch_ns


@pytest.fixture(autouse=True)
def free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual port may be in use on the machine that runs the tests."""
    monkeypatch.setattr("headgate.cli.options.environment", lambda: {"HEADGATE_HTTP_PORT": "0"})


def test_a_healthy_store(capsys: Capture, tmp_path: Path) -> None:
    """Everything is looked at, each with a sentence."""
    elsewhere = tmp_path / "elsewhere"
    make_store(tmp_path, elsewhere.as_uri())
    found = looked(capsys, tmp_path)

    assert set(found) == {
        *("versions", "settings", "access", "purges"),
        *("disk", "port", "database", "clock", "storage"),
    }
    assert found["access"] == [(True, "everybody is believed, rights are not checked")]
    assert "takes writes" in found["database"][0][1]
    assert "not behind the newest commit" in found["clock"][0][1]
    assert [text.split()[2] for _, text in found["storage"]] == [
        (tmp_path / "w").as_uri(),
        elsewhere.as_uri(),
    ]
    assert list(elsewhere.iterdir()) == []


def test_people_read_a_line_for_each_finding(capsys: Capture, tmp_path: Path) -> None:
    """What is wrong stands out."""
    make_store(tmp_path)
    arguments = ["doctor", "--data", str(tmp_path)]
    assert run(arguments) == 0
    well = capsys.readouterr().out.splitlines()
    assert run([*arguments, "--set", "schema.separator=/"]) == 1
    ill = capsys.readouterr().out.splitlines()

    assert {line.split()[0] for line in well} == {"ok"}
    assert [line.split()[1] for line in ill if line.startswith("FAIL")] == ["settings"]


@pytest.mark.parametrize("folder", ["", "new/folder"])
def test_a_store_that_is_not_there_is_not_made(
    capsys: Capture, tmp_path: Path, folder: str
) -> None:
    """It is said that it will be, and that it can be."""
    found = looked(capsys, tmp_path / folder)

    [(ok, text)] = found["database"]
    assert ok
    assert text == (
        f"{tmp_path / folder / 'headgate.db'} is not there; `headgate serve` makes it, "
        f"and {tmp_path} can be written"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_named_by_a_url_is_not_made_either(capsys: Capture, tmp_path: Path) -> None:
    """Its path may be encoded."""
    found = looked(capsys, tmp_path, "--backend", f"sqlite://{tmp_path}/a%20b.db")

    assert f"{tmp_path}/a b.db is not there" in found["database"][0][1]
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(capsys: Capture, tmp_path: Path) -> None:
    """Nothing can be made below a file."""
    (tmp_path / "file").write_text("")
    found = looked(capsys, tmp_path / "file" / "data", healthy=False)

    assert failures(found) == {"database"}
    assert f"{tmp_path / 'file'} cannot be written" in found["database"][0][1]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("schema.separator=/", "Separator '/' is not allowed"),
        ("token.secret=short", "shorter than 32 bytes"),
    ],
)
def test_settings_that_serve_refuses_are_found(
    capsys: Capture, tmp_path: Path, setting: str, words: str
) -> None:
    """They fit their types, so only somebody who uses them can tell."""
    found = looked(capsys, tmp_path, "--set", setting, healthy=False)

    assert failures(found) == {"settings"}
    assert words in found["settings"][0][1]


@pytest.mark.parametrize(
    "backend", ["postgresql://u:secret@127.0.0.1:1/none", "oracle://host/x", "sqlite:relative"]
)
def test_a_database_that_cannot_be_opened_is_a_finding(
    capsys: Capture, tmp_path: Path, backend: str
) -> None:
    """And not the end of looking; passwords are not shown."""
    found = looked(capsys, tmp_path, "--backend", backend, healthy=False)

    assert failures(found) == {"database"}
    assert "secret" not in found["database"][0][1]


def test_a_database_that_is_broken_is_a_finding(capsys: Capture, tmp_path: Path) -> None:
    """A file that is no database."""
    (tmp_path / "headgate.db").write_text("no database at all" * 100)
    found = looked(capsys, tmp_path, healthy=False)

    assert failures(found) == {"database"}


def test_a_clock_that_is_behind_is_the_clock_s_finding(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database answers, and everything else is still looked at."""
    make_store(tmp_path)
    monkeypatch.setattr("headgate.wiring.SystemClock", LateClock)
    found = looked(capsys, tmp_path, healthy=False)

    assert failures(found) == {"clock"}
    assert "behind the newest commit" in found["clock"][0][1]
    assert "takes no writes with this clock" in found["database"][0][1]
    assert "storage" in found


def test_every_place_of_a_catalog_is_tried(capsys: Capture, tmp_path: Path) -> None:
    """Not only its warehouse."""
    (tmp_path / "file").write_text("")
    make_store(tmp_path, (tmp_path / "file" / "x").as_uri(), (tmp_path / "good").as_uri())
    found = looked(capsys, tmp_path, healthy=False)

    assert [ok for ok, _ in found["storage"]] == [True, False, True]
    assert "catalog default.main: " in found["storage"][1][1]
    assert failures(found) == {"storage"}


def test_a_store_without_realms_has_no_storage_to_try(capsys: Capture, tmp_path: Path) -> None:
    """That is no failure."""
    found = looked(capsys, tmp_path, "--backend", "memory:")

    assert found["storage"] == [(True, "the store is empty; `headgate serve` fills it")]


def test_a_key_that_others_can_read_is_found(capsys: Capture, tmp_path: Path) -> None:
    """Each key has a finding of its own."""
    keys = tmp_path / "keys"
    keys.mkdir()
    for name, mode in (("a", 0o600), ("b", 0o640)):
        (keys / name).touch()
        (keys / name).chmod(mode)
    found = looked(capsys, tmp_path, healthy=False)

    assert [ok for ok, _ in found["keys"]] == [True, False]
    assert "mode 640" in found["keys"][1][1]


def test_a_database_that_others_can_read_is_found(capsys: Capture, tmp_path: Path) -> None:
    """A new one is not; its directory is for its owner only too."""
    data = tmp_path / "data"
    make_store(data)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (data, *data.glob("*.db*"))}
    looked(capsys, data)
    (data / "headgate.db").chmod(0o644)
    found = looked(capsys, data, healthy=False)

    assert modes.pop("data") == 0o700
    assert set(modes.values()) == {0o600}
    assert failures(found) == {"database"}
    assert "headgate.db can be used by others (mode 644); run chmod 600" in found["database"][0][1]


def test_a_lake_that_was_moved_is_found(capsys: Capture, tmp_path: Path) -> None:
    """Its tables name the place where they were; nothing is made there."""
    make_store(tmp_path / "old")
    (tmp_path / "old" / "w").mkdir()
    (tmp_path / "old").rename(tmp_path / "new")
    found = looked(capsys, tmp_path / "new", healthy=False)

    assert failures(found) == {"storage"}
    assert f"{tmp_path}/old/w is not there, and {tmp_path}/new/w is" in found["storage"][0][1]
    assert not (tmp_path / "old").exists()


def test_keys_that_cannot_be_listed_are_found(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor may be run by another user than the server."""
    listed = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path == tmp_path / "keys":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    found = looked(capsys, tmp_path, healthy=False)

    assert failures(found) == {"keys"}
    assert "Permission denied" in found["keys"][0][1]


def test_a_full_disk_is_found(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a commit finds out."""
    monkeypatch.setattr(doctor, "FREE_BYTES_WANTED", 1 << 62)

    assert failures(looked(capsys, tmp_path, healthy=False)) == {"disk"}


def test_a_slow_database_is_found(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every request would wait for it."""
    monkeypatch.setattr(doctor, "READ_SECONDS_WANTED", -1.0)
    make_store(tmp_path)

    assert failures(looked(capsys, tmp_path, healthy=False)) == {"database"}


def test_a_port_of_another_program_is_found(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not answer as a Headgate does."""
    monkeypatch.setattr(port, "ANSWER_SECONDS_MAX", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        found = looked(capsys, tmp_path, "--set", f"http.port={number}", healthy=False)

    assert failures(found) == {"port"}
    assert "another program listens there" in found["port"][0][1]


@pytest.mark.parametrize("host", ["::1", "localhost", "0.0.0.0"])
def test_any_kind_of_address_can_be_tried(capsys: Capture, tmp_path: Path, host: str) -> None:
    """Names, and addresses of both families."""
    found = looked(capsys, tmp_path, "--set", f"http.host={host}")

    assert found["port"] == [(True, f"{host}:0 is free")]


def test_several_who_vouch_for_the_same_names_are_told(tmp_path: Path, capsys: Capture) -> None:
    """That is no fault, but worth to be known; a single one is not worth a line."""
    issuer = "authentication.oidc.issuers=https://a.example=https://a.example/jwks"
    oidc = ["--set", issuer, "--set", "authentication.oidc.audience=headgate"]
    make_store(tmp_path)
    alone = looked(capsys, tmp_path, *oidc, "--set", "authentication.methods=oidc")
    both = looked(capsys, tmp_path, *oidc, "--set", "authentication.methods=oidc,basic")

    assert "users" not in alone
    [(ok, text)] = both["users"]
    assert ok
    assert "https://a.example and Headgate itself vouch for the same names" in text


CHECKED = ("--set", "authorization.enabled=true", "--set")


def test_access_that_nobody_or_anybody_has_is_warned_of(capsys: Capture, tmp_path: Path) -> None:
    """It may be meant, so the store is healthy."""
    make_store(tmp_path)
    admins = ("--set", "authorization.service-admins=ann,bob")
    open_to_all = looked(capsys, tmp_path, *CHECKED, "authentication.methods=simple", *admins)
    nobody = looked(capsys, tmp_path, *CHECKED, "authentication.methods=basic")
    missing = looked(capsys, tmp_path, *CHECKED, "authentication.methods=basic", *admins)

    assert "anyone may call itself anybody" in open_to_all["access"][1][1]
    assert "users" not in open_to_all
    assert "set authorization.service-admins" in nobody["access"][1][1]
    assert "ann, bob cannot come in" in missing["users"][0][1]
    assert "`headgate user create ann`" in missing["users"][0][1]


def test_service_admins_who_are_kept_users_are_no_finding(capsys: Capture, tmp_path: Path) -> None:
    """Only those are named who are missing; people see a mark of its own."""
    make_store(tmp_path)
    create = ["user", "create", "ann", "--no-password", "--data", str(tmp_path)]
    assert run(create) == 0
    capsys.readouterr()
    methods = (*CHECKED, "authentication.methods=token", "--set")
    assert "users" not in looked(capsys, tmp_path, *methods, "authorization.service-admins=ann")
    both = [*methods, "authorization.service-admins=ann,bob"]
    assert run(["doctor", "--data", str(tmp_path), *both]) == 0
    [line] = [one for one in capsys.readouterr().out.splitlines() if one.startswith("warn")]
    assert line.startswith("warn  users      bob cannot come in")


def test_a_purger_that_cannot_be_loaded_is_found(capsys: Capture, tmp_path: Path) -> None:
    """With the other settings."""
    make_store(tmp_path)
    found = looked(capsys, tmp_path, "--set", "purger=nobody:Knows", healthy=False)

    assert failures(found) == {"settings"}
    assert "purger 'nobody:Knows' cannot be used" in found["settings"][0][1]
