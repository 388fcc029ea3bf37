"""Runs the attempts of a batch, one after the other, on one draft.

They run on the event loop, so what they may do there is bounded. An attempt that exceeds the bound
is undone, marked as large and left out; later it is run alone, in a thread.
"""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from headgate.errors import HeadgateError, InvalidInput, NoNodeId, TooLarge, Unavailable
from headgate.kernel import operations
from headgate.kernel.draft import Draft, Savepoint
from headgate.kernel.index import PageShelf
from headgate.kernel.tree import Missing
from headgate.limits import ATTEMPT_ENTRIES_MAX, BATCH_ENTRIES_MAX

Attempt = Callable[[Draft], Any]


class Request:
    """One caller's attempt, and where its answer goes."""

    __slots__ = ("attempt", "deadline", "future", "is_large", "operation", "sealed")

    def __init__(
        self, attempt: Attempt, operation: bytes, timeout_seconds: float, *, sealed: bool = False
    ) -> None:
        loop = asyncio.get_running_loop()
        self.attempt = attempt
        self.operation = operation
        self.sealed = sealed
        """Whether it may change what is sealed."""
        self.is_large = False
        """Whether it did more than an attempt may do on the event loop."""
        self.deadline = loop.time() + timeout_seconds
        self.future: asyncio.Future[Any] = loop.create_future()

    def resolve(self, result: object) -> None:
        """Give the caller its answer, unless it has gone."""
        if not self.future.done():
            self.future.set_result(result)

    def refuse(self, error: BaseException) -> None:
        """Tell the caller why not, unless it has gone."""
        if self.future.done():
            return
        if isinstance(error, StopIteration):  # a future takes none: it would end generators
            stopped = RuntimeError("the attempt raised StopIteration")
            stopped.__cause__ = error
            error = stopped
        self.future.set_exception(error)


class Answer(msgspec.Struct, frozen=True):
    """What to tell a caller once its batch is settled."""

    request: Request
    result: object
    error: BaseException | None

    def deliver(self) -> None:
        """Tell it."""
        if self.error is None:
            self.request.resolve(self.result)
        else:
            self.request.refuse(self.error)


async def run_attempts(draft: Draft, shelf: PageShelf, requests: Sequence[Request]) -> list[Answer]:
    """The answers to these requests, in order, until the draft is as large as a batch may be.

    Requests that turn out to be large are not answered and leave no trace in the draft. One that is
    known to be large is run if it is the only one: in a thread, which alone uses the draft and the
    shelf meanwhile.
    """
    answers = []
    cold = dict.fromkeys(requests)  # those not run yet that may miss something
    for request in requests:
        cold.pop(request, None)
        if request.is_large and len(requests) > 1:
            continue
        answer = await _run(draft, shelf, request, cold)
        if answer is not None:
            answers.append(answer)
        if draft.is_full:
            break
        if draft.work.is_turn_over:
            await draft.work.give_way()
    if draft.changed:
        await _expire_operations(draft, shelf)
    return answers


async def _run(
    draft: Draft, shelf: PageShelf, request: Request, cold: dict[Request, None]
) -> Answer | None:
    """One attempt, again after each fetch of what it missed, undone if it fails; None if it turns
    out to be large.

    What was missed is known to the shelf, so an attempt that swallows `Missing` is run again too.
    """
    while True:
        savepoint = draft.savepoint()
        shelf.missed.clear()
        if request.is_large:
            draft.work.allow(ATTEMPT_ENTRIES_MAX)
            result, error = await _run_in_thread(draft, savepoint, request)
        else:
            draft.work.allow(BATCH_ENTRIES_MAX)
            result, error = _outcome(draft, savepoint, request)
        if error is None and not shelf.missed and not draft.work.is_overrun:
            return Answer(request, result, None)
        if isinstance(error, NoNodeId):
            raise error  # not this attempt's fault: the batch is tried again
        draft.restore(savepoint)
        if draft.work.is_overrun:
            return _overrun(request)
        if not shelf.missed:
            return Answer(request, None, error)
        try:
            await _fetch(draft, shelf, cold)
        except Unavailable:
            raise  # nor is this
        except Exception as lost:  # noqa: BLE001  only its caller is told
            return Answer(request, None, lost)
        if draft.work.is_turn_over:
            await draft.work.give_way()


async def _run_in_thread(
    draft: Draft, savepoint: Savepoint, request: Request
) -> tuple[object, BaseException | None]:
    try:
        return await asyncio.to_thread(_outcome, draft, savepoint, request)
    except BaseException:
        draft.work.allow(-1)  # nothing waits for it any more: it ends when it counts the next entry
        raise


def _outcome(
    draft: Draft, savepoint: Savepoint, request: Request
) -> tuple[object, BaseException | None]:
    """What an attempt returns, or what it raises."""
    try:
        return _attempt(draft, savepoint, request), None
    except BaseException as raised:  # noqa: BLE001  whatever it is, only its caller is told
        return None, raised


def _overrun(request: Request) -> Answer | None:
    """The answer to a request whose attempt did more than was allowed; None if it may do more in
    a thread."""
    if not request.is_large:
        request.is_large = True
        return None
    error = TooLarge(
        "the commit was not made",
        why=f"it looks at or changes more than {ATTEMPT_ENTRIES_MAX:,} entries",
        fix="Divide it into several ones",
    )
    return Answer(request, None, error)


async def _fetch(draft: Draft, shelf: PageShelf, cold: dict[Request, None]) -> None:
    """Fetch what an attempt missed, and along with it what those behind it will miss.

    On a head of another node all of them miss something. Each for itself, one after the other, they
    would read for so long that the next swap is lost as well.
    """
    own = frozenset(shelf.missed)
    together = set(own)
    for request in list(cold):
        if draft.work.is_turn_over:
            break
        missed = _rehearse(draft, shelf, request)
        together |= missed
        if not missed:
            del cold[request]
    try:
        await shelf.fetch(Missing(together))
    except Unavailable:
        raise
    except Exception:  # noqa: BLE001  the trouble may be another one's, who is told in turn
        await shelf.fetch(Missing(own))


def _rehearse(draft: Draft, shelf: PageShelf, request: Request) -> set[int]:
    """What an attempt misses now, nothing if it is large; what it does is undone."""
    if request.is_large:
        return set()
    shelf.missed.clear()
    savepoint = draft.savepoint()
    draft.work.allow(BATCH_ENTRIES_MAX)
    with suppress(BaseException):  # it is told when it is run
        _call(draft, request)
    draft.restore(savepoint)
    request.is_large = draft.work.is_overrun
    return set() if request.is_large else set(shelf.missed)


def _attempt(draft: Draft, savepoint: Savepoint, request: Request) -> object:
    known, result = _call(draft, request)
    if known:
        return result
    if request.operation:
        operations.record(draft.tree(operations.INDEX), request.operation, result, draft.now_ms)
    draft.accept(savepoint, request.operation)
    return result


def _call(draft: Draft, request: Request) -> tuple[bool, object]:
    """Whether the operation was done before, and what it or the attempt came to."""
    if request.operation:
        known = operations.find(draft.tree(operations.INDEX), request.operation, draft.now_ms)
        if known is not None:
            return True, known
    if not request.sealed:
        draft.check_open()
    result = request.attempt(draft)
    if inspect.iscoroutine(result):
        result.close()
        raise InvalidInput(
            "the attempt cannot be run",
            why="it is a coroutine function",
            fix="Pass a plain function; fetch what it needs before",
        )
    return False, result


async def _expire_operations(draft: Draft, shelf: PageShelf) -> None:
    """Drop old operation ids. If their index cannot be read, that is left to those who need it."""
    while True:
        savepoint = draft.savepoint()
        draft.work.allow(BATCH_ENTRIES_MAX)  # it needs far less
        try:
            return operations.expire(draft.tree(operations.INDEX), draft.now_ms)
        except Missing as missing:
            draft.restore(savepoint)
            try:
                await shelf.fetch(missing)
            except Unavailable:
                raise
            except HeadgateError:
                return None
