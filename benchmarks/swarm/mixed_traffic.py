"""A Locust file: while tables with many files are purged, others load, commit, create and drop."""

from benchmarks.swarm.people import Churner, Committer, Dropper, Reader

__all__ = ["Churner", "Committer", "Dropper", "Reader"]
