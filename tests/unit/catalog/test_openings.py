"""What a request costs the database, and that names are resolved anew when they move."""

import asyncio
from typing import Any

import pytest

from headgate.catalog import catalogs, openings
from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import alter_catalog, create_catalog
from headgate.catalog.entities import CATALOG_TYPES, CatalogEntity
from headgate.catalog.lake import LakeOptions
from headgate.catalog.naming import CATALOGS, ROOT, NamesDraft
from headgate.catalog.openings import Openings
from headgate.catalog.reservations import release
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import (
    BackendUnavailable,
    CatalogNotFound,
    Conflict,
    MetalakeNotFound,
    RealmNotActive,
)
from headgate.kernel.draft import Draft
from headgate.model.separators import Governance
from headgate.testing.faults import TornBackend
from headgate.testing.kernels import open_kernel_on
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node, World, call, commit, set_properties

WARM = {"read_pointers": 1}
REQUESTS: dict[str, tuple[str, str]] = {
    "loadTable": ("GET", "namespaces/a/tables/t"),
    "loadTable refs": ("GET", "namespaces/a/tables/t?snapshots=refs"),
    "tableExists": ("HEAD", "namespaces/a/tables/t"),
    "listTables": ("GET", "namespaces/a/tables"),
    "listNamespaces": ("GET", "namespaces?parent=a"),
    "loadNamespace": ("GET", "namespaces/a"),
    "namespaceExists": ("HEAD", "namespaces/a"),
    "loadView": ("GET", "namespaces/a/views/v"),
    "listViews": ("GET", "namespaces/a/views"),
    "listFunctions": ("GET", "namespaces/a/functions"),
    "config": ("GET", "/v1/config"),
    "missing table": ("GET", "namespaces/a/tables/none"),
    "missing namespace": ("GET", "namespaces/none/tables"),
}


async def drop_catalog(node: Node, name: str) -> None:
    """What dropping a catalog is: its head is sealed, then its name goes."""
    opened = await node.lake.open(call(catalog=CatalogName(METALAKE, name)))
    await opened.realm.commit(opened.pointer, lambda draft: draft.seal())

    def attempt(draft: Draft) -> None:
        names = NamesDraft(draft)
        entry = names.find(ROOT, CATALOGS, name)
        assert entry is not None
        names.remove(ROOT, CATALOGS, name, entry)
        release(draft, [opened.catalog.warehouse])

    await opened.realm.commit(CATALOG_POINTER, attempt)


async def swap_catalog(world: World, node: Node) -> CatalogEntity:
    """Drop the catalog, and make another one of its name."""
    await drop_catalog(node, CATALOG)
    return await create_catalog(
        node.kernel, METALAKE, CatalogEntity(0, CATALOG, world.warehouse, {})
    )


@pytest.mark.parametrize("request_name", REQUESTS)
async def test_a_warm_request_reads_once(world: World, node: Node, request_name: str) -> None:
    """All pointers that the answer depends on, in one batch; nothing else, whatever is asked."""
    await node.table()
    await node.view()
    method, path = REQUESTS[request_name]
    await node.send(method, path)
    world.rig.backend.reset()
    await node.send(method, path)

    assert dict(world.rig.backend.calls) == WARM
    assert world.rig.backend.rows["read_pointers"] == 3


async def test_what_a_cold_process_reads(world: World, node: Node) -> None:
    """Pointers: realms, then catalogs, then all three at one instant; and what they hold."""
    await node.table()
    cold = await world.node()
    world.rig.backend.reset()
    await cold.load()

    assert dict(world.rig.backend.calls) == {"read_pointers": 3, "fetch": 5}
    world.rig.backend.reset()
    await cold.load()
    assert dict(world.rig.backend.calls) == WARM


async def test_a_moved_head_costs_the_head_and_what_is_new(world: World, node: Node) -> None:
    """Another node changed one table: its head is fetched, and the table's new state."""
    other = await world.node()
    for name in ("t", "u"):
        await node.table(name)
        await other.load(name)
    await node.made("namespaces/a/tables/t", commit([set_properties(k="v")]))
    world.rig.backend.reset()
    await other.load("u")
    assert dict(world.rig.backend.calls) == {"read_pointers": 1, "fetch": 1}

    world.rig.backend.reset()
    assert (await other.load("t"))["metadata"]["properties"]["k"] == "v"
    assert dict(world.rig.backend.calls) == {"read_pointers": 1, "fetch": 1}


async def test_a_commit_reads_twice_and_swaps_once(world: World, node: Node) -> None:
    """One read to prepare, one to commit; the rest is at hand."""
    await node.table()
    world.rig.backend.reset()
    await node.made("namespaces/a/tables/t", commit([set_properties(k="v")]))

    assert dict(world.rig.backend.calls) == {"read_pointers": 2, "commit": 1}


async def test_a_metalake_that_is_switched_off_refuses_the_next_request(
    world: World, node: Node
) -> None:
    """On every node at once, for reading and for writing, until it is switched on again."""
    other = await world.node()
    await other.table()
    await node.kernel.realms.deactivate(METALAKE)
    for refused in [
        await other.get("namespaces/a/tables/t"),
        await other.get("/v1/config"),
        await other.post("namespaces", {"namespace": ["x"]}),
    ]:
        assert refused.error[:2] == (403, "ForbiddenException")
        assert refused.error[2] == (
            f"Metalake is not in use: {METALAKE}: it was switched off. Enable it first"
        )
    await node.kernel.realms.activate(METALAKE)

    assert (await other.get("namespaces/a/tables/t")).status == 200


async def test_a_metalake_that_is_switched_off_during_a_commit(world: World, node: Node) -> None:
    """The commit itself looks again: what was opened before is refused."""
    await node.table()
    opened = await node.lake.open(call())
    await (await world.node()).kernel.realms.deactivate(METALAKE)
    with pytest.raises(RealmNotActive):
        await opened.realm.commit(opened.pointer, lambda draft: draft.mark("x", 1))


async def test_a_catalog_that_was_dropped_is_gone_on_every_node(world: World, node: Node) -> None:
    """And one of the same name is another one, with nothing of the old."""
    other = await world.node()
    await other.table()
    await drop_catalog(node, "main")
    gone = await other.get("namespaces/a/tables/t")
    assert gone.error == (
        404,
        "NoSuchWarehouseException",
        "Catalog does not exist: default.main. `headgate catalog list` shows those that do",
    )
    assert (await other.post("namespaces", {"namespace": ["x"]})).status == 404

    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, "main", world.warehouse, {}))
    world.rig.backend.reset()
    assert (await other.get("namespaces")).json["namespaces"] == []
    assert world.rig.backend.calls["read_pointers"] == 2
    assert (await other.get("namespaces/a/tables/t")).error[1] == "NoSuchTableException"


async def test_a_catalog_whose_head_is_sealed_is_gone(world: World, node: Node) -> None:
    """Its name may still be in the list: it is being dropped."""
    opened = await node.lake.open(call())
    await opened.realm.commit(opened.pointer, lambda draft: draft.seal())
    with pytest.raises(CatalogNotFound):
        await node.lake.open(call())

    answer = await node.post("namespaces", {"namespace": ["x"]})
    assert answer.error[:2] == (404, "NoSuchWarehouseException")


async def test_a_catalog_is_swapped_while_it_is_opened(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name means another catalog by the time the pointers are read: the whole is read again."""
    fresh = Openings(node.kernel)
    real = fresh._names.in_list
    swapped: list[CatalogEntity] = []

    async def swapping(*arguments: Any) -> tuple[CatalogEntity, int]:
        found = await real(*arguments)
        if not swapped:
            swapped.append(await swap_catalog(world, node))
        return found

    monkeypatch.setattr(fresh._names, "in_list", swapping)
    assert (await fresh.open(call())).catalog.id == swapped[0].id


async def test_a_catalog_that_is_swapped_all_the_time_is_given_up(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for ever; certainly nothing was done."""
    fresh = Openings(node.kernel)
    real = fresh._names.in_list

    async def swapping(*arguments: Any) -> tuple[CatalogEntity, int]:
        found = await real(*arguments)
        await swap_catalog(world, node)
        return found

    monkeypatch.setattr(fresh._names, "in_list", swapping)
    with pytest.raises(BackendUnavailable, match="again and again"):
        await fresh.open(call())


async def test_a_catalog_whose_pointer_is_gone_is_gone(world: World, node: Node) -> None:
    """Somebody purges the realm at this moment."""
    opened = await node.lake.open(call())
    await world.rig.memory.delete_pointers(
        [key for key in world.rig.memory._pointers if key.name == opened.pointer]
    )
    with pytest.raises(CatalogNotFound):
        await node.lake.open(call())


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (CatalogName("none", "main"), MetalakeNotFound),
        (CatalogName(METALAKE, "x"), CatalogNotFound),
    ],
)
async def test_unknown_names(node: Node, name: CatalogName, error: type[Exception]) -> None:
    """Metalake and catalog are told apart."""
    with pytest.raises(error, match="does not exist"):
        await node.lake.open(call(catalog=name))


async def test_what_is_known_is_bounded(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catalogs come and go; a process does not remember all of them for ever."""
    monkeypatch.setattr(openings, "OPENINGS_KNOWN_MAX", 2)
    for name in ("b", "c", "d"):
        entity = CatalogEntity(0, name, f"/x/{name}", {})
        await create_catalog(node.kernel, METALAKE, entity)
        await node.lake.open(call(catalog=CatalogName(METALAKE, name)))

    assert len(node.lake.openings._known) <= 2


async def test_a_database_without_snapshots_is_read_again_when_something_moved(
    world: World, node: Node
) -> None:
    """Warm requests still read once; a moved vector is confirmed."""
    await node.table()
    backend = TornBackend(world.rig.backend)
    async with open_kernel_on(
        backend, clock=world.rig.clock, seed=77, types=CATALOG_TYPES
    ) as kernel:
        fresh = Openings(kernel)
        await fresh.open(call())
        world.rig.backend.reset()
        await fresh.open(call())
        assert world.rig.backend.calls["read_pointers"] == 3  # one batch, one by one
        await node.made("namespaces/a/tables/t", commit([set_properties(k="v")]))
        world.rig.backend.reset()
        await fresh.open(call())
        assert world.rig.backend.calls["read_pointers"] == 6


async def test_nesting_is_switched_on_only_if_no_name_is_in_the_way(world: World) -> None:
    """The names are listed; afterwards the same URL means another namespace."""
    node = await world.node(LakeOptions(governance=Governance.UNRESTRICTED))
    flat = f"{world.folder.as_posix()}/flat"
    entity = CatalogEntity(0, "flat", flat, {}, nested=False)
    await create_catalog(node.kernel, METALAKE, entity)
    for name in ("x:y", "plain"):
        await node.made("namespaces", {"namespace": [name]}, catalog="flat")
    assert (await node.get("namespaces/x%3Ay", catalog="flat")).json["namespace"] == ["x:y"]
    catalog = CatalogName(METALAKE, "flat")
    with pytest.raises(Conflict, match="'x:y'"):
        await alter_catalog(node.kernel, catalog, {"nested": True}, ":")
    await node.delete("namespaces/x%3Ay", catalog="flat")
    changed = await alter_catalog(node.kernel, catalog, {"nested": True}, ":")
    assert changed.nested

    await node.made("namespaces", {"namespace": ["x", "y"]}, catalog="flat")
    assert (await node.get("namespaces/x%3Ay", catalog="flat")).json["namespace"] == ["x", "y"]
    same = await alter_catalog(node.kernel, catalog, {"nested": True}, ":")
    assert same == changed
    for changes in ({"nested": True}, {"comment": "x"}):
        with pytest.raises(CatalogNotFound):
            await alter_catalog(node.kernel, CatalogName(METALAKE, "none"), changes, ":")


async def test_nesting_is_switched_off_again_if_a_name_came_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name was made between the look and the change: it is found, and stays reachable."""
    node = await world.node(LakeOptions(governance=Governance.UNRESTRICTED))
    flat = f"{world.folder.as_posix()}/flat"
    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, "flat", flat, {}, nested=False))
    real = catalogs.change_catalog

    async def altered(*arguments: Any) -> CatalogEntity:
        monkeypatch.setattr(catalogs, "change_catalog", real)
        await node.made("namespaces", {"namespace": ["x:y"]}, catalog="flat")
        return await real(*arguments)

    monkeypatch.setattr(catalogs, "change_catalog", altered)
    with pytest.raises(Conflict, match="'x:y'"):
        await alter_catalog(node.kernel, CatalogName(METALAKE, "flat"), {"nested": True}, ":")

    found = await node.get("namespaces/x%3Ay", catalog="flat")
    assert found.json["namespace"] == ["x:y"]


async def test_requests_at_once_share_a_read(world: World, node: Node) -> None:
    """Those that come while a read is under way join the next one."""
    await node.table()
    await node.load()
    world.rig.backend.reset()
    await asyncio.gather(*(node.load() for _ in range(20)))

    assert world.rig.backend.calls["read_pointers"] <= 20
