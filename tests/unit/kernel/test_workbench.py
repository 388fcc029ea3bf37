"""What a thread that runs an attempt is given by the event loop."""

import asyncio

from headgate.kernel.kernel import Kernel
from headgate.kernel.workbench import LOANED_IDS, LoanedIds
from tests.unit.kernel.conftest import CountedIds


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


async def test_a_pair_has_no_other_id_of_the_node_between_its_ids() -> None:
    """Also where the first would be the last one of a loan: a sweep relies on it."""
    ids = CountedIds()
    loaned = LoanedIds(ids)
    for _ in range(LOANED_IDS - 1):
        loaned.next()
    ids.next()  # of a commit beside it

    changes, head = await asyncio.to_thread(loaned.pair)

    assert head == changes + 1
