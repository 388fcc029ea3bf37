"""What tests of purges share: nodes on a database in memory, with files in a temporary folder."""

import pytest

from headgate.catalog.purging import Recorded
from tests.unit.catalog.conftest import guarded, node, world
from tests.unit.catalog.lakes import Node
from tests.unit.purge.referring import Referring

__all__ = ["guarded", "node", "world"]


@pytest.fixture
async def referring(node: Node) -> Referring:
    """A node whose dropped tables nobody purges."""
    node.lake.purging = Recorded()
    return Referring(node, await node.opened())
