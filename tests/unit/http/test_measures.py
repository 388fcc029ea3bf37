"""Numbers, their sums, and their text."""

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.clock import SystemClock
from headgate.http.database_reads import ReadCountingBackend, count_reads
from headgate.http.kernel_measures import kernel_samples
from headgate.http.measures import (
    FAMILIES,
    Histogram,
    Measures,
    add_up,
    family_of,
    prometheus_text,
)
from headgate.http.request import Request, Response
from headgate.http.router import Route
from headgate.http.shared_measures import SharedMeasures
from headgate.kernel.backend import Backend
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import REALMS_KEY
from headgate.wiring import entropy

LINE = re.compile(r'[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9.e+-]+')
NOBODY = 2**22 + 1  # more than any process id


async def _nothing(services: object, request: Request) -> Response:
    return Response(204)


ROUTE = Route("GET", "/a/{b}", _nothing, "a")


def counted() -> Measures:
    measures = Measures([lambda: {"headgate_cache_bytes": 5}])
    measures.count(ROUTE, "/s/a/{b}", 200, 0.002, 1)
    measures.count(ROUTE, "/s/a/{b}", 200, 0.02, 4)
    measures.count(ROUTE, "/s/a/{b}", 404, 99.0, 100)
    measures.count(None, "unmatched", 400, 0.0, 0)
    return measures


def test_requests_are_counted_by_route_and_status() -> None:
    """Paths are not labels: there are too many of them."""
    samples = counted().samples()

    labels = 'method="GET",route="/s/a/{b}"'
    assert samples[f'headgate_http_requests_total{{{labels},status="200"}}'] == 2
    assert samples[f'headgate_http_requests_total{{{labels},status="404"}}'] == 1
    assert samples[f"headgate_http_request_seconds_count{{{labels}}}"] == 3
    assert samples[f'headgate_http_request_seconds_bucket{{{labels},le="0.0025"}}'] == 1
    assert samples[f'headgate_http_request_seconds_bucket{{{labels},le="+Inf"}}'] == 3
    assert samples[f"headgate_request_database_reads_sum{{{labels}}}"] == 105
    unmatched = 'headgate_http_requests_total{method="any",route="unmatched",status="400"}'
    assert samples[unmatched] == 1
    assert samples["headgate_cache_bytes"] == 5


def test_a_value_at_a_bound_lies_below_it() -> None:
    """As `le` says: less or equal."""
    histogram = Histogram((1, 2))
    for value in (1, 1.5, 2, 3):
        histogram.add(value)

    assert histogram.counts == [1, 2, 1]


def test_the_text_is_what_prometheus_reads() -> None:
    """Each family once, described, followed by its samples."""
    text = prometheus_text(counted().samples())

    lines = text.splitlines()
    assert all(LINE.fullmatch(line) for line in lines if not line.startswith("#"))
    types = [line.split(" ")[2] for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    assert set(types) <= set(FAMILIES)
    for line in lines:
        if line.startswith("#"):
            family = line.split(" ")[2]
        else:
            assert family_of(line.rpartition(" ")[0])[0] == family
    assert "headgate_cache_bytes 5\n" in text


def test_sums_are_made_by_name() -> None:
    """What one process does not have counts as nothing."""
    assert add_up([{"a": 1, "b": 2}, {"b": 3}]) == {"a": 1, "b": 5}


def test_sources_of_the_same_number_add_up() -> None:
    """Commits are run again by the kernel, and by the catalogs upon it."""
    measures = Measures([lambda: {"headgate_commit_retries_total": 2}])
    measures.add_source(lambda: {"headgate_commit_retries_total": 3})

    assert measures.samples()["headgate_commit_retries_total"] == 5


async def test_processes_see_each_other_s_numbers(tmp_path: Path) -> None:
    """Our own are of this moment, those of the others as they were written."""
    theirs = {"headgate_processes": 1, "headgate_http_requests_refused_total": 3}
    (tmp_path / f"{os.getppid()}.json").write_text(json.dumps(theirs))
    measures = Measures()
    shared = SharedMeasures(measures, tmp_path, SystemClock())
    async with shared.kept():
        await asyncio.sleep(0)
        measures.refused += 1
        samples = shared.samples()

    assert samples["headgate_processes"] == 2
    assert samples["headgate_http_requests_refused_total"] == 4
    own = json.loads((tmp_path / f"{os.getpid()}.json").read_text())
    assert own["headgate_http_requests_refused_total"] == 1


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_file_that_cannot_be_read_counts_as_nothing(tmp_path: Path, content: str) -> None:
    """It may be of a process that ended while it wrote."""
    (tmp_path / f"{NOBODY}.json").write_text(content)

    samples = SharedMeasures(Measures(), tmp_path, SystemClock()).samples()
    assert samples["headgate_processes"] == 1


def test_what_a_dead_process_counted_stays(tmp_path: Path) -> None:
    """Sums do not go back; what it held when it died is gone."""
    theirs = {"headgate_processes": 1, "headgate_cache_bytes": 9, "headgate_commits_total": 3}
    (tmp_path / f"{NOBODY}.json").write_text(json.dumps(theirs))

    samples = SharedMeasures(Measures(), tmp_path, SystemClock()).samples()
    assert samples["headgate_processes"] == 1
    assert samples["headgate_commits_total"] == 3
    assert "headgate_cache_bytes" not in samples


async def test_a_process_alone_writes_nothing() -> None:
    """There is nobody to tell."""
    shared = SharedMeasures(Measures(), None, SystemClock())
    async with shared.kept():
        assert shared.samples()["headgate_processes"] == 1


async def test_a_lost_directory_does_not_stop_the_server(tmp_path: Path) -> None:
    """Somebody cleaned up temporary files."""
    shared = SharedMeasures(Measures(), tmp_path / "gone", SystemClock())
    async with shared.kept():
        await asyncio.sleep(0)

        assert shared.samples()["headgate_processes"] == 1


async def test_database_reads_are_counted_for_the_task_at_hand() -> None:
    """And for what it starts; others have numbers of their own."""
    backend: Backend = ReadCountingBackend(MemoryBackend())
    await backend.open()

    async def request(times: int) -> int:
        reads = count_reads()
        for _ in range(times):
            await asyncio.create_task(backend.fetch("r", [1]))
        return reads.count

    requests = [asyncio.create_task(request(times)) for times in (1, 3)]
    assert await asyncio.gather(*requests) == [1, 3]
    assert isinstance(backend, ReadCountingBackend)
    assert backend.reads == 4


async def test_a_kernel_works_on_a_backend_that_counts() -> None:
    """Its numbers are samples that have a family."""
    backend = ReadCountingBackend(MemoryBackend())
    async with Kernel(backend, SystemClock(), entropy) as kernel:
        before = backend.reads
        await kernel.pointers.read([REALMS_KEY])
        samples = kernel_samples(kernel)

    assert backend.reads == before + 1
    assert samples["headgate_database_reads_total"] == before + 1
    assert all(family_of(name) for name in samples)
    async with Kernel(MemoryBackend(), SystemClock(), entropy) as kernel:
        assert "headgate_database_reads_total" not in kernel_samples(kernel)
