"""Answers made smaller, for clients that ask for it."""

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache, partial

import zstandard

from headgate.http.long_bodies import LongBody
from headgate.kernel.cache import CacheStatistics
from headgate.limits import COMPRESS_IN_THREAD_ABOVE_BYTES, COMPRESSED_ENTRY_BYTES

LEVEL = 1  # the answer is wanted now: higher levels cost more time than they save
GZIP_FORMAT = 31  # window bits of zlib that mean "with a gzip header"
CODINGS = ("zstd", "gzip")  # the better first


@lru_cache(maxsize=256)
def choose_coding(accepted: str) -> str | None:
    """The coding to use for this Accept-Encoding, None to leave an answer as it is."""
    weights = dict(_weight(part) for part in accepted.split(","))
    anything = weights.get("*", 0.0)
    offers = [(weights.get(coding, anything), coding) for coding in CODINGS]
    weight, coding = max(offers, key=lambda offer: offer[0])
    return coding if weight > 0 else None


async def compress(body: bytes | LongBody, coding: str) -> bytes:
    """The body in this coding; a large one is compressed beside the event loop."""
    if len(body) > COMPRESS_IN_THREAD_ABOVE_BYTES:
        return await asyncio.to_thread(compress_now, body, coding)
    return compress_now(body, coding)


class CompressedBodies:
    """Bodies that were compressed, by what they are a function of: the next one is not.

    There is room for so many bytes; what was not asked for longest goes first.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = self._hits = self._misses = 0
        self._joined = self._evictions = self._rejected = 0
        self._kept: OrderedDict[tuple[Hashable, str], bytes] = OrderedDict()
        self._under_way: dict[tuple[Hashable, str], asyncio.Task[bytes]] = {}

    @property
    def statistics(self) -> CacheStatistics:
        """What is kept, and how often that was of use."""
        return CacheStatistics(
            entries=len(self._kept),
            bytes=self._bytes,
            capacity_bytes=self._bytes_max,
            hits=self._hits,
            misses=self._misses,
            joined=self._joined,
            evictions=self._evictions,
            rejected=self._rejected,
        )

    async def get(self, key: Hashable, body: bytes | LongBody, coding: str) -> bytes:
        """The body in this coding; of several who ask at once, one waits for the other."""
        place = key, coding
        kept = self._kept.get(place)
        if kept is not None:
            self._hits += 1
            self._kept.move_to_end(place)
            return kept
        self._misses += 1
        task = self._under_way.get(place)
        self._joined += task is not None
        if task is None:
            task = asyncio.create_task(compress(body, coding))
            self._under_way[place] = task
            task.add_done_callback(partial(self._keep, place))
        return await asyncio.shield(task)  # who goes away does not spoil it for others

    def _keep(self, place: tuple[Hashable, str], task: asyncio.Task[bytes]) -> None:
        del self._under_way[place]
        if task.cancelled() or task.exception() is not None:
            return
        compressed = task.result()
        if COMPRESSED_ENTRY_BYTES + len(compressed) > self._bytes_max:
            self._rejected += 1
            return
        self._kept[place] = compressed
        self._bytes += COMPRESSED_ENTRY_BYTES + len(compressed)
        while self._bytes > self._bytes_max:
            _, evicted = self._kept.popitem(last=False)
            self._bytes -= COMPRESSED_ENTRY_BYTES + len(evicted)
            self._evictions += 1


def compress_now(body: bytes | LongBody, coding: str) -> bytes:
    """The body in this coding: for handlers that keep compressed answers, too."""
    if isinstance(body, LongBody):
        return _compress_pieces(body, coding)
    if coding == "zstd":
        return zstandard.ZstdCompressor(level=LEVEL).compress(body)
    return zlib.compress(body, LEVEL, GZIP_FORMAT)


def _compress_pieces(body: LongBody, coding: str) -> bytes:
    """The same of a body that is never put together: a copy of it would take its memory again."""
    if coding == "zstd":
        zstd = zstandard.ZstdCompressor(level=LEVEL).compressobj(size=len(body))
        return b"".join([*map(zstd.compress, body.pieces()), zstd.flush()])
    gzip = zlib.compressobj(LEVEL, wbits=GZIP_FORMAT)
    return b"".join([*map(gzip.compress, body.pieces()), gzip.flush()])


def _weight(part: str) -> tuple[str, float]:
    """A coding and how much it is wanted, from 0 to 1."""
    coding, *options = part.split(";")
    weight = 1.0
    for option in options:
        name, _, value = option.partition("=")
        if name.strip().lower() == "q":
            try:
                weight = float(value)
            except ValueError:
                weight = 0.0
    return coding.strip().lower(), weight
