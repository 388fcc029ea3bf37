"""Which coding is used, and that it can be undone."""

import zlib

import pytest
import zstandard

from headgate.http.compression import (
    COMPRESS_IN_THREAD_ABOVE_BYTES,
    choose_coding,
    compress,
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
