"""The kernel keeps its promises on PostgreSQL, with any cache and with faults on the way."""

from tests.conformance.kernel_nodes import ALL_FAULTS, NO_CACHE, TINY_CACHE, KernelSuite


class TestPlain(KernelSuite):
    database = "postgresql"
    cache_bytes = NO_CACHE


class TestCached(KernelSuite):
    database = "postgresql"


class TestTinyCache(KernelSuite):
    database = "postgresql"
    cache_bytes = TINY_CACHE


class TestFaults(KernelSuite):
    database = "postgresql"
    rates = ALL_FAULTS
