"""The kernel keeps its promises on SQLite, with any cache and with faults on the way."""

from headgate.testing.faults import TwoStepBackend
from tests.conformance.kernel_nodes import ALL_FAULTS, NO_CACHE, TINY_CACHE, KernelSuite


class TestPlain(KernelSuite):
    database = "sqlite"
    cache_bytes = NO_CACHE


class TestCached(KernelSuite):
    database = "sqlite"


class TestTinyCache(KernelSuite):
    database = "sqlite"
    cache_bytes = TINY_CACHE


class TestFaults(KernelSuite):
    database = "sqlite"
    rates = ALL_FAULTS


class TestFaultsBetweenTwoSteps(KernelSuite):
    database = "sqlite"
    rates = ALL_FAULTS
    outside = staticmethod(TwoStepBackend)
