"""A Locust file: very many tables are dropped at once, while others load tables and commit."""

from benchmarks.swarm.people import Committer, Dropper, Reader

__all__ = ["Committer", "Dropper", "Reader"]
