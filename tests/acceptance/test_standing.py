"""A server that gives answers again: what happens behind its back is seen all the same."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer

TABLE = "/iceberg/v1/main/namespaces/a/tables/t"
SCHEMA = {"type": "struct", "fields": []}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HeadgateServer]:
    """A server with one table."""
    with HeadgateServer(tmp_path) as server:
        base = f"{server.url}/iceberg/v1/main/namespaces"
        httpx.post(base, json={"namespace": ["a"]}).raise_for_status()
        new = {"name": "t", "schema": SCHEMA}
        httpx.post(f"{base}/a/tables", json=new).raise_for_status()
        yield server


def test_a_metadata_file_that_vanishes_is_missed_at_once(server: HeadgateServer) -> None:
    """Also by a client that has just been answered, and until it is there again."""
    with httpx.Client(base_url=server.url) as client:
        loaded = [client.get(TABLE) for _ in range(3)]
        file = Path(loaded[-1].json()["metadata-location"].removeprefix("file://"))
        aside = file.with_suffix(".aside")
        for _ in range(2):
            file.rename(aside)
            assert client.get(TABLE).status_code == 404
            aside.rename(file)
            assert client.get(TABLE).status_code == 200


def test_a_commit_of_another_server_is_seen_at_once(server: HeadgateServer, tmp_path: Path) -> None:
    """Two servers on one file: each load has the last acknowledged change, whoever made it."""
    with (
        HeadgateServer(tmp_path) as other,
        httpx.Client(base_url=server.url) as ours,
        httpx.Client(base_url=other.url) as theirs,
    ):
        for number in range(50):
            writer, reader = (ours, theirs) if number % 2 else (theirs, ours)
            update = {"action": "set-properties", "updates": {"n": str(number)}}
            change = {"requirements": [], "updates": [update]}
            writer.post(TABLE, json=change).raise_for_status()
            for client in (reader, writer, reader):
                properties = client.get(TABLE).json()["metadata"]["properties"]
                assert properties["n"] == str(number)
