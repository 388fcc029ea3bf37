"""What tests of exports share: nodes on a database in memory, with files in a temporary folder."""

from tests.unit.catalog.conftest import guarded, node, staffed, world

__all__ = ["guarded", "node", "staffed", "world"]
