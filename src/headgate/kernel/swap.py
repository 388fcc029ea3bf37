"""One swap until its outcome is known: sent, and if the answer is lost sent again and looked up."""

import asyncio

from headgate.clock import Clock
from headgate.errors import BackendUnavailable, ObjectNotFound, OutcomeUnknown, PointerNotFound
from headgate.kernel.assemble import Assembled
from headgate.kernel.history import KnownHead
from headgate.kernel.log import commit_at
from headgate.kernel.objects import split
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.kernel.store import Store
from headgate.limits import RESOLVE_PAUSE_SECONDS_MAX, RESOLVE_PAUSE_SECONDS_MIN

KEPT_PER_TURN = 512  # objects of a large commit that are put into the cache before other tasks run


async def swap_head(
    store: Store, clock: Clock, key: PointerKey, assembled: Assembled, deadline: float
) -> Outcome:
    """Store the objects of a commit and swap its pointer; `OutcomeUnknown` if it stays unknown."""
    rows = [row for staged in assembled.objects for row in split(key.realm, staged.encoded)]
    expected = assembled.head.tail[0] if assembled.head.tail else EMPTY
    swap = Swap(key, expected, assembled.id)
    try:
        outcome = await store.backend.commit(rows, swap)
    except OutcomeUnknown:
        outcome = await _resolve(store, clock, rows, swap, assembled.head.seq, deadline)
    if outcome is Outcome.APPLIED:
        for at in range(0, len(assembled.objects), KEPT_PER_TURN):
            if at:
                await asyncio.sleep(0)
            for staged in assembled.objects[at : at + KEPT_PER_TURN]:
                store.keep(key.realm, staged.encoded, staged.value)
        store.history.note(key, KnownHead(assembled.head.seq, assembled.id))
        store.forget(key.realm, assembled.replaced)
    return outcome


async def _resolve(
    store: Store, clock: Clock, rows: list[Row], swap: Swap, seq: int, deadline: float
) -> Outcome:
    """What became of a swap whose answer was lost.

    The same swap is sent again: if it is applied now, the first never was and never will be. If it
    is lost, the pointer has left the expected value for good, and its history tells by which
    commit.
    """
    pause_seconds = RESOLVE_PAUSE_SECONDS_MIN
    while True:
        try:
            if await store.backend.commit(rows, swap) is Outcome.APPLIED:
                return Outcome.APPLIED
            return await _look_up(store, swap, seq)
        except PointerNotFound:
            return Outcome.LOST  # it was deleted, and with it whatever was committed
        except ObjectNotFound as cut:
            raise _unknown("its answer was lost and the history of that time is cut") from cut
        except (OutcomeUnknown, BackendUnavailable) as silent:
            if clock.seconds() >= deadline:
                why = "the database stopped answering while it was written"
                raise _unknown(why) from silent
        except Exception as error:  # whatever it is, the swap was sent
            raise _unknown(f"its answer was lost, and then: {error}") from error
        await clock.sleep(pause_seconds)
        pause_seconds = min(2 * pause_seconds, RESOLVE_PAUSE_SECONDS_MAX)


async def _look_up(store: Store, swap: Swap, seq: int) -> Outcome:
    """Whether the pointer's history holds this swap's commit; `ObjectNotFound` if it is cut."""
    [current] = await store.backend.read_pointers([swap.key])
    if current == swap.new:
        return Outcome.APPLIED
    if not current:
        return Outcome.LOST  # it was deleted, and with it whatever was committed
    landed = await commit_at(store, swap.key.realm, current, seq)
    return Outcome.APPLIED if landed == swap.new else Outcome.LOST


def _unknown(why: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        "the commit may or may not have been made",
        why=why,
        fix="Read before you try again; an operation id makes a repetition safe",
    )
