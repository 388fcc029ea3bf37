"""Which coding is used, and that it can be undone."""

import asyncio
import zlib
from collections.abc import Iterator

import pytest
import zstandard

from headgate.http.compression import (
    CompressedBodies,
    choose_coding,
    compress,
)
from headgate.http.long_bodies import LongBody
from headgate.kernel.cache import CacheStatistics
from headgate.limits import (
    COMPRESS_IN_THREAD_ABOVE_BYTES,
    COMPRESSED_ENTRY_BYTES,
    SENT_AT_ONCE_BYTES,
)


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("", None),
        ("identity", None),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("gzip, x-gzip, deflate", "gzip"),
        ("gzip, zstd", "zstd"),
        ("zstd;q=0.1, gzip;q=0.9", "gzip"),
        ("zstd;q=0, gzip;q=0", None),
        ("*", "zstd"),
        ("zstd;q=0, *;q=0.5", "gzip"),
        ("gzip;q=rubbish", None),
        ("gzip;level=9", "gzip"),
        ("br, deflate", None),
    ],
)
def test_the_coding_that_is_wanted_most_is_used(accepted: str, coding: str | None) -> None:
    """Zero means never; of two that are wanted alike, the better one."""
    assert choose_coding(accepted) == coding


@pytest.mark.parametrize("size", [2_000, COMPRESS_IN_THREAD_ABOVE_BYTES + 1])
async def test_what_is_compressed_comes_back(size: int) -> None:
    """In the loop or beside it."""
    body = bytes(at % 7 for at in range(size))

    assert zlib.decompress(await compress(body, "gzip"), 31) == body
    assert zstandard.decompress(await compress(body, "zstd")) == body


class Watched(LongBody):
    """A long body that counts how often all of it is gone through."""

    readings = 0

    def pieces(self) -> Iterator[bytes]:
        self.readings += 1
        return super().pieces()


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_a_long_body_is_gone_through_once(coding: str) -> None:
    """It comes back whole, and who asks again costs nothing."""
    content = bytes(at % 7 for at in range(SENT_AT_ONCE_BYTES + 1))
    body, again = Watched([b"{", content, b"}"]), Watched([b"{", content, b"}"])
    bodies = CompressedBodies(1 << 20)
    first, second = [await bodies.get("a", one, coding) for one in (body, again)]

    undo = zstandard.decompress if coding == "zstd" else lambda data: zlib.decompress(data, 31)
    assert undo(first) == b"{" + content + b"}"
    assert second is first
    assert (body.readings, again.readings) == (1, 0)


class Counted:
    """Compresses by marking, and counts how often."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        monkeypatch.setattr("headgate.http.compression.compress_now", self)

    def __call__(self, body: bytes, coding: str) -> bytes:
        self.count += 1
        return coding.encode() + body


async def test_what_was_not_asked_for_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many bytes are kept, and no more."""
    counted = Counted(monkeypatch)
    bodies = CompressedBodies(2 * (COMPRESSED_ENTRY_BYTES + 10))
    for key in ("a", "b", "a", "c", "a"):
        assert await bodies.get(key, b"123456", "gzip") == b"gzip123456"
    assert counted.count == 3

    await bodies.get("b", b"123456", "gzip")
    assert counted.count == 4
    room = 2 * (COMPRESSED_ENTRY_BYTES + 10)
    assert bodies.statistics == CacheStatistics(
        entries=2,
        bytes=room,
        capacity_bytes=room,
        hits=2,
        misses=4,
        joined=0,
        evictions=2,
        rejected=0,
    )


async def test_what_is_larger_than_all_room_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """And drives nothing else out."""
    counted = Counted(monkeypatch)
    bodies = CompressedBodies(COMPRESSED_ENTRY_BYTES + 10)
    await bodies.get("a", b"123456", "gzip")
    await bodies.get("b", b"1234567", "gzip")
    await bodies.get("b", b"1234567", "gzip")
    await bodies.get("a", b"123456", "gzip")

    assert counted.count == 3
    assert (bodies.statistics.rejected, bodies.statistics.evictions) == (2, 0)


async def test_who_goes_away_does_not_spoil_it_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several wait for one compression, and one of them is cancelled."""
    counted = Counted(monkeypatch)
    bodies = CompressedBodies(10_000)
    first = asyncio.create_task(bodies.get("a", b"1", "gzip"))
    second = asyncio.create_task(bodies.get("a", b"1", "gzip"))
    await asyncio.sleep(0)
    first.cancel()

    assert await second == b"gzip1"
    assert first.cancelled()
    assert counted.count == 1
    assert (bodies.statistics.misses, bodies.statistics.joined) == (2, 1)
