"""A new database beside a warehouse with tables: the server says so instead of beginning anew."""

import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer, environment

SCHEMA = {
    "type": "struct",
    "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}],
}


def serve(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """A server that is expected not to start."""
    command = [sys.executable, "-m", "headgate", "serve", "--port=0"]
    command += ["--data", str(folder / "data"), *options]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(), timeout=60
    )


def make_table(server: HeadgateServer) -> str:
    base = f"{server.iceberg_url}/v1/main"
    assert httpx.post(f"{base}/namespaces", json={"namespace": ["a"]}).status_code == 200
    made = httpx.post(f"{base}/namespaces/a/tables", json={"name": "t", "schema": SCHEMA})
    assert made.status_code == 200, made.text
    location: str = made.json()["metadata-location"]
    return location


def lose_database(folder: Path) -> None:
    for file in (folder / "data").glob("headgate.db*"):
        file.unlink()


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_lost_database_beside_a_full_warehouse_is_one_line_and_exit_code_2(
    tmp_path: Path, processes: str
) -> None:
    """Also the second time: nothing was begun. The restored database is served as before."""
    with HeadgateServer(tmp_path) as server:
        location = make_table(server)
    backup = tmp_path / "backup.db"
    shutil.copy(tmp_path / "data" / "headgate.db", backup)
    lose_database(tmp_path)
    for _ in range(2):
        done = serve(tmp_path, "--processes", processes)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "its database is new, but there are files in its warehouse" in done.stderr
        assert location.rpartition("/")[2] in done.stderr
        assert "Restore the database from its backup" in done.stderr
        assert list((tmp_path / "data").glob("headgate.db*")) == []

    shutil.copy(backup, tmp_path / "data" / "headgate.db")
    with HeadgateServer(tmp_path) as server:
        table = f"{server.iceberg_url}/v1/main/namespaces/a/tables/t"
        assert httpx.get(table).json()["metadata-location"] == location


def test_an_operator_may_begin_anew_beside_tables(tmp_path: Path) -> None:
    """By the setting, or elsewhere; the tables can be registered. Later starts need neither."""
    with HeadgateServer(tmp_path) as server:
        location = make_table(server)
    lose_database(tmp_path)
    with HeadgateServer(tmp_path, "--set", "bootstrap.accept-tables=true") as server:
        base = f"{server.iceberg_url}/v1/main"
        assert httpx.post(f"{base}/namespaces", json={"namespace": ["a"]}).status_code == 200
        body = {"name": "t", "metadata-location": location}
        assert httpx.post(f"{base}/namespaces/a/register", json=body).status_code == 200
    with HeadgateServer(tmp_path) as server:
        assert httpx.get(f"{server.iceberg_url}/v1/main/namespaces/a/tables/t").status_code == 200
    lose_database(tmp_path)
    elsewhere = f"bootstrap.warehouse=file://{tmp_path}/elsewhere"
    with HeadgateServer(tmp_path, "--set", elsewhere):
        pass


def test_other_files_in_a_warehouse_keep_no_server_from_starting(tmp_path: Path) -> None:
    """Folders that were made before, and files that are no metadata of tables."""
    warehouse = tmp_path / "data" / "warehouse"
    (warehouse / "a" / "metadata").mkdir(parents=True)
    for name in ("a/metadata/notes.json", "a/x.metadata.json", "README.md"):
        (warehouse / name).write_text("{}")
    with HeadgateServer(tmp_path) as server:
        make_table(server)
    with HeadgateServer(tmp_path, "--backend", "memory:", "--data", str(tmp_path / "data")):
        pass


def test_tables_of_catalogs_that_were_created_later_count_too(tmp_path: Path) -> None:
    """They lie below another folder than those of the first catalog."""
    metadata = tmp_path / "data" / "warehouses" / "default=2Ec" / "a" / "t" / "metadata"
    metadata.mkdir(parents=True)
    (metadata / "00000-x.metadata.json").touch()

    done = serve(tmp_path)

    assert (done.returncode, "00000-x.metadata.json" in done.stderr) == (2, True)
