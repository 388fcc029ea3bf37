"""Stores on disk with a lake in them, for commands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from headgate.catalog.catalogs import bootstrap
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.polling import per_request
from headgate.settings.loading import load
from headgate.testing.kernels import Rig
from headgate.wiring import open_kernel
from tests.unit.catalog.lakes import CATALOG, LOCAL, METALAKE, OPTIONS, UNGUARDED, Node, World


@asynccontextmanager
async def opened_store(folder: Path) -> AsyncIterator[Node]:
    """A node on the store in this folder, which has a catalog and a namespace `a`."""
    world = World(Rig(), folder, LOCAL)
    async with open_kernel(load(sets=[f"data={folder}"])) as kernel:
        is_new = not await kernel.realms.list()
        await bootstrap(kernel, METALAKE, CatalogEntity(0, CATALOG, world.warehouse, {}))
        node = Node(world, kernel, OPTIONS, UNGUARDED, per_request(kernel))
        if is_new:
            await node.namespace("a")
        yield node
        await node.close()
