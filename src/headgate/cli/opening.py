"""From the shared options to an open kernel, for as long as one command needs it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from headgate.cli.options import Run
from headgate.kernel.kernel import Kernel
from headgate.wiring import open_kernel

T = TypeVar("T")


def with_kernel(run: Run, work: Callable[[Kernel], Awaitable[T]], *, writable: bool) -> T:
    """Open the store that the settings name, do this work on it, and close it.

    Who only reads makes no store: one that is not there is most likely looked for in a wrong place.
    """

    async def opened() -> T:
        async with open_kernel(run.settings, writable=writable, create=writable) as kernel:
            return await work(kernel)

    return asyncio.run(opened())
