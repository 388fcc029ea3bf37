"""Catalogs and metalakes that are dropped with what is in them, by servers that may stop."""

from collections.abc import Callable
from functools import partial
from typing import Any

from headgate.catalog.calls import Call, Caller
from headgate.catalog.catalog_commits import remove_catalog
from headgate.catalog.catalogs import list_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.openings import head_pointer
from headgate.catalog.purging import LiveJob, end_job
from headgate.kernel.index import open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm
from headgate.kernel.records import PointerKey
from headgate.purge.commits import commit
from headgate.purge.queue import Queue
from tests.unit.catalog.lakes import MAIN, METALAKE, Node

ANN = Caller("ann")


class Stopped(Exception):
    """A server that stops at this point."""


def stop_after(kernel: Kernel, commits: int) -> Callable[[], None]:
    """Let a server stop when it has made so many commits; calling the answer lets it live."""
    committer, whole = kernel.committer, kernel.committer.commit
    left = commits

    async def counted(*arguments: Any, **more: Any) -> object:
        nonlocal left
        if not left:
            raise Stopped
        left -= 1
        return await whole(*arguments, **more)

    def live() -> None:
        committer.commit = whole  # type: ignore[method-assign]

    committer.commit = counted  # type: ignore[method-assign, assignment]
    return live


async def the_realm(node: Node) -> Realm:
    return await node.kernel.realms.get(METALAKE)


async def drop_main(node: Node) -> CatalogEntity:
    """Drop the catalog by force, with what is in it."""
    [main] = [one for one in await list_catalogs(node.kernel, METALAKE) if one.name == "main"]
    call = Call(MAIN, ANN, request="r1")
    await remove_catalog(node.kernel, await the_realm(node), call, main, force=True)
    return main


async def jobs(node: Node) -> list[LiveJob]:
    return await Queue(node.kernel).live_jobs()


async def tables(node: Node) -> list[str]:
    """Of the tables whose files are to be deleted."""
    return sorted(str(live.job.table) for live in await jobs(node))


async def end_jobs(node: Node) -> None:
    """Be done with all jobs, as workers would be."""
    for live in await jobs(node):
        attempt = partial(end_job, id=live.id)
        await commit(node.kernel, live.realm, head_pointer(live.catalog), attempt)


async def keys(node: Node, realm: str, pointer: str, index: str) -> list[bytes]:
    """What an index holds, whatever state its realm is in."""
    [value] = await node.kernel.pointers.read([PointerKey(realm, pointer)])
    head = await open_head(node.kernel.store, realm, value)
    return [key async for key, _ in head.index(index).scan()]


async def fill(node: Node) -> None:
    """Tables on two levels, and a view."""
    await node.namespace("a", "b")
    await node.table("t")
    await node.table("u", namespace="a%1Fb")
    await node.view("v")
