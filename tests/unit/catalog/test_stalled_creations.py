"""Creations that are held up between their steps for any time, while sweeps run beside them."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.catalog_commits import remove_catalog
from headgate.catalog.catalogs import create_catalog, delete_catalog, list_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.metalake_rounds import clear_metalakes
from headgate.catalog.metalakes import HALF_MADE
from headgate.catalog.openings import head_pointer
from headgate.errors import PointerSealed, RealmNotFound
from headgate.ids import time_ms
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.kernel.records import PointerKey
from headgate.limits import COMMIT_AGE_MS_MAX, HALF_MADE_MS_MAX, ORPHANS_AGE_MS_MIN
from headgate.maintenance.running import Order, Running
from headgate.testing.kernels import Rig, SteppedClock, putting, snapshot
from tests.unit.catalog.lakes import METALAKE, TYPES, Node, World

HOUR_MS = 3_600_000
NEW = CatalogEntity(0, "new", "/new", {})


@pytest.fixture
async def kernel(rig: Rig) -> Kernel:
    """A node and an empty metalake."""
    kernel = await rig.open(types=TYPES)
    await kernel.realms.create(METALAKE)
    return kernel


@pytest.fixture
async def rig(world: World) -> Rig:
    """The database of the world."""
    return world.rig


async def swept_later(rig: Rig, other: Kernel, ms: float = 3 * HOUR_MS) -> int:
    """Let time pass, then sweep on another node; how many pointers were deleted."""
    await rig.pass_time(ms)
    running = Running(other, Order(by="t", holder="t", grace_ms=HOUR_MS))
    await running.begin()
    run = await running.complete()
    assert run.failures == ()
    return run.counts.pointers_deleted


async def pointers_of(rig: Rig, realm: str) -> set[str]:
    """The pointers of a realm."""
    return {key.name for key in (await snapshot(rig.memory)).pointers if key.realm == realm}


async def check_usable(kernel: Kernel, made: CatalogEntity) -> None:
    """A catalog takes commits, is listed once, and can be dropped."""
    realm = await kernel.realms.get(METALAKE)
    assert await list_catalogs(kernel, METALAKE) == [made]
    await kernel.realm(realm.id).commit(head_pointer(made.id), putting(b"key", index="ids"))
    await delete_catalog(kernel, CatalogName(METALAKE, made.name))
    assert await list_catalogs(kernel, METALAKE) == []


async def test_a_catalog_whose_pointer_was_swept_starts_over_with_a_new_id(
    rig: Rig, kernel: Kernel
) -> None:
    """The creation was held up behind its first step; the caller does not notice."""
    other, swept, began_ms = await rig.open(types=TYPES), list[int](), rig.clock.wall_ms()

    async def held_up() -> None:
        swept.append(await swept_later(rig, other))

    rig.faults.crash_at("after_create_pointers", held_up)
    made = await create_catalog(kernel, METALAKE, NEW)

    assert swept == [1]
    assert time_ms(made.id) - began_ms >= 3 * HOUR_MS
    await check_usable(kernel, made)


async def test_a_catalog_that_was_held_up_before_its_swap_is_usable(
    rig: Rig, kernel: Kernel
) -> None:
    """Its pointer was swept when its name was about to be committed."""
    other = await rig.open(types=TYPES)

    async def held_up() -> None:
        await swept_later(rig, other)

    rig.faults.crash_at("before_commit", held_up)
    made = await create_catalog(kernel, METALAKE, NEW)

    assert head_pointer(made.id) in await pointers_of(rig, (await kernel.realms.get(METALAKE)).id)
    await check_usable(kernel, made)


async def test_a_catalog_that_was_held_up_a_little_keeps_its_id(rig: Rig, kernel: Kernel) -> None:
    """Up to the bound no sweep can have been there."""
    began_ms = rig.clock.wall_ms()

    async def held_up() -> None:
        rig.clock.advance(COMMIT_AGE_MS_MAX - 10)

    rig.faults.crash_at("after_create_pointers", held_up)
    made = await create_catalog(kernel, METALAKE, NEW)

    assert time_ms(made.id) == began_ms
    assert (
        len(await pointers_of(rig, (await kernel.realms.get(METALAKE)).id))
        == len(await pointers_of(rig, (await kernel.realms.create("empty")).id)) + 1
    )


async def test_a_creation_that_is_not_held_up_costs_nothing_more(rig: Rig, kernel: Kernel) -> None:
    """Its pointer is made once and not looked at again; those of all catalogs are read once before
    the commit and once behind it, for what their tables hold."""
    await create_catalog(kernel, METALAKE, msgspec.structs.replace(NEW, name="a", warehouse="/a"))
    rig.backend.reset()
    await create_catalog(kernel, METALAKE, NEW)

    calls = rig.backend.calls
    assert (calls["create_pointers"], calls["commit"]) == (1, 1)
    assert calls["read_pointers"] == 11


async def test_a_node_whose_clock_is_behind_the_list_creates_catalogs(
    rig: Rig, kernel: Kernel
) -> None:
    """The age of an id is told by ids of the same node: another one's clock may be ahead."""
    ahead = await rig.open(types=TYPES, clock=SteppedClock(rig.clock.wall_ms() + 55_000))
    await create_catalog(ahead, METALAKE, msgspec.structs.replace(NEW, name="a", warehouse="/a"))
    realm = await kernel.realms.get(METALAKE)

    async def held_up() -> None:
        rig.clock.advance(10_000)

    rig.faults.crash_at("after_create_pointers", held_up)
    rig.backend.reset()
    made = await create_catalog(kernel, METALAKE, NEW)

    assert rig.backend.calls["create_pointers"] == 1
    assert head_pointer(made.id) in await pointers_of(rig, realm.id)


async def without_pointer(rig: Rig, kernel: Kernel, name: str) -> CatalogEntity:
    """A catalog that an older program left without its pointer."""
    new = msgspec.structs.replace(NEW, name=name, warehouse=f"/{name}")
    made = await create_catalog(kernel, METALAKE, new)
    realm = await kernel.realms.get(METALAKE)
    await rig.memory.delete_pointers([PointerKey(realm.id, head_pointer(made.id))])
    return made


@pytest.mark.parametrize("force", [False, True])
async def test_a_catalog_without_its_pointer_can_be_dropped(
    rig: Rig, kernel: Kernel, force: bool
) -> None:
    """It counts as empty, and is closed for good: also for a creation that ends late."""
    gone = await without_pointer(rig, kernel, "gone")
    realm = await kernel.realms.get(METALAKE)
    call = Call(CatalogName(METALAKE, "gone"))
    await remove_catalog(kernel, realm, call, gone, force=force)

    assert await list_catalogs(kernel, METALAKE) == []
    with pytest.raises(PointerSealed):
        await kernel.realm(realm.id).commit(head_pointer(gone.id), putting(b"late"))
    again = await create_catalog(kernel, METALAKE, msgspec.structs.replace(gone, id=0))
    assert again.id != gone.id


class Stalled:
    """Holds up one call of the database until something was done."""

    def __init__(self, rig: Rig, point: str, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self.is_done = False
        self._meanwhile = meanwhile
        rig.faults.crash_at(point, self._hold)

    async def _hold(self) -> None:
        await self._meanwhile()
        self.is_done = True


async def test_a_metalake_that_was_cleared_away_gets_no_pointers(rig: Rig, kernel: Kernel) -> None:
    """Its creation was held up, and another node took it for given up."""
    other = await rig.open(types=TYPES)
    realm = await kernel.realms.reserve("late", {HALF_MADE: "ann"})

    async def cleared() -> None:
        await rig.pass_time(HALF_MADE_MS_MAX + HOUR_MS)
        await clear_metalakes(other)

    stalled = Stalled(rig, "before_create_pointers", cleared)
    with pytest.raises(RealmNotFound):
        await kernel.realms.set_up(realm)

    assert stalled.is_done
    assert await pointers_of(rig, realm.id) == set()
    assert "late" not in {one.name for one in await kernel.realms.list()}


async def test_a_realm_that_is_being_purged_gets_no_pointers(rig: Rig, kernel: Kernel) -> None:
    """What comes late is deleted with all else."""
    realm = await kernel.realms.reserve("late")

    async def purged() -> None:
        await kernel.realms.purge(realm.id)

    stalled = Stalled(rig, "before_create_pointers", purged)
    with pytest.raises(RealmNotFound):
        await kernel.realms.set_up(realm)

    assert stalled.is_done
    assert (await kernel.realms.get("late")).state is RealmState.PURGED
    assert await pointers_of(rig, realm.id) == set()


async def test_the_id_of_a_realm_is_made_when_it_is_listed(rig: Rig, kernel: Kernel) -> None:
    """However long its creation is held up before, no sweep can take it for an old one."""
    began_ms = rig.clock.wall_ms()

    async def held_up() -> None:
        await rig.pass_time(3 * HOUR_MS)

    stalled = Stalled(rig, "before_read_pointers", held_up)
    realm = await kernel.realms.reserve("late")

    assert stalled.is_done
    assert time_ms(int(realm.id)) - began_ms >= 3 * HOUR_MS


async def test_a_table_commit_that_was_held_up_writes_its_file_again(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first file may have been deleted as an orphan meanwhile."""
    commit, files = node.lake.commit, list[set[str]]()

    async def held_up(*arguments: Any) -> Any:
        files.append(world.files())
        if len(files) == 1:
            await world.rig.pass_time(ORPHANS_AGE_MS_MIN)
        return await commit(*arguments)

    monkeypatch.setattr(node.lake, "commit", held_up)
    made = await node.table()

    assert len(files) == 2
    [first] = [file for file in files[0] if file.endswith("metadata.json")]
    [second] = [file for file in world.files() if file.endswith("metadata.json")]
    assert second != first
    assert made["metadata-location"].endswith(second)
