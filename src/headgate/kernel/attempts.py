"""Runs the attempts of a batch, one after the other, on one draft."""

import asyncio
import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from headgate.errors import HeadgateError, InvalidInput, Unavailable, for_another_caller
from headgate.kernel import operations
from headgate.kernel.draft import Draft, Savepoint
from headgate.kernel.index import PageShelf
from headgate.kernel.tree import Missing
from headgate.limits import BATCH_BYTES_MAX

Attempt = Callable[[Draft], Any]


class Request:
    """One caller's attempt, and where its answer goes."""

    __slots__ = ("attempt", "future", "operation", "timer")

    timer: asyncio.TimerHandle  # ends the wait of one that entered a lane

    def __init__(self, attempt: Attempt, operation: bytes) -> None:
        self.attempt = attempt
        self.operation = operation
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def resolve(self, result: object) -> None:
        """Give the caller its answer, unless it has gone."""
        if not self.future.done():
            self.future.set_result(result)

    def refuse(self, error: BaseException) -> None:
        """Tell the caller why not, unless it has gone."""
        if not self.future.done():
            self.future.set_exception(_for_future(error))


class Answer(NamedTuple):
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
    for request in requests:
        answers.append(await _run(draft, shelf, request))
        if draft.staged_bytes > BATCH_BYTES_MAX:
            break
    if draft.changed:
        await _expire_operations(draft, shelf)
    return answers


async def _run(draft: Draft, shelf: PageShelf, request: Request) -> Answer:
    """One attempt, again after each fetch of what it missed, undone if it fails."""
    while True:
        savepoint = draft.savepoint()
        try:
            return Answer(request, _attempt(draft, savepoint, request), None)
        except Missing as missing:
            draft.restore(savepoint)
            try:
                await shelf.fetch(missing)
            except Unavailable:
                raise  # not this attempt's fault: the batch is tried again
            except HeadgateError as error:
                return Answer(request, None, error)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  only its caller is told
            draft.restore(savepoint)
            return Answer(request, None, error)


def _attempt(draft: Draft, savepoint: Savepoint, request: Request) -> object:
    if request.operation:
        known = operations.find(draft.tree(operations.INDEX), request.operation, draft.now_ms)
        if known is not None:
            return known
    draft.check_open()
    result = request.attempt(draft)
    if inspect.iscoroutine(result):
        result.close()
        raise InvalidInput(
            "the attempt cannot be run",
            why="it is a coroutine function",
            fix="Pass a plain function; fetch what it needs before",
        )
    if request.operation:
        operations.record(draft.tree(operations.INDEX), request.operation, result, draft.now_ms)
    draft.accept(savepoint, request.operation)
    return result


async def _expire_operations(draft: Draft, shelf: PageShelf) -> None:
    while True:
        savepoint = draft.savepoint()
        try:
            return operations.expire(draft.tree(operations.INDEX), draft.now_ms)
        except Missing as missing:
            draft.restore(savepoint)
            await shelf.fetch(missing)


def _for_future(error: BaseException) -> BaseException:
    """The error as one caller's own. A future takes no StopIteration: it would end generators."""
    if isinstance(error, StopIteration):
        stopped = RuntimeError("the attempt raised StopIteration")
        stopped.__cause__ = error
        return stopped
    return for_another_caller(error) if isinstance(error, Exception) else error
