"""What a thread that runs an attempt is given by the event loop."""

import asyncio

from headgate.kernel.kernel import Kernel
from headgate.kernel.workbench import LOANED_IDS, LoanedIds


async def test_ids_of_a_thread_and_of_the_event_loop_are_never_the_same(kernel: Kernel) -> None:
    """Both make them at the same time; each sees its own increase."""
    loaned = LoanedIds(kernel.ids)

    def borrow() -> list[int]:
        return [loaned.next() for _ in range(10 * LOANED_IDS)]

    borrowing = asyncio.create_task(asyncio.to_thread(borrow))
    own = []
    while not borrowing.done():
        own.append(kernel.ids.next())
        await asyncio.sleep(0)
    borrowed = await borrowing

    assert borrowed == sorted(borrowed)
    assert len({*own, *borrowed}) == len(own) + len(borrowed)


async def test_ids_can_be_loaned_to_the_event_loop_itself(kernel: Kernel) -> None:
    """Where a loop runs its threads' work by itself, it does not wait for itself."""
    loaned = LoanedIds(kernel.ids)

    assert loaned.next() < loaned.next() < kernel.ids.next()
