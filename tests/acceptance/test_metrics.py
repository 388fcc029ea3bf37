"""The numbers of a real server."""

from pathlib import Path

import httpx

from headgate.http.measures import CACHES
from headgate.testing.headgate_server import HeadgateServer

NAMESPACES = "/v1/default.main/namespaces"
NEW = {
    "name": "t",
    "schema": {"type": "struct", "fields": []},
    "properties": {"long": "x" * 2_000},  # worth being compressed
}


def samples(server: HeadgateServer) -> dict[str, float]:
    lines = httpx.get(f"{server.url}/metrics").text.splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def test_every_cache_is_measured(tmp_path: Path) -> None:
    """A table that is loaded in several ways meets all of them, and each says so."""
    owned = ("--set", "authorization.service-admins=anonymous")
    with HeadgateServer(tmp_path, "--set", "authorization.enabled=true", *owned) as server:
        with httpx.Client(base_url=server.iceberg_url) as client:
            client.post(NAMESPACES, json={"namespace": ["a"]}).raise_for_status()
            client.post(f"{NAMESPACES}/a/tables", json=NEW).raise_for_status()
            for accepted in ("gzip", "gzip", "zstd", "identity"):
                headers = {"accept-encoding": accepted}
                client.get(f"{NAMESPACES}/a/tables/t", headers=headers).raise_for_status()
            query = {"snapshots": "refs"}
            client.get(f"{NAMESPACES}/a/tables/t", params=query).raise_for_status()
        found = samples(server)

    for cache in CACHES:
        hits = found[f'headgate_cache_hits_total{{cache="{cache}"}}']
        misses = found[f'headgate_cache_misses_total{{cache="{cache}"}}']
        assert (cache, hits + misses > 0) == (cache, True)
        assert (cache, found[f'headgate_cache_entries{{cache="{cache}"}}'] > 0) == (cache, True)
    assert {name.partition('cache="')[2][:-2] for name in found if "{cache=" in name} == {*CACHES}
    assert found['headgate_cache_hits_total{cache="standing"}'] >= 1
    assert found['headgate_cache_hits_total{cache="answers"}'] >= 1
