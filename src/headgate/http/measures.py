"""What the server counts, as Prometheus reads it.

A sample is a name with labels, as text, and a number. So the numbers of several processes are added
up without knowing what they mean.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from headgate.http.router import Route

Samples = dict[str, float]
Source = Callable[[], Mapping[str, float]]
"""Numbers that somebody else counts; each name is in FAMILIES. Those of the same name add up."""

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
READS = (0, 1, 2, 3, 5, 10, 30)


class Family(NamedTuple):
    """What one name means."""

    type: str
    help: str
    of_store: bool = False
    """The same for all processes that share a store: each tells it whole."""


FAMILIES = {
    "headgate_processes": Family("gauge", "Server processes."),
    "headgate_http_requests_total": Family("counter", "Requests answered."),
    "headgate_http_request_seconds": Family("histogram", "From the request's head to its answer."),
    "headgate_http_requests_in_flight": Family("gauge", "Requests under way."),
    "headgate_http_bodies_in_flight": Family("gauge", "Bodies of requests that are being read."),
    "headgate_http_bodies_ended_total": Family("counter", "Bodies that were too slow."),
    "headgate_http_requests_refused_total": Family("counter", "Requests sent away: too many."),
    "headgate_request_database_reads": Family("histogram", "Database reads of one request."),
    "headgate_database_reads_total": Family("counter", "Database reads, of requests or not."),
    "headgate_commits_total": Family("counter", "Commits attempted, successful or not."),
    "headgate_commit_batches_total": Family("counter", "Batches of commits written together."),
    "headgate_commit_swaps_total": Family("counter", "Swaps sent to the database."),
    "headgate_commit_retries_total": Family(
        "counter", "Commits that met others and were run again."
    ),
    "headgate_commit_timeouts_total": Family("counter", "Commits that waited too long."),
    "headgate_log_commits_cut_total": Family("counter", "Old commits deleted from the log."),
    "headgate_sweep_runs_total": Family("counter", "Sweeps of the store that ended."),
    "headgate_sweep_runs_failed_total": Family("counter", "Those that left something alone."),
    "headgate_sweep_rows_scanned_total": Family("counter", "Rows that sweeps looked at."),
    "headgate_sweep_rows_deleted_total": Family("counter", "Rows that sweeps deleted."),
    "headgate_cache_hits_total": Family("counter", "Entries found in a cache."),
    "headgate_cache_misses_total": Family("counter", "Entries not found in a cache."),
    "headgate_cache_evictions_total": Family("counter", "Entries put out of a cache."),
    "headgate_cache_invalidations_total": Family(
        "counter", "Entries dropped because what they rest on changed."
    ),
    "headgate_cache_bytes": Family("gauge", "Bytes of what a cache holds."),
    "headgate_cache_entries": Family("gauge", "Entries that a cache holds."),
    "headgate_polls_total": Family("counter", "Polls of the pointers in use."),
    "headgate_poll_failures_total": Family("counter", "Polls that failed."),
    "headgate_poll_fallbacks_total": Family(
        "counter", "Reads that requests made, because what they need was not polled."
    ),
    "headgate_poll_age_seconds": Family(
        "gauge", "Since the last good poll, added up over all processes."
    ),
    "headgate_purge_jobs": Family(
        "gauge", "Dropped tables whose files are not all deleted yet, in the whole store.", True
    ),
    "headgate_purge_oldest_pending_seconds": Family(
        "gauge", "How long the oldest pending purge could have been done, in the store.", True
    ),
    "headgate_purge_files_total": Family("counter", "Files deleted by purges."),
    "headgate_purge_bytes_total": Family("counter", "Bytes of them."),
    "headgate_purge_files_per_second": Family("gauge", "Files deleted per second, at present."),
    "headgate_audit_records_total": Family("counter", "Decisions written to the audit."),
    "headgate_audit_records_lost_total": Family("counter", "Decisions that could not be written."),
}

CACHES = {
    "objects": "objects of the database, decoded",
    "metadata": "metadata files, as they are and parsed",
    "answers": "bodies of answers about tables, put together",
    "compressed": "bodies of answers, compressed",
    "standing": "whole answers that may be given again",
    "access": "what callers may do, and what roles grant",
}
"""What the label `cache` may say."""


class Histogram:
    """How many values were below each of some bounds."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Count this value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def samples(self, name: str, labels: str) -> Samples:
        """As Prometheus wants it: each bound with all that lies below."""
        samples: Samples = {}
        total = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            total += count
            samples[f'{name}_bucket{{{labels},le="{bound}"}}'] = total
        samples[f"{name}_sum{{{labels}}}"] = self.sum
        samples[f"{name}_count{{{labels}}}"] = total
        return samples


class _Series:
    """The numbers of one route."""

    __slots__ = ("labels", "reads", "seconds", "statuses")

    def __init__(self, labels: str) -> None:
        self.labels = labels
        self.statuses: dict[int, int] = {}
        self.seconds = Histogram(SECONDS)
        self.reads = Histogram(READS)


class Measures:
    """The numbers of one process."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self.refused = 0
        self._sources = [*sources]
        self._series: dict[Route | None, _Series] = {}

    def add_source(self, source: Source) -> None:
        """Ask somebody else for numbers, too."""
        self._sources.append(source)

    def count(
        self, route: Route | None, path: str, status: int, seconds: float, reads: int
    ) -> None:
        """One request was answered. `path` is the whole template; no route is "unmatched"."""
        series = self._series.get(route)
        if series is None:
            method = route.method if route else "any"
            series = _Series(f'method="{method}",route="{path}"')
            self._series[route] = series
        series.statuses[status] = series.statuses.get(status, 0) + 1
        series.seconds.add(seconds)
        series.reads.add(reads)

    def samples(self) -> Samples:
        """All numbers as they are now."""
        samples: Samples = {
            "headgate_processes": 1,
            "headgate_http_requests_refused_total": self.refused,
        }
        for series in self._series.values():
            for status, count in series.statuses.items():
                labels = f'{series.labels},status="{status}"'
                samples[f"headgate_http_requests_total{{{labels}}}"] = count
            samples |= series.seconds.samples("headgate_http_request_seconds", series.labels)
            samples |= series.reads.samples("headgate_request_database_reads", series.labels)
        return add_up([samples, *(source() for source in self._sources)])


def add_up(many: Iterable[Mapping[str, float]]) -> Samples:
    """The sums of samples of the same name and labels."""
    total: Samples = {}
    for samples in many:
        for name, value in samples.items():
            total[name] = total.get(name, 0) + value
    return total


def of_process(samples: Mapping[str, float]) -> Samples:
    """Those that are told of a process, and not of the store that it shares with others."""
    return {name: value for name, value in samples.items() if not family_of(name)[1].of_store}


def without_gauges(samples: Mapping[str, float]) -> Samples:
    """What remains true of a process that has ended."""
    return {name: value for name, value in samples.items() if family_of(name)[1].type != "gauge"}


def family_of(sample: str) -> tuple[str, Family]:
    """The family a sample belongs to; those of histograms have endings."""
    name = sample.partition("{")[0]
    if name not in FAMILIES:
        name = name.rpartition("_")[0]
    return name, FAMILIES[name]


def prometheus_text(samples: Mapping[str, float]) -> str:
    """The exposition format, version 0.0.4."""
    families: dict[str, list[str]] = {}
    for sample, value in samples.items():
        families.setdefault(family_of(sample)[0], []).append(f"{sample} {_number(value)}")
    lines: list[str] = []
    for name, family in FAMILIES.items():
        if name in families:
            lines += [f"# HELP {name} {family.help}", f"# TYPE {name} {family.type}"]
            lines += families[name]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(value)
