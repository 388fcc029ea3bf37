"""What a kernel and a lake on it count, as samples."""

from headgate.catalog.lake import Lake
from headgate.catalog.polling import Polling
from headgate.http.cache_measures import access_cache_samples, cache_samples
from headgate.http.database_reads import ReadCountingBackend
from headgate.http.measures import Samples
from headgate.kernel.kernel import Kernel


def kernel_samples(kernel: Kernel) -> Samples:
    """The numbers of its committer, its cache and, if they are counted, its database reads."""
    commits = kernel.committer.statistics
    samples: Samples = {
        "headgate_commits_total": commits.attempts,
        "headgate_commit_batches_total": commits.batches,
        "headgate_commit_swaps_total": commits.swaps,
        "headgate_commit_retries_total": commits.lost,
        "headgate_commit_timeouts_total": commits.timed_out,
        **cache_samples("objects", kernel.cache.statistics()),
    }
    if isinstance(kernel.backend.inner, ReadCountingBackend):
        samples["headgate_database_reads_total"] = kernel.backend.inner.reads
    return samples


def lake_samples(lake: Lake) -> Samples:
    """The numbers of its caches, and the commits that it prepared anew."""
    return {
        "headgate_commit_retries_total": lake.commits_repeated,
        **cache_samples("metadata", lake.metadata.statistics),
        **access_cache_samples(lake.openings.guard.cache.statistics()),
    }


def polling_samples(polling: Polling) -> Samples:
    """How polling goes."""
    counted = polling.statistics
    return {
        "headgate_polls_total": counted.polls,
        "headgate_poll_failures_total": counted.failures,
        "headgate_poll_fallbacks_total": counted.fallbacks,
        "headgate_poll_age_seconds": polling.age_seconds,
    }
