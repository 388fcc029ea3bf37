"""What a kernel counts, as samples."""

from headgate.http.database_reads import ReadCountingBackend
from headgate.http.measures import Samples
from headgate.kernel.kernel import Kernel


def kernel_samples(kernel: Kernel) -> Samples:
    """The numbers of its committer, its cache and, if they are counted, its database reads."""
    commits = kernel.committer.statistics
    cache = kernel.cache.statistics()
    samples: Samples = {
        "headgate_commits_total": commits.attempts,
        "headgate_commit_batches_total": commits.batches,
        "headgate_commit_swaps_total": commits.swaps,
        "headgate_commit_retries_total": commits.lost,
        "headgate_commit_timeouts_total": commits.timed_out,
        "headgate_cache_hits_total": cache.hits,
        "headgate_cache_misses_total": cache.misses,
        "headgate_cache_evictions_total": cache.evictions,
        "headgate_cache_bytes": cache.bytes,
        "headgate_cache_entries": cache.entries,
    }
    if isinstance(kernel.backend, ReadCountingBackend):
        samples["headgate_database_reads_total"] = kernel.backend.reads
    return samples
