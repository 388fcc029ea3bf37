"""These tests need a whole server, without a port: two tenants on one store, and several attackers.

They run on local files. What object stores enforce of vended keys is proven in `tests/storage`, on
MinIO.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.authorization.sites import Mode, Place, fronts
from tests.non_interference.tenants import Tenants


@pytest.fixture
async def tenants(tmp_path: Path) -> AsyncIterator[Tenants]:
    """A victim with tables, and attackers with one small right each."""
    async with fronts(Mode(), Place(tmp_path), 1) as site:
        made = Tenants(site, tmp_path)
        await made.furnish()
        yield made
