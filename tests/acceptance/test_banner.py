"""What `headgate serve` says when it is ready."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import headgate
from headgate.testing.headgate_server import HeadgateServer, environment


def lines(server: HeadgateServer) -> dict[str, str]:
    """The first word of each line with the rest."""
    found = (line.split(maxsplit=1) for line in server.said().splitlines())
    return {words[0]: words[1] for words in found if len(words) == 2}


@contextmanager
def serving(*options: str, home: Path) -> Iterator["subprocess.Popen[str]"]:
    """A server of its own that says what it says on a pipe."""
    command = [sys.executable, "-m", "headgate", "serve", "--port=0", *options]
    own = environment() | {"HOME": str(home), "XDG_DATA_HOME": str(home / "share")}
    with subprocess.Popen(command, env=own, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


@pytest.mark.parametrize("processes", ["1", "2"])
def test_tables_lie_where_the_catalog_says(tmp_path: Path, processes: str) -> None:
    """Not where a setting says that a fresh store would have put them."""
    with HeadgateServer(tmp_path) as server:
        assert lines(server)["tables"] == f"file://{server.warehouse}"
    elsewhere = ("--set", "bootstrap.warehouse=s3://bucket/w", "--processes", processes)
    with HeadgateServer(tmp_path, *elsewhere) as server:
        said = server.said().rpartition("listening")[2]

    assert f"tables      file://{server.warehouse}\n" in said


def test_a_server_that_only_reads_says_so(tmp_path: Path) -> None:
    """And that there is no catalog if there is none."""
    with HeadgateServer(tmp_path, "--read-only") as server:
        said = lines(server)

    assert said["listening"] == f"{server.url}, read-only"
    assert said["tables"] == "there is no catalog default.main yet"


def test_a_server_that_leaves_purges_to_others_says_so(tmp_path: Path) -> None:
    """Else nobody would know why files stay."""
    alone = ("--set", "purger.async.worker-threads=0")
    with HeadgateServer(tmp_path, *alone) as server:
        said = lines(server)

    assert said["purges"] == "left to processes of `headgate work`"


def test_a_server_that_leaves_purges_to_others_needs_no_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`headgate pipeline purge` runs where Spark is."""
    found = shutil.which("env")
    assert found is not None
    (tmp_path / "env").symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    spark = ("--set", "purger=spark")
    with pytest.raises(RuntimeError, match="Java was not found"), HeadgateServer(tmp_path, *spark):
        pass

    with HeadgateServer(tmp_path, *spark, "--set", "purger.async.worker-threads=0") as server:
        assert httpx.get(f"{server.url}/health/ready").status_code == 200


def test_scripts_get_one_line(tmp_path: Path) -> None:
    """With what they need to go on."""
    with serving("--json", "--data", str(tmp_path / "data"), home=tmp_path) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert httpx.get(f"{ready['url']}/health/ready").status_code == 200
        process.terminate()
        assert process.stdout.read() == ""

    assert (ready["pid"], ready["version"]) == (process.pid, headgate.__version__)
    assert ready["store"] == str(tmp_path / "data" / "headgate.db")
    assert ready["tables"] == f"file://{tmp_path}/data/warehouse"
    assert (ready["read-only"], ready["temporary"], ready["purges"]) == (False, False, True)
    assert process.returncode == 0


def test_a_store_in_memory_leaves_nothing_behind(tmp_path: Path) -> None:
    """Its tables lie in a folder that goes with the server, which says so."""
    with serving("--backend", "memory:", "--json", home=tmp_path) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        warehouse = Path(ready["tables"].removeprefix("file://"))
        body = {"name": "t", "schema": {"type": "struct", "fields": []}}
        url = f"{ready['url']}/iceberg/v1/main/namespaces"
        httpx.post(url, json={"namespace": ["a"]}).raise_for_status()
        httpx.post(f"{url}/a/tables", json=body).raise_for_status()
        assert list(warehouse.rglob("*.metadata.json"))

    assert ready["temporary"]
    assert not warehouse.exists()
    assert list(tmp_path.iterdir()) == []
    with serving("--backend", "memory:", home=tmp_path) as process:
        assert process.stdout is not None
        [line] = [line for _, line in zip(range(3), process.stdout, strict=False)][2:]
        assert line.endswith(", for as long as this server runs\n")


def test_who_is_believed_is_said(tmp_path: Path) -> None:
    """With what clients need for it, and a warning if rights are checked of whoever one likes."""
    admin = ("--set", "authorization.enabled=true", "--set", "authorization.service-admins=ann")
    with HeadgateServer(tmp_path / "open", *admin) as server:
        server.wait_for("anyone may call itself anybody")
        said = server.said()
    assert "access      everybody is believed, rights are checked\n" in said
    methods = ("--set", "authentication.methods=basic,token")
    with HeadgateServer(tmp_path / "closed", *admin, *methods) as server:
        said = server.said()

    assert "access      passwords and tokens, rights are checked\n" in said
    assert 'credential="USER:SECRET"' in said
    assert "anyone may call itself" not in said


def test_a_server_shows_no_credentials_of_a_url(tmp_path: Path) -> None:
    """Neither in what it says nor in the settings that it serves."""
    secret = "https://ann:hunter2@minio.example.com"
    with HeadgateServer(tmp_path, "--set", f"storage.allowed-endpoints={secret}") as server:
        served = httpx.get(f"{server.url}/management/v1/settings")

    shown = {one["name"]: one["value"] for one in served.json()["settings"]}
    assert shown["storage.allowed-endpoints"] == "https://***@minio.example.com"
    assert "hunter2" not in served.text + server.said()
