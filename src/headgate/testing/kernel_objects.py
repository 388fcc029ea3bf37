"""Conformance of objects: of any size, whole on every node; versioned ones change one at a time."""

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import count

import pytest

from headgate.errors import ObjectNotFound, OutcomeUnknown, TooLarge, Unavailable, WrongType
from headgate.kernel.draft import Draft
from headgate.kernel.head import Head
from headgate.kernel.kernel import Kernel
from headgate.kernel.leases import NodeLease
from headgate.kernel.levels import FormatLevel
from headgate.kernel.objects import Foreign
from headgate.kernel.records import Outcome, PointerKey
from headgate.limits import COMPRESS_ABOVE_BYTES, ROW_BYTES_MAX
from headgate.testing.callers import commit, entries_of, patiently

MIB = 1 << 20
SIZES = (
    *(0, 50, COMPRESS_ABOVE_BYTES, COMPRESS_ABOVE_BYTES + 1),
    *(ROW_BYTES_MAX - 100, ROW_BYTES_MAX, 2 * ROW_BYTES_MAX + 1, MIB, 13 * MIB),
)
INCREMENTS = 12

Settle = Callable[[], Awaitable[None]]
"""Lets all writes land whose answers were lost."""


class ObjectConformance:
    """What one node stores the other reads."""

    async def test_objects_of_any_size_are_read_whole_on_the_other_node(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """From nothing to 13 MiB, in one row and in many, written together and read one by one."""
        noise = random.Random(3)
        objects = {node.ids.next(): _blob(noise.randbytes(size)) for size in SIZES}
        await patiently(lambda: node.realm(key.realm).write(objects))

        for id, value in objects.items():
            found = await patiently(partial(other_node.realm(key.realm).get, id, Foreign))
            own = await patiently(partial(node.realm(key.realm).get, id, Foreign))
            assert _digest(found) == _digest(own) == _digest(value)

    async def test_objects_of_many_rows_are_fetched_in_one_batch(
        self, node: Kernel, other_node: Kernel, key: PointerKey, settle: Settle
    ) -> None:
        """Large and small ones, absent ones among them; deleted ones are gone, others stay."""
        noise = random.Random(4)
        sizes = (3 * ROW_BYTES_MAX, 50, 2 * ROW_BYTES_MAX, 1000)
        objects = {node.ids.next(): _blob(noise.randbytes(size)) for size in sizes}
        absent = node.ids.next()
        await patiently(lambda: node.store.write(key.realm, objects))

        wanted = [*objects, absent]
        found = await patiently(lambda: other_node.store.fetch(key.realm, wanted))
        assert _digests(found) == _digests(objects)
        first, *rest = objects
        await settle()  # a write that lands late would bring back what is deleted now
        await patiently(lambda: other_node.store.delete(key.realm, [first, absent]))
        left = await patiently(lambda: other_node.store.fetch(key.realm, wanted))
        assert _digests(left) == _digests({id: objects[id] for id in rest})
        with pytest.raises(ObjectNotFound):
            await patiently(lambda: other_node.realm(key.realm).get(absent, Foreign))

    async def test_objects_of_a_commit_are_there_once_it_is_seen(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Objects staged by attempts, small and of several rows, are read through the index."""
        noise = random.Random(5)
        blobs = {
            str(size).encode(): _blob(noise.randbytes(size))
            for size in (50, ROW_BYTES_MAX, 2 * MIB)
        }

        def attempt(name: bytes, draft: Draft) -> None:
            draft.index("blobs").put(name, str(draft.stage(blobs[name])).encode())

        await asyncio.gather(*(commit(node, key, partial(attempt, name)) for name in blobs))

        stored = await entries_of(other_node, key, "blobs")
        assert stored.keys() == blobs.keys()
        for name, id in stored.items():
            get = partial(other_node.realm(key.realm).get, int(id), Foreign)
            assert _digest(await patiently(get)) == _digest(blobs[name])

    async def test_an_object_of_another_type_is_refused(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """An id that belongs to something else is a named error, cached or not."""
        id = node.ids.next()
        await patiently(lambda: node.realm(key.realm).write({id: _blob(b"no head")}))

        for kernel in (node, other_node, other_node):
            with pytest.raises(WrongType):
                await patiently(partial(kernel.realm(key.realm).get, id, Head))

    async def test_a_versioned_object_counts_every_acknowledged_change(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Two nodes count up one row by its version; none overwrites what it has not seen."""
        id = node.ids.next()
        versions = count(1)
        await patiently(lambda: node.store.insert(key.realm, id, FormatLevel(0), next(versions)))
        told: list[Outcome | None] = []  # None is unknown

        async def increment(kernel: Kernel) -> None:
            applied = 0
            while applied < INCREMENTS:
                row = (await patiently(lambda: kernel.store.read_versioned(key.realm, [id])))[id]
                assert isinstance(row.value, FormatLevel)
                new = FormatLevel(row.value.level + 1)
                update = partial(kernel.store.update, key.realm, id, new, expected=row.version)
                try:
                    told.append(await update(version=next(versions)))
                except OutcomeUnknown:
                    told.append(None)
                except Unavailable:
                    continue
                applied += told[-1] is Outcome.APPLIED

        await asyncio.gather(*map(increment, [node, other_node, node, other_node]))

        row = (await patiently(lambda: other_node.store.read_versioned(key.realm, [id])))[id]
        assert isinstance(row.value, FormatLevel)
        acknowledged = told.count(Outcome.APPLIED)
        assert acknowledged == 4 * INCREMENTS
        assert acknowledged <= row.value.level <= acknowledged + told.count(None)

    async def test_a_versioned_object_obeys_its_version(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Insert once, no stale update or removal, nothing without a row, nothing over one row."""
        id = node.ids.next()
        strong = _Strong(key.realm, id)
        assert await strong.settles(node, version=1, level=1)
        assert not await strong.settles(other_node, version=2, level=2)
        assert await strong.settles(other_node, expected=1, version=2, level=2)
        assert not await strong.settles(node, expected=1, version=3, level=3)
        assert not await strong.removes(node, expected=1)
        assert await strong.removes(node, expected=2)
        assert not await strong.settles(other_node, expected=2, version=4, level=4)
        large = NodeLease(1, random.Random(6).randbytes(ROW_BYTES_MAX).hex(), 0, 0, 0, 1)
        with pytest.raises(TooLarge):
            await node.store.insert(key.realm, id, large, 5)
        assert await patiently(lambda: node.store.read_versioned(key.realm, [id])) == {}


class _Strong:
    """One versioned object, written by a caller that reads after an unknown outcome."""

    def __init__(self, realm: str, id: int) -> None:
        self._realm = realm
        self._id = id

    async def settles(self, kernel: Kernel, *, version: int, level: int, expected: int = 0) -> bool:
        """Insert, or update if a version is expected: True if it is ours now."""
        value = FormatLevel(level)
        store, place = kernel.store, (self._realm, self._id)

        async def write() -> bool:
            if await ours():
                return True
            if expected:
                outcome = await store.update(*place, value, expected=expected, version=version)
            else:
                outcome = await store.insert(*place, value, version)
            return outcome is Outcome.APPLIED or await ours()  # an earlier delivery may have won

        async def ours() -> bool:
            rows = await store.read_versioned(self._realm, [self._id])
            return self._id in rows and rows[self._id].version == version

        return await patiently(write)

    async def removes(self, kernel: Kernel, *, expected: int) -> bool:
        """Remove it: True if it had this version."""
        rows = await patiently(lambda: kernel.store.read_versioned(self._realm, [self._id]))
        had = rows[self._id].version == expected
        removed = await patiently(lambda: kernel.store.remove(self._realm, self._id, expected))
        gone = not await patiently(lambda: kernel.store.read_versioned(self._realm, [self._id]))
        assert gone == had
        assert had or removed is Outcome.LOST
        return gone


def _blob(payload: bytes) -> Foreign:
    return Foreign("conformance-blob", payload)


def _digest(value: object) -> tuple[int, str]:
    """What tells two blobs apart, short enough to be shown."""
    assert isinstance(value, Foreign), value
    return len(value.payload), hashlib.sha256(value.payload).hexdigest()


def _digests(values: Mapping[int, object]) -> dict[int, tuple[int, str]]:
    return {id: _digest(value) for id, value in values.items()}
