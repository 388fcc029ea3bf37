"""Stores that are swept as a whole, on each database."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from headgate.testing.kernels import Rig
from tests.authorization.conftest import make_rig
from tests.authorization.guarded import GuardedWorld, guarded_world

__all__ = ["make_rig"]


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def world(
    request: pytest.FixtureRequest, make_rig: Callable[[str], Rig], tmp_path: Path
) -> AsyncIterator[GuardedWorld]:
    """A database and a warehouse, without nodes."""
    async with guarded_world(make_rig(request.param), tmp_path) as world:
        yield world
