"""Pure work that may take long: then it is done in a thread, and others have their turns.

The interpreter interrupts threads every few milliseconds. It takes no less time than here, so this
is for work that is too small to be sent to another process.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from headgate.limits import DEFINITIONS_INLINE_BYTES_MAX

R = TypeVar("R")


async def work_out(work: Callable[[], R], size: int) -> R:
    """What a pure function of so many bytes finds."""
    return await asyncio.to_thread(work) if size > DEFINITIONS_INLINE_BYTES_MAX else work()
