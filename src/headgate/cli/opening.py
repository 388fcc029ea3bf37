"""From the shared options to an open kernel, for as long as one command needs it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from headgate.cli.options import Run
from headgate.errors import BackendUnavailable
from headgate.kernel.kernel import Kernel
from headgate.settings.setting import Settings
from headgate.wiring import database_file, open_kernel

T = TypeVar("T")


def with_kernel(run: Run, work: Callable[[Kernel], Awaitable[T]], *, writable: bool) -> T:
    """Open the store that the settings name, do this work on it, and close it.

    Who only reads makes no store: one that is not there is most likely looked for in a wrong place.
    """
    if not writable:
        _check_there(run.settings)

    async def opened() -> T:
        async with open_kernel(run.settings, writable=writable) as kernel:
            return await work(kernel)

    return asyncio.run(opened())


def is_there(path: Path) -> bool:
    """Whether a file or folder can be seen."""
    try:
        return path.exists()
    except OSError:  # somebody does not let us look
        return False


def _check_there(settings: Settings) -> None:
    file = database_file(settings)
    if file is not None and not is_there(file):
        raise BackendUnavailable(
            "there is no store",
            why=f"{file} does not exist",
            fix="`headgate serve` makes it; --data DIR or --backend URL names another",
        )
