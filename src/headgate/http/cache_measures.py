"""What a cache counts, as samples."""

from headgate.catalog.access_cache import AccessCacheStatistics
from headgate.http.measures import Samples
from headgate.kernel.cache import CacheStatistics


def cache_samples(cache: str, counted: CacheStatistics) -> Samples:
    """The numbers of the cache of this name."""
    label = f'{{cache="{cache}"}}'
    return {
        f"headgate_cache_hits_total{label}": counted.hits,
        f"headgate_cache_misses_total{label}": counted.misses,
        f"headgate_cache_evictions_total{label}": counted.evictions,
        f"headgate_cache_bytes{label}": counted.bytes,
        f"headgate_cache_entries{label}": counted.entries,
    }


def access_cache_samples(counted: AccessCacheStatistics) -> Samples:
    """The numbers of the cache of rights, which are not counted in bytes."""
    label = '{cache="access"}'
    return {
        f"headgate_cache_hits_total{label}": counted.hits,
        f"headgate_cache_misses_total{label}": counted.misses,
        f"headgate_cache_evictions_total{label}": counted.evictions,
        f"headgate_cache_invalidations_total{label}": counted.invalidated,
        f"headgate_cache_entries{label}": counted.entries,
    }
