"""Answers made smaller, for clients that ask for it."""

import asyncio
import zlib
from functools import lru_cache

import zstandard

COMPRESS_ABOVE_BYTES = 1024  # below, the headers weigh more
COMPRESS_IN_THREAD_ABOVE_BYTES = 65_536  # about a millisecond; both libraries release the GIL
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


async def compress(body: bytes, coding: str) -> bytes:
    """The body in this coding; a large one is compressed beside the event loop."""
    if len(body) > COMPRESS_IN_THREAD_ABOVE_BYTES:
        return await asyncio.to_thread(compress_now, body, coding)
    return compress_now(body, coding)


def compress_now(body: bytes, coding: str) -> bytes:
    """The body in this coding: for handlers that keep compressed answers, too."""
    if coding == "zstd":
        return zstandard.ZstdCompressor(level=LEVEL).compress(body)
    return zlib.compress(body, LEVEL, GZIP_FORMAT)


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
