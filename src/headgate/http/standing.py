"""Answers that stand: given again as long as all that they rest on is as it was.

What a catalog answers is a function of the request and of its ground: a few pointers, and for a
table its metadata file. Whether these are as they were is told by one read of the database, which
every request makes anyway, and a look at the file; then nothing needs to be worked out again.
"""

from collections import OrderedDict
from collections.abc import MutableMapping, Sequence
from typing import Any, NamedTuple

from headgate.errors import HeadgateError
from headgate.http.long_bodies import LongBody
from headgate.http.request import Ground
from headgate.http.router import Route
from headgate.kernel.cache import CacheStatistics
from headgate.limits import STANDING_ANSWERS_BYTES, STANDING_BYTES_MAX, STANDING_ENTRY_BYTES

READING = frozenset({"GET", "HEAD"})
READ_HEADERS = frozenset(
    {
        b"accept",
        b"accept-encoding",
        b"authorization",
        b"host",
        b"idempotency-key",
        b"if-none-match",
        b"origin",
        b"x-gravitino-active-roles",
        b"x-iceberg-access-delegation",
    }
)
"""All headers that an answer may depend on."""
BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})

Scope = MutableMapping[str, Any]
Key = tuple[Any, ...]


class Answer(NamedTuple):
    """What is sent, and what the log and the measures say about it."""

    method: str
    path: str
    principal: str
    route: Route | None
    template: str
    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes | LongBody
    ground: Ground | None = None
    """None if it does not stand."""
    seconds: float = 0.0
    """That it may stand, however firm its ground is."""


class _Entry(NamedTuple):
    answer: Answer
    ground: Ground
    until: float
    bytes: int


class StandingAnswers:
    """Answers by what they depend on; the least recently given ones go first."""

    def __init__(self, capacity_bytes: int = STANDING_ANSWERS_BYTES) -> None:
        self._capacity_bytes = capacity_bytes
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()
        self._bytes = self._hits = self._misses = self._evictions = self._rejected = 0

    @property
    def statistics(self) -> CacheStatistics:
        """What is kept, and how often that was of use."""
        return CacheStatistics(
            entries=len(self._entries),
            bytes=self._bytes,
            capacity_bytes=self._capacity_bytes,
            hits=self._hits,
            misses=self._misses,
            joined=0,
            evictions=self._evictions,
            rejected=self._rejected,
        )

    async def find(self, scope: Scope, now: float) -> Answer | None:
        """The answer to this request, if one stands."""
        if scope["method"] not in READING:
            return None
        key = _key(scope)
        entry = self._entries.get(key)
        if entry is None:
            self._misses += 1
            return None
        if entry.until > now and await _holds(entry.ground):
            self._hits += 1
            if key in self._entries:
                self._entries.move_to_end(key)
            return entry.answer
        self._misses += 1
        self._drop(key)
        return None

    def keep(self, scope: Scope, answer: Answer, now: float) -> None:
        """Give this answer again for a while, unless it does not stand or takes too much room."""
        if answer.ground is None or scope["method"] not in READING:
            return
        key = _key(scope)
        size = _size(key) + len(answer.body)
        if size > STANDING_BYTES_MAX or any(name in BODY_HEADERS for name, _ in scope["headers"]):
            self._rejected += 1
            return
        self._drop(key)
        self._bytes += size
        self._entries[key] = _Entry(answer, answer.ground, now + answer.seconds, size)
        while self._bytes > self._capacity_bytes:
            _, oldest = self._entries.popitem(last=False)
            self._bytes -= oldest.bytes
            self._evictions += 1

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.bytes


async def _holds(ground: Ground) -> bool:
    try:
        return await ground.holds()
    except HeadgateError:
        return False  # working the answer out again says what is wrong


def _key(scope: Scope) -> Key:
    read = [header for header in scope["headers"] if header[0] in READ_HEADERS]
    return (scope["method"], scope["raw_path"], scope["query_string"], *read)


def _size(key: Key) -> int:
    """Of an entry without its body. What is in a path is kept a second time, as text."""
    _, path, query, *headers = key
    return (
        STANDING_ENTRY_BYTES + 2 * len(path) + len(query) + sum(len(a) + len(b) for a, b in headers)
    )
