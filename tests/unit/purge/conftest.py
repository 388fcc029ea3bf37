"""What tests of purges share: nodes on a database in memory, with files in a temporary folder."""

from tests.unit.catalog.conftest import guarded, node, world

__all__ = ["guarded", "node", "world"]
