"""`headgate serve --read-only` on a disk that is mounted read-only."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from headgate.testing.child import Child
from headgate.testing.headgate_server import READY, HeadgateServer, environment

SECONDS = 60.0
MOUNTED = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
SCHEMA = {
    "type": "struct",
    "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}],
}


def read_only(folder: Path, command: list[str]) -> list[str]:
    """A command that sees the folder on a disk that is mounted read-only.

    Where this user may make no such mount, the permissions of the folder are all that stops it.
    """
    try:
        tried = subprocess.run(
            [*NAMESPACE, "sh", "-c", MOUNTED, str(folder), "true"], check=False, capture_output=True
        )
    except OSError:
        return command
    if tried.returncode:
        return command
    return [*NAMESPACE, "sh", "-c", MOUNTED, str(folder), *command]


@contextmanager
def without_writing(folder: Path) -> Iterator[None]:
    """The folder and all in it may only be read; afterwards as before."""
    modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*"))}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def all_files(folder: Path) -> dict[Path, tuple[int, int]]:
    found = {path: path.stat() for path in folder.rglob("*")}
    return {path: (status.st_mtime_ns, status.st_size) for path, status in found.items()}


def test_a_store_on_a_read_only_mount_is_served(tmp_path: Path) -> None:
    """Tables are loaded, changes are refused, and nothing is written there."""
    data = tmp_path / "data"
    with HeadgateServer(tmp_path) as server:
        base = f"{server.iceberg_url}/v1/main"
        assert httpx.post(f"{base}/namespaces", json={"namespace": ["a"]}).status_code == 200
        made = httpx.post(f"{base}/namespaces/a/tables", json={"name": "t", "schema": SCHEMA})
        assert made.status_code == 200
    before = all_files(data)
    command = [sys.executable, "-m", "headgate", "serve", "--port=0", "--data", str(data)]
    with without_writing(data):
        wanted = read_only(data, [*command, "--read-only"])
        child = Child(wanted, tmp_path / "reading.log", environment())
        try:
            ready = child.wait_until(lambda: READY.search(child.said()), SECONDS)
            base = f"{ready[1]}/iceberg/v1/main"
            loaded = httpx.get(f"{base}/namespaces/a/tables/t")
            assert loaded.json()["metadata-location"] == made.json()["metadata-location"]
            assert httpx.post(f"{base}/namespaces", json={"namespace": ["b"]}).status_code >= 400
            assert httpx.get(f"{ready[1]}/health").status_code < 500
        finally:
            child.stop(SECONDS)
    assert all_files(data) == before
