"""`headgate serve` on a disk that is full for a while: nothing acknowledged is lost.

Commits are refused, and go on when there is space again.

A file system of a few megabytes is mounted for that, which needs Linux and root.
"""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer
from tests.conftest import FULL
from tests.purge.lake import in_the_end
from tests.seeds import draw_seed
from tests.unit.catalog.lakes import commit, new_table, set_properties

FILLINGS = 30 if FULL else 3
COMMITS_MAX = 40
"""Commits between two fillings, at most."""
REFUSALS = 5
"""Commits that are tried while the disk is full."""
DISK_MEGABYTES = 32
PREFIX = "/iceberg/v1/default.main"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="a file system is mounted: needs root"
)


@pytest.fixture(name="server")
def _server(tmp_path: Path) -> Iterator[HeadgateServer]:
    """A server whose data directory has a small disk of its own."""
    data = tmp_path / "data"
    data.mkdir()
    size = f"size={DISK_MEGABYTES}m,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "headgate", data], check=True)
    try:
        with HeadgateServer(tmp_path) as server:
            yield server
    finally:
        subprocess.run(["umount", "--lazy", data], check=True)


class Writer:
    """Counts a property of a table up, and knows what was acknowledged."""

    def __init__(self, server: HeadgateServer) -> None:
        self._server = server
        self.acknowledged = 0
        self.refused: list[httpx.Response] = []
        with httpx.Client(base_url=server.url) as http:
            http.post(f"{PREFIX}/namespaces", json={"namespace": ["a"]}).raise_for_status()
            http.post(f"{PREFIX}/namespaces/a/tables", json=new_table("t")).raise_for_status()

    def write(self) -> bool:
        """Count up by one: whether it was acknowledged."""
        count = self.acknowledged + 1
        answer = httpx.post(self._url, json=commit([set_properties(count=str(count))]), timeout=60)
        if answer.is_success:
            self.acknowledged = count
        else:
            self.refused.append(answer)
        return answer.is_success

    def stored(self) -> int:
        """The count as it is now."""
        found = httpx.get(self._url, timeout=60).raise_for_status().json()
        return int(found["metadata"]["properties"].get("count", "0"))

    @property
    def _url(self) -> str:
        return f"{self._server.url}{PREFIX}/namespaces/a/tables/t"


def fill(folder: Path) -> Path:
    """Write a file that leaves no space."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return ballast


def test_what_was_acknowledged_survives_a_full_disk(server: HeadgateServer) -> None:
    """Commits are refused with a server error and a reason, and go on when there is space."""
    chance = random.Random(draw_seed("full disk"))
    data, writer = server.folder / "data", Writer(server)
    for _ in range(FILLINGS):
        for _ in range(chance.randint(1, COMMITS_MAX)):
            assert writer.write(), writer.refused[-1].text
        ballast = fill(data)
        for _ in range(REFUSALS):
            writer.write()
        assert writer.stored() in {writer.acknowledged, writer.acknowledged + 1}
        ballast.unlink()
        assert in_the_end(writer.write), writer.refused[-1].text
        assert writer.stored() == writer.acknowledged

    assert writer.refused
    assert {answer.status_code for answer in writer.refused} == {503}
    assert all(answer.json()["error"]["message"] for answer in writer.refused)
    counts = f"{writer.acknowledged} commits, {len(writer.refused)} refused"
    print(f"full disk: {FILLINGS} fillings, {counts}")
    server.stop()
    server.start()
    assert writer.stored() == writer.acknowledged
