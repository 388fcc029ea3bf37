"""The kernel keeps its promises on the memory backend, however that behaves."""

from headgate.testing.faults import TornBackend, TwoStepBackend
from tests.conformance.kernel_nodes import ALL_FAULTS, NO_CACHE, TINY_CACHE, KernelSuite


class TestPlain(KernelSuite):
    database = "memory"
    cache_bytes = NO_CACHE


class TestCached(KernelSuite):
    database = "memory"


class TestTinyCache(KernelSuite):
    database = "memory"
    cache_bytes = TINY_CACHE


class TestFaults(KernelSuite):
    database = "memory"
    rates = ALL_FAULTS


class TestTorn(KernelSuite):
    database = "memory"
    wrap = TornBackend


class TestTornWithFaults(KernelSuite):
    database = "memory"
    wrap = TornBackend
    rates = ALL_FAULTS


class TestTwoSteps(KernelSuite):
    database = "memory"
    wrap = TwoStepBackend


class TestTwoStepsWithFaults(KernelSuite):
    database = "memory"
    wrap = TwoStepBackend
    rates = ALL_FAULTS
