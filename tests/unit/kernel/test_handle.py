"""A realm in use: checked with what it reads anyway, on every node, at once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from headgate.errors import BadName, PointerNotFound, RealmNotActive, RealmNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.handle import KNOWN_VECTORS_MAX, RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.kernel.system import REALM_POINTERS, SYSTEM_REALM
from headgate.testing.faults import TornBackend
from headgate.testing.kernels import (
    INDEX,
    POINTER,
    Rig,
    Thing,
    entries,
    open_kernel_on,
    putting,
    snapshot,
)

Use = Callable[[RealmHandle], Awaitable[object]]
USES: dict[str, Use] = {
    "heads": lambda realm: realm.heads(POINTER),
    "heads of nothing": lambda realm: realm.heads(),
    "commit": lambda realm: realm.commit(POINTER, putting(b"a")),
    "commit of nothing": lambda realm: realm.commit(POINTER, lambda _: None),
    "create_pointers": lambda realm: realm.create_pointers(["cat/1/roles"]),
    "write": lambda realm: realm.write({1: Thing()}),
    "get": lambda realm: realm.get(17, Thing),
}


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A database with two nodes."""
    async with Rig() as rig:
        await rig.open()
        await rig.open()
        yield rig


@pytest.fixture
def kernel(rig: Rig) -> Kernel:
    """The node on which realms are switched on and off."""
    return rig.kernels[0]


@pytest.fixture
async def realm(rig: Rig) -> RealmHandle:
    """A realm in use on the second node, which is warm."""
    id = (await rig.realm()).id
    realm = rig.kernels[1].realm(id)
    await realm.commit(POINTER, putting(b"k", b"v"))
    await realm.write({17: Thing()})
    await realm.heads(*REALM_POINTERS)
    rig.backend.reset()
    return realm


@pytest.mark.parametrize("use", USES.values(), ids=USES)
async def test_a_realm_switched_off_elsewhere_refuses_the_next_use(
    rig: Rig, kernel: Kernel, realm: RealmHandle, use: Use
) -> None:
    """No node serves it once the change is acknowledged, and nothing is written."""
    await use(realm)
    await kernel.realms.deactivate("acme")
    before = await snapshot(rig.memory)
    with pytest.raises(RealmNotActive, match=r"it is INACTIVE\. Switch it on"):
        await use(realm)

    assert await snapshot(rig.memory) == before


@pytest.mark.parametrize("use", USES.values(), ids=USES)
async def test_a_realm_switched_on_again_serves_at_once(
    kernel: Kernel, realm: RealmHandle, use: Use
) -> None:
    """The refusal is not remembered either."""
    await kernel.realms.deactivate("acme")
    with pytest.raises(RealmNotActive):
        await use(realm)
    await kernel.realms.activate("acme")
    await use(realm)


@pytest.mark.parametrize("pointers", [0, 1, 7])
async def test_warm_heads_cost_one_read(rig: Rig, realm: RealmHandle, pointers: int) -> None:
    """The check of the realm rides along with the pointers that are read anyway."""
    await realm.heads(*REALM_POINTERS[:pointers])
    rig.backend.reset()
    await realm.heads(*REALM_POINTERS[:pointers])

    assert rig.backend.calls == {"read_pointers": 1}
    assert rig.backend.rows["read_pointers"] == pointers + 1


async def test_a_warm_commit_costs_one_read_and_one_swap(rig: Rig, realm: RealmHandle) -> None:
    """The check of the realm rides along here too."""
    await realm.commit(POINTER, putting(b"a"))

    assert rig.backend.calls == {"read_pointers": 1, "commit": 1}


async def test_changes_of_other_realms_cost_one_look(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """When `realms` moved, the realm is looked up once, then it is warm again."""
    await kernel.realms.create("another")
    rig.backend.reset()
    await realm.heads(POINTER)
    looked = rig.backend.calls["fetch"]
    await realm.heads(POINTER)

    assert looked == rig.backend.calls["fetch"] == 1


@pytest.mark.parametrize("state", [s for s in RealmState if s is not RealmState.ACTIVE])
async def test_only_active_realms_serve(rig: Rig, kernel: Kernel, state: RealmState) -> None:
    """Every other state is refused, and the error says what can be done."""
    realm = await kernel.realms.reserve("acme")
    ways = {
        RealmState.CREATED: [],
        RealmState.INITIALIZING: [RealmState.INITIALIZING],
        RealmState.LOADING: [RealmState.LOADING],
        RealmState.INACTIVE: [RealmState.LOADING, RealmState.INACTIVE],
        RealmState.PURGING: [RealmState.PURGING],
        RealmState.PURGED: [RealmState.PURGING, RealmState.PURGED],
    }
    for step in ways[state]:
        await kernel.realms.move(realm.id, step)
    todo = "create another" if state.value.startswith("PURG") else "headgate realm activate acme"
    with pytest.raises(RealmNotActive, match=f"it is {state.value}.*{todo}"):
        await kernel.realm(realm.id).heads()


async def test_an_unknown_realm_does_not_serve(kernel: Kernel) -> None:
    """Neither readers nor writers."""
    with pytest.raises(RealmNotFound):
        await kernel.realm("nobody").heads()
    with pytest.raises(RealmNotFound):
        await kernel.realm("nobody").commit(POINTER, putting(b"a"))


@pytest.mark.parametrize("id", [SYSTEM_REALM, "", "a b", "ä", "x" * 129])
async def test_what_is_no_realm_id_has_no_handle(kernel: Kernel, id: str) -> None:
    """The system's own realm is nobody's to use."""
    with pytest.raises(BadName, match="is no realm id"):
        kernel.realm(id)


async def test_a_deleted_realm_does_not_serve(kernel: Kernel, realm: RealmHandle) -> None:
    """Also on a node that has used it before."""
    await kernel.realms.deactivate("acme")
    await kernel.realms.purge("acme")
    await kernel.realms.delete("acme")
    with pytest.raises(RealmNotFound):
        await realm.heads(POINTER)


async def test_heads_come_in_the_order_asked_for(realm: RealmHandle) -> None:
    """Also twice the same."""
    await realm.commit("grants", putting(b"grant"))
    names = ("grants", POINTER, "root", "grants")
    heads = await realm.heads(*names)
    keys = [[key async for key, _ in head.index(INDEX).scan()] for head in heads]

    assert keys == [[b"grant"], [b"k"], [], [b"grant"]]


async def test_a_head_superseded_meanwhile_can_still_be_read(realm: RealmHandle) -> None:
    """A reader keeps its view while others commit."""
    [head] = await realm.heads(POINTER)
    await realm.commit(POINTER, putting(b"k", b"new"))

    assert await head.index(INDEX).get(b"k") == b"v"
    assert await entries(realm) == {b"k": b"new"}


@pytest.mark.parametrize("name", ["", "A", "/a", "a/", "a//b", "a b", "1", "ä", "a/ä", "a" * 257])
async def test_a_bad_pointer_name_is_refused(rig: Rig, realm: RealmHandle, name: str) -> None:
    """Before anything is asked of the database."""
    for use in (
        lambda: realm.heads(name),
        lambda: realm.commit(name, putting(b"a")),
        lambda: realm.create_pointers(["good", name]),
    ):
        with pytest.raises(BadName, match="is no pointer name"):
            await use()

    assert rig.backend.calls == {}


@pytest.mark.parametrize("name", ["a", "cat/17/heads/main", "a-1/B_c/9", "a" * 256])
async def test_a_good_pointer_name_can_be_created(realm: RealmHandle, name: str) -> None:
    """And committed to; creating it again leaves it as it is."""
    await realm.create_pointers([name])
    await realm.commit(name, putting(b"a"))
    await realm.create_pointers([name])

    assert await entries(realm, name) == {b"a": b""}


async def test_a_missing_pointer_is_named(realm: RealmHandle) -> None:
    """In one read with others too."""
    with pytest.raises(PointerNotFound, match=r"'cat/1/roles' .* Create it first"):
        await realm.heads(POINTER, "cat/1/roles")


async def test_objects_are_written_before_the_commit_that_refers_to_them(
    rig: Rig, realm: RealmHandle
) -> None:
    """Large content does not wait in the lane."""
    large = Thing(blob=bytes(range(256)) * 4000)
    id = rig.kernels[1].ids.next()
    await realm.write({id: large})
    await realm.commit(POINTER, putting(b"large", b"%d" % id))
    other = rig.kernels[0].realm(realm.id)

    assert await other.get(id, Thing) == large


async def test_handles_do_not_remember_without_bound(realm: RealmHandle) -> None:
    """A caller that reads ever new sets of pointers does not fill the memory."""
    names = [f"p{number}" for number in range(KNOWN_VECTORS_MAX + 1)]
    await realm.create_pointers(names)
    for name in names:
        await realm.heads(name)

    assert len(realm._known) <= KNOWN_VECTORS_MAX


async def test_heads_are_one_instant_where_batches_are_no_snapshot(
    rig: Rig, realm: RealmHandle
) -> None:
    """One writer moves two pointers in turn; nobody ever sees the second ahead of the first."""
    torn = open_kernel_on(TornBackend(rig.memory), clock=rig.clock, seed=9)
    seen = []

    def setting(number: int) -> Callable[[Draft], None]:
        return lambda draft: draft.mark("n", number)

    async def write() -> None:
        for number in range(1, 30):
            await realm.commit("root", setting(number))
            await realm.commit("grants", setting(number))
            for _ in range(40):
                await asyncio.sleep(0)

    async with torn:
        writing = asyncio.create_task(write())
        while not writing.done():
            grants, root = await torn.realm(realm.id).heads("grants", "root")
            seen.append((root.head.marks.get("n", 0), grants.head.marks.get("n", 0)))
        await writing

    assert len(seen) > 10
    assert all(grants <= root <= grants + 1 for root, grants in seen)
