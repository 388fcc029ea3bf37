"""What tests of purges share: nodes on a database in memory, with files in a temporary folder."""

from collections.abc import Iterator

import pytest

from headgate.catalog.purging import Recorded
from headgate.purge import gaps, surveying
from tests.unit.catalog.conftest import guarded, node, world
from tests.unit.catalog.lakes import Node
from tests.unit.purge.referring import Referring

__all__ = ["guarded", "node", "world"]


@pytest.fixture
async def referring(node: Node) -> Referring:
    """A node whose dropped tables nobody purges."""
    node.lake.purging = Recorded()
    return Referring(node, await node.opened())


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    """What children know, and tests that run their code here."""
    for known in (surveying._known, surveying._referred, gaps._known):
        known.clear()
    yield
    for known in (surveying._known, surveying._referred, gaps._known):
        known.clear()
