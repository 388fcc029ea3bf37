"""What a kernel and a lake on it count, as samples."""

from headgate.catalog.lake import Lake
from headgate.http.cache_measures import cache_samples
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
    if isinstance(kernel.backend, ReadCountingBackend):
        samples["headgate_database_reads_total"] = kernel.backend.reads
    return samples


def lake_samples(lake: Lake) -> Samples:
    """The numbers of its cache, and the commits that it prepared anew."""
    return {
        "headgate_commit_retries_total": lake.commits_repeated,
        **cache_samples("metadata", lake.metadata.statistics),
    }
