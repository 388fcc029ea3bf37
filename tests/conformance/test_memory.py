"""The memory backend keeps the promises of the port, and so does each decorator around it."""

from headgate.testing.backend_conformance import BackendConformance
from headgate.testing.counting import CountingBackend
from headgate.testing.faults import FaultyBackend, TornBackend, TwoStepBackend


class TestMemory(BackendConformance):
    database = "memory"


class TestMemoryWithoutFaults(BackendConformance):
    database = "memory"
    wrap = FaultyBackend


class TestMemoryCounted(BackendConformance):
    database = "memory"
    wrap = CountingBackend


class TestMemoryTorn(BackendConformance):
    database = "memory"
    wrap = TornBackend


class TestMemoryInTwoSteps(BackendConformance):
    database = "memory"
    wrap = TwoStepBackend
    commits_are_transactions = False
