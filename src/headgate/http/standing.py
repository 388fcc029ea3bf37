"""Answers that stand: given again as long as all that they rest on is as it was.

What a catalog answers is a function of the request and of a few pointers. Whether these have moved
is told by one read of the database, which every request makes anyway; if they have not, nothing
needs to be worked out again. Now and then it is all the same: files vanish without a word.
"""

from collections.abc import MutableMapping, Sequence
from typing import Any, NamedTuple, cast

from headgate.errors import HeadgateError
from headgate.http.long_bodies import LongBody
from headgate.http.request import Ground, Request
from headgate.http.router import Route
from headgate.kernel.cache import Cache
from headgate.limits import STANDING_ANSWERS_BYTES, STANDING_SECONDS

READING = frozenset({"GET", "HEAD"})
ENTRY_BYTES = 2_000  # about, without the body

Scope = MutableMapping[str, Any]


class Answer(NamedTuple):
    """What is sent, and what the log and the measures say about it."""

    request: Request
    route: Route | None
    path: str
    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes | LongBody
    ground: Ground | None = None
    """None if it does not stand."""


class StandingAnswers:
    """Answers to requests that were the same to the byte."""

    def __init__(self) -> None:
        self._answers = Cache(STANDING_ANSWERS_BYTES)

    async def find(self, scope: Scope, now: float) -> Answer | None:
        """The answer to this request, if one stands."""
        if scope["method"] not in READING:
            return None
        key = _key(scope)
        found = self._answers.find(key)
        if found is None:
            return None
        answer, ground, until = cast("tuple[Answer, Ground, float]", found)
        if until > now and await _holds(ground):
            return answer
        self._answers.drop(key)
        return None

    def keep(self, scope: Scope, answer: Answer, now: float) -> None:
        """Give this answer again for a while, unless it does not stand."""
        if answer.ground is not None and scope["method"] in READING:
            value = answer, answer.ground, now + STANDING_SECONDS
            self._answers.put(_key(scope), value, ENTRY_BYTES + len(answer.body))


async def _holds(ground: Ground) -> bool:
    try:
        return await ground.holds()
    except HeadgateError:
        return False  # working the answer out again says what is wrong


def _key(scope: Scope) -> tuple[Any, ...]:
    return (scope["method"], scope["raw_path"], scope["query_string"], *scope["headers"])
