"""Runs the attempts of a batch, one after the other, on one draft."""

import asyncio
import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec

from headgate.errors import HeadgateError, InvalidInput, NoNodeId, Unavailable
from headgate.kernel import operations
from headgate.kernel.draft import Draft, Savepoint
from headgate.kernel.index import PageShelf
from headgate.kernel.tree import Missing
from headgate.limits import BATCH_BYTES_MAX

Attempt = Callable[[Draft], Any]


class Request:
    """One caller's attempt, and where its answer goes."""

    __slots__ = ("attempt", "deadline", "future", "operation", "sealed")

    def __init__(
        self, attempt: Attempt, operation: bytes, timeout_seconds: float, *, sealed: bool = False
    ) -> None:
        loop = asyncio.get_running_loop()
        self.attempt = attempt
        self.operation = operation
        self.sealed = sealed
        """Whether it may change what is sealed."""
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


async def run_attempts(draft: Draft, shelf: PageShelf, requests: Iterable[Request]) -> list[Answer]:
    """The answers to these requests, in order, until the draft is as large as a batch may be."""
    answers = []
    cold = dict.fromkeys(requests)  # those not run yet that may miss something
    for request in list(cold):
        cold.pop(request, None)
        answers.append(await _run(draft, shelf, request, cold))
        if draft.staged_bytes > BATCH_BYTES_MAX:
            break
    if draft.changed:
        await _expire_operations(draft, shelf)
    return answers


async def _run(
    draft: Draft, shelf: PageShelf, request: Request, cold: dict[Request, None]
) -> Answer:
    """One attempt, again after each fetch of what it missed, undone if it fails.

    What was missed is known to the shelf, so an attempt that swallows `Missing` is run again too.
    """
    while True:
        savepoint = draft.savepoint()
        shelf.missed.clear()
        result, error = None, None
        try:
            result = _attempt(draft, savepoint, request)
        except NoNodeId:
            raise  # not this attempt's fault: the batch is tried again
        except BaseException as raised:  # noqa: BLE001  whatever it is, only its caller is told
            error = raised
        if error is not None or shelf.missed:
            draft.restore(savepoint)
        if not shelf.missed:
            return Answer(request, result, error)
        try:
            await _fetch(draft, shelf, cold)
        except Unavailable:
            raise  # nor is this
        except Exception as lost:  # noqa: BLE001  only its caller is told
            return Answer(request, None, lost)


async def _fetch(draft: Draft, shelf: PageShelf, cold: dict[Request, None]) -> None:
    """Fetch what an attempt missed, and along with it what those behind it will miss.

    On a head of another node all of them miss something. Each for itself, one after the other, they
    would read for so long that the next swap is lost as well.
    """
    own = frozenset(shelf.missed)
    together = set(own)
    for request in list(cold):
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
    """What an attempt misses now; what it does is undone."""
    shelf.missed.clear()
    savepoint = draft.savepoint()
    with suppress(BaseException):  # it is told when it is run
        _call(draft, request)
    draft.restore(savepoint)
    return set(shelf.missed)


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
