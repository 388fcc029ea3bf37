"""From the shared options to an open kernel, for as long as one command needs it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from headgate.cli.options import Run
from headgate.errors import BadSetting
from headgate.kernel.kernel import Kernel
from headgate.settings.store import BACKEND
from headgate.wiring import open_kernel

T = TypeVar("T")


def with_kernel(
    run: Run,
    work: Callable[[Kernel], Awaitable[T]],
    *,
    writable: bool,
    create: bool | None = None,
    names: bool = False,
    repair: bool = False,
) -> T:
    """Open the store that the settings name, do this work on it, and close it.

    Who only reads makes no store, nor who needs what is in it: one that is not there is most
    likely looked for in a wrong place. Who writes `names`, or what they are checked with, needs
    the separator that the nodes of the store have. With `repair` the newest commit may lie in the
    future.
    """
    create = writable if create is None else create
    if run.settings[BACKEND] == "memory:":
        raise BadSetting(
            "the backend memory: cannot be used by this command",
            why="memory: lives only inside of a server",
            fix="Name a store with --data DIR or --backend URL",
        )

    async def opened() -> T:
        opening = open_kernel(
            run.settings, writable=writable, create=create, names=names, repair=repair
        )
        async with opening as kernel:
            if names:
                await kernel.share_separator()
            return await work(kernel)

    return asyncio.run(opened())
