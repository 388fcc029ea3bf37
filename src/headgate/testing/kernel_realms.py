"""Conformance of realms: their life, seen at once on every node, and nothing left at its end."""

import asyncio
from functools import partial

import pytest

from headgate.errors import (
    BadName,
    IllegalRealmMove,
    PointerNotFound,
    RealmExists,
    RealmNotActive,
    RealmNotFound,
)
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import Foreign
from headgate.kernel.realms import Realm, RealmState
from headgate.kernel.records import PointerKey
from headgate.kernel.system import REALM_POINTERS
from headgate.testing.callers import (
    Counter,
    check_counts,
    commit,
    create_realm,
    entries_of,
    head_of,
    patiently,
)

QUIET_CALLS = 20  # after which a late write of a fault injector has landed


class RealmLifeConformance:
    """Realms are made, switched off and on, and ended on one node, and the other knows."""

    async def test_a_realm_lives_from_creation_to_deletion(
        self, node: Kernel, other_node: Kernel, realm_name: str
    ) -> None:
        """Each step is taken on one node and seen on the other; then the name is free again."""
        created = await create_realm(node, realm_name)
        assert created.state is RealmState.ACTIVE
        assert await patiently(lambda: other_node.realms.get(realm_name)) == created
        assert await patiently(lambda: other_node.realms.get(created.id)) == created
        assert created in await patiently(other_node.realms.list)
        heads = await patiently(lambda: other_node.realm(created.id).heads(*REALM_POINTERS))
        assert [head.head.seq for head in heads] == [0] * len(REALM_POINTERS)

        await _move(other_node, created, "deactivate", RealmState.INACTIVE)
        await _move(node, created, "activate", RealmState.ACTIVE)
        await _move(other_node, created, "deactivate", RealmState.INACTIVE)
        await _move(node, created, "purge", RealmState.PURGED)
        await _delete(other_node, created)

        with pytest.raises(RealmNotFound):
            await patiently(lambda: node.realms.get(realm_name))
        again = await create_realm(other_node, realm_name)
        assert again.id != created.id

    async def test_of_two_creators_of_one_name_one_wins(
        self, node: Kernel, other_node: Kernel, realm_name: str
    ) -> None:
        """The other is told that the realm exists."""

        async def reserve(kernel: Kernel) -> Realm | None:
            try:
                return await patiently(lambda: kernel.realms.reserve(realm_name))
            except RealmExists:
                return None

        nodes = [node, other_node, node, other_node]
        winners = [realm for realm in await asyncio.gather(*map(reserve, nodes)) if realm]
        assert winners == [await patiently(lambda: node.realms.get(realm_name))]

    async def test_illegal_moves_are_refused_and_change_nothing(
        self, node: Kernel, other_node: Kernel, realm_name: str
    ) -> None:
        """An ACTIVE realm is neither purged nor deleted; reserved and empty names are no names."""
        realm = await create_realm(node, realm_name)

        with pytest.raises(IllegalRealmMove):
            await patiently(lambda: other_node.realms.purge(realm_name))
        with pytest.raises(IllegalRealmMove):
            await patiently(lambda: other_node.realms.delete(realm_name))
        with pytest.raises(IllegalRealmMove):
            await patiently(lambda: other_node.realms.move(realm.id, RealmState.LOADING))
        for name in ("::system::", "", " blank", "line\nbreak"):
            with pytest.raises(BadName):
                await other_node.realms.reserve(name)
        with pytest.raises(RealmNotFound):
            await patiently(lambda: other_node.realm("no-such-realm").heads())
        assert await patiently(lambda: node.realms.get(realm_name)) == realm

    async def test_a_realm_that_is_switched_off_refuses_the_next_operation(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """What one node was told holds for whatever the other is asked next."""
        handle = other_node.realm(key.realm)
        counter = Counter(other_node, key, "one")
        blob = Foreign("conformance-blob", b"")
        for _ in range(4):
            await counter.count()
            await patiently(lambda: node.realms.deactivate(key.realm))
            with pytest.raises(RealmNotActive):
                await patiently(lambda: handle.heads(key.name))
            with pytest.raises(RealmNotActive):
                await counter.count()
            with pytest.raises(RealmNotActive):
                await patiently(lambda: handle.write({other_node.ids.next(): blob}))
            with pytest.raises(RealmNotActive):
                await patiently(lambda: handle.create_pointers(["another"]))
            await patiently(lambda: node.realms.activate(key.realm))

        await check_counts(other_node, key, {"one": 4})

    async def test_no_commit_begins_after_a_realm_was_switched_off(
        self, node: Kernel, other_node: Kernel, key: PointerKey
    ) -> None:
        """Under load: the realm stands still from the moment its switch was acknowledged."""
        counters = [Counter(other_node, key, f"caller-{number}") for number in range(4)]

        async def run(counter: Counter) -> None:
            while True:
                await counter.count()

        warm_up = Counter(other_node, key, "warm-up")
        running = [asyncio.create_task(run(counter)) for counter in counters]
        for _ in range(3):
            await warm_up.count()
        await patiently(lambda: node.realms.deactivate(key.realm))
        with pytest.raises(RealmNotActive):
            await Counter(other_node, key, "late").count()
        ends = await asyncio.gather(*running, return_exceptions=True)

        assert [type(end) for end in ends] == [RealmNotActive] * len(counters)
        await patiently(lambda: node.realms.activate(key.realm))
        counts = {counter.name: counter.acknowledged for counter in [warm_up, *counters]}
        await check_counts(node, key, counts)

    async def test_realms_do_not_see_each_other(
        self, node: Kernel, other_node: Kernel, key: PointerKey, realm_name: str
    ) -> None:
        """The same pointer name, index, key and object id mean other things in another realm."""
        other = await create_realm(other_node, f"{realm_name} 2", key.name)
        other_key = PointerKey(other.id, key.name)
        id = node.ids.next()
        for kernel, place in ((node, key), (other_node, other_key)):
            blob = Foreign("conformance-blob", place.realm.encode())
            await patiently(partial(kernel.realm(place.realm).write, {id: blob}))
            await commit(kernel, place, partial(_put, place.realm.encode()))

        for place in (key, other_key):
            for kernel in (node, other_node):
                assert await entries_of(kernel, place, "names") == {b"name": place.realm.encode()}
                blob = await patiently(partial(kernel.realm(place.realm).get, id, Foreign))
                assert blob.payload == place.realm.encode()

    async def test_a_purged_realm_leaves_no_row(
        self, node: Kernel, other_node: Kernel, key: PointerKey, realm_name: str
    ) -> None:
        """All pointers and rows are gone, those of its neighbour are untouched."""
        neighbour = await create_realm(node, f"{realm_name} 2", key.name)
        neighbour_key = PointerKey(neighbour.id, key.name)
        for place in (key, neighbour_key):
            objects = {node.ids.next(): Foreign("conformance-blob", bytes(50)) for _ in range(300)}
            await patiently(partial(node.realm(place.realm).write, objects))
            await Counter(other_node, place, "one").count()
        for _ in range(QUIET_CALLS):
            await head_of(node, key)
        before = await patiently(partial(_contents, node, neighbour.id))

        await patiently(lambda: other_node.realms.deactivate(key.realm))
        await patiently(lambda: other_node.realms.purge(key.realm))

        assert await patiently(partial(_contents, node, key.realm)) == (set(), set())
        assert await patiently(partial(_contents, node, neighbour.id)) == before
        assert len(before[1]) > 300
        with pytest.raises(PointerNotFound):
            await patiently(partial(_newest, node, key))
        with pytest.raises(RealmNotActive):
            await Counter(node, key, "one").count()
        await check_counts(other_node, neighbour_key, {"one": 1})


async def _move(kernel: Kernel, realm: Realm, verb: str, state: RealmState) -> None:
    """Take a step of a realm's life; the same again is no step."""
    for _ in range(2):
        moved: Realm = await patiently(partial(getattr(kernel.realms, verb), realm.name))
        assert (moved.id, moved.state) == (realm.id, state)


async def _delete(kernel: Kernel, realm: Realm) -> None:
    async def delete() -> None:
        try:
            await kernel.realms.delete(realm.id)
        except RealmNotFound:
            return  # the try before it did it

    await patiently(delete)


def _put(value: bytes, draft: Draft) -> None:
    draft.index("names").put(b"name", value)


async def _contents(kernel: Kernel, realm: str) -> tuple[set[str], set[tuple[int, int]]]:
    """The pointers and rows of a realm, as the database itself lists them."""
    pointers = {
        pointer.name async for batch in kernel.backend.scan_pointers(realm) for pointer in batch
    }
    rows = {
        (row.id, row.part)
        async for batch in kernel.backend.scan_rows()
        for row in batch
        if row.realm == realm
    }
    return pointers, rows


async def _newest(kernel: Kernel, key: PointerKey) -> list[int]:
    return [entry.id async for entry in kernel.log.newest_first(key)]
