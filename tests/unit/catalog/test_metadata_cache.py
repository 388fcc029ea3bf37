"""What was read of metadata files is not read again, and never taken for that of others."""

from typing import Any

import pytest

from headgate.catalog.entities import TableEntity
from headgate.catalog.large_metadata import LargeMetadata
from headgate.catalog.metadata_cache import MetadataCache, State
from tests.unit.catalog.outside import InlineWorkers

CAPACITY_BYTES = 100


class CountedFiles:
    """Files whose content is their name, so many times."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.reads = 0

    async def read(self, location: str) -> bytes:
        self.reads += 1
        return location.encode() * self.size


def state(realm: str, object: int) -> State:
    return State(realm, object, TableEntity("", "", f"{realm}{object}"))


def files_of(size: int) -> Any:
    """The cache reads files, and does nothing else with them."""
    return CountedFiles(size)


def cache(capacity: int = CAPACITY_BYTES) -> MetadataCache:
    return MetadataCache(capacity, LargeMetadata(InlineWorkers()))


@pytest.mark.parametrize("size", [1, CAPACITY_BYTES])
async def test_metadata_of_any_size_is_read_once(size: int) -> None:
    """Also if it is larger than the cache: then the last one is kept."""
    kept, files = cache(), files_of(size)
    for _ in range(3):
        assert await kept.raw(files, state("r", 1)) == b"r1" * size
    assert files.reads == 1

    await kept.raw(files, state("r", 2))
    await kept.raw(files, state("r", 1))

    assert files.reads == (2 if size == 1 else 3)


async def test_a_cache_of_nothing_keeps_nothing() -> None:
    """Whoever says so wants the memory."""
    kept, files = cache(0), files_of(1)
    for _ in range(2):
        await kept.raw(files, state("r", 1))

    assert files.reads == 2


@pytest.mark.parametrize("size", [1, CAPACITY_BYTES])
async def test_the_same_id_in_another_realm_is_another_state(size: int) -> None:
    """Ids are unique in a realm; a realm may come from elsewhere."""
    kept, files = cache(), files_of(size)

    assert await kept.raw(files, state("r", 1)) == b"r1" * size
    assert await kept.raw(files, state("s", 1)) == b"s1" * size
    assert (await kept.present(files, state("r", 1))).key != (
        (await kept.present(files, state("s", 1))).key
    )
