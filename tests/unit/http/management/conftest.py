"""What tests of Headgate's own paths share: a node on a database in memory."""

from tests.unit.catalog.conftest import node, world

__all__ = ["node", "world"]
