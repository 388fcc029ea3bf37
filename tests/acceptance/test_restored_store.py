"""A backup is restored under a running server: it stops writing and says what to do."""

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.postgresql import PostgresqlServer, find_binaries

Act = Callable[[], None]


def create(server: HeadgateServer, name: str) -> httpx.Response:
    body = {"namespace": [name]}
    return httpx.post(f"{server.iceberg_url}/v1/main/namespaces", json=body, timeout=60)


def names(server: HeadgateServer) -> list[str]:
    found = httpx.get(f"{server.iceberg_url}/v1/main/namespaces").json()["namespaces"]
    return sorted(name for [name] in found)


def back_up_sqlite(store: Path, backup: Path) -> None:
    connection = apsw.Connection(str(store))
    connection.execute(f"vacuum into '{backup}'")
    connection.close()


def restore_content(store: Path, backup: Path) -> None:
    """Write the backup into the file, as `.restore` of SQLite's shell does."""
    target, source = apsw.Connection(str(store)), apsw.Connection(str(backup))
    with target.backup("main", source, "main") as copy:
        copy.step()
    source.close()
    target.close()


def check_restored_under(server: HeadgateServer, back_up: Act, restore: Act, said: str) -> None:
    """What was acknowledged before the backup is there after a restart, and nothing is mixed."""
    assert create(server, "a").status_code == 200
    back_up()
    assert create(server, "b").status_code == 200
    restore()

    for name in ("c", "d"):
        answer = create(server, name)
        assert (answer.status_code, said in answer.text) == (503, True), answer.text
        assert "Stop all nodes" in answer.text
    server.stop()
    server.start()

    assert names(server) == ["a"]
    assert create(server, "e").status_code == 200
    assert names(server) == ["a", "e"]


def test_a_server_that_has_only_answered_reads_notices_too(tmp_path: Path) -> None:
    """Another server on the same file has committed; nothing is put on top of what went back."""
    store, backup = tmp_path / "data" / "headgate.db", tmp_path / "backup.db"
    with HeadgateServer(tmp_path) as writer, HeadgateServer(tmp_path) as reader:
        assert create(writer, "a").status_code == 200
        back_up_sqlite(store, backup)
        assert create(writer, "b").status_code == 200
        assert names(reader) == ["a", "b"]
        restore_content(store, backup)

        for server in (reader, writer):
            answer = create(server, "c")
            assert (answer.status_code, "earlier state" in answer.text) == (503, True), answer.text
            assert names(server) == ["a"], "what was restored is served"


@pytest.mark.parametrize("way", ["into the file", "another file"])
def test_a_server_on_sqlite_stops_writing_when_its_store_is_restored(
    tmp_path: Path, way: str
) -> None:
    """The content of the file goes back, or another file takes its place."""
    store, backup = tmp_path / "data" / "headgate.db", tmp_path / "backup.db"

    def replace_file() -> None:
        for beside in ("-wal", "-shm"):
            Path(f"{store}{beside}").unlink()
        shutil.copy(backup, tmp_path / "new.db")
        (tmp_path / "new.db").rename(store)

    into = partial(restore_content, store, backup)
    ways: dict[str, tuple[Act, str]] = {
        "into the file": (into, "restored to an earlier state"),
        "another file": (replace_file, "was removed or replaced"),
    }
    restore, said = ways[way]
    with HeadgateServer(tmp_path) as server:
        check_restored_under(server, partial(back_up_sqlite, store, backup), restore, said)


def test_a_server_on_postgresql_stops_writing_when_its_store_is_restored(
    tmp_path: Path, postgresql_server: PostgresqlServer
) -> None:
    """The tables are dropped and made again from a dump."""
    url, dump = postgresql_server.create_database(), tmp_path / "headgate.dump"
    programs = find_binaries()

    def back_up() -> None:
        program = str(programs / "pg_dump")
        subprocess.run([program, "--format=custom", f"--file={dump}", url], check=True)

    def restore() -> None:
        command = [str(programs / "pg_restore"), "--clean", "--if-exists", "--single-transaction"]
        subprocess.run([*command, f"--dbname={url}", str(dump)], check=True)

    with HeadgateServer(tmp_path, "--backend", url) as server:
        check_restored_under(server, back_up, restore, "restored to an earlier state")
