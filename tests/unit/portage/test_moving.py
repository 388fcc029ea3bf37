"""Metalakes that are exported, are gone, and come back as they were."""

from pathlib import Path

import msgspec
import pytest

from headgate.catalog.guards import GRANTS
from headgate.catalog.references import REFERENCES
from headgate.errors import NewerFormat, ObjectNotFound, RealmNotActive
from headgate.kernel.draft import Draft
from headgate.kernel.realms import LOADED_FROM, RealmState
from headgate.kernel.records import PointerKey
from headgate.limits import PORTAGE_PAGE_ROWS
from headgate.portage import folder as folders
from headgate.portage import moving, reading
from headgate.portage.parquet import decoded
from headgate.portage.reading import outline, read_facts, read_rows
from headgate.purge.jobs import JobRow
from tests.unit.catalog.dropping import loaded
from tests.unit.catalog.guarded import Guarded, guarded_node
from tests.unit.catalog.lakes import METALAKE, TYPES, Node, World
from tests.unit.maintenance.stores import KNOWN, PLAIN, POINTER, Sweeper, sweeper
from tests.unit.portage.moves import decisions, exported, furnish, imported, vanish


async def test_a_metalake_comes_back_exactly_as_it_was(
    world: World, node: Node, staffed: Guarded, tmp_path: Path
) -> None:
    """The same rows, the same answers, and the same decisions for everybody about everything."""
    await furnish(node, staffed)
    before, may = await exported(node.kernel, tmp_path / "1"), await decisions(staffed)
    table = await loaded(node)
    await vanish(node.kernel)

    realm = await imported(node.kernel, tmp_path / "1")
    after = await exported(node.kernel, tmp_path / "2")

    assert (realm.name, realm.state) == (METALAKE, RealmState.ACTIVE)
    assert LOADED_FROM not in realm.properties
    assert (after.facts, after.files, after.realm) == (before.facts, before.files, before.realm)
    assert await decisions(await guarded_node(world)) == may
    assert set(may.values()) == {True, False}
    assert await loaded(await world.node()) == table


async def test_purges_go_on_where_they_were(
    world: World, node: Node, staffed: Guarded, tmp_path: Path
) -> None:
    """A job has its attempts and its error still, and its table can come back."""
    job = await furnish(node, staffed)
    await exported(node.kernel, tmp_path / "1")
    await vanish(node.kernel)
    realm = await imported(node.kernel, tmp_path / "1")

    found = await node.kernel.store.read_versioned(realm.id, [job])

    row = found[job].value
    assert isinstance(row, JobRow)
    assert (row.attempts, row.error) == (3, "the disk was full")
    head = (await (await world.node()).opened()).head
    assert head.head.marks["purges"] == 2


async def test_an_export_is_of_one_instant(node: Node, staffed: Guarded, tmp_path: Path) -> None:
    """What is done while it is read is not in it."""
    found = await outline(node.kernel, REFERENCES, METALAKE)
    before = await exported(node.kernel, tmp_path / "1")
    await node.table("later")

    rows = [
        row
        async for some in read_rows(node.kernel, REFERENCES, found.realm.id, found.pieces)
        for row in some
    ]

    assert len(rows) == before.facts.rows
    assert (await read_facts(node.kernel, REFERENCES, METALAKE)).rows > len(rows)


async def test_rows_are_sorted_and_operations_are_not_among_them(
    node: Node, staffed: Guarded, tmp_path: Path
) -> None:
    """By pointer, index and key; who repeats a call after a move is not answered from memory."""
    await furnish(node, staffed)
    manifest = await exported(node.kernel, tmp_path / "1")
    rows = [
        row
        for file in manifest.files
        for row in decoded(folders.load(tmp_path / "1", file), file.name)
    ]

    keys = [(row.pointer, row.index, row.key) for row in rows]
    assert keys == sorted(keys)
    assert "operations" not in {row.index for row in rows}
    assert {"table", "view", "catalog", "metalake", "purge-job"} <= manifest.facts.types.keys()


async def test_a_metalake_that_was_off_is_off(node: Node, tmp_path: Path) -> None:
    """And has the properties that it had."""
    await node.kernel.realms.deactivate(METALAKE)
    before = await exported(node.kernel, tmp_path / "1")
    await vanish(node.kernel)

    realm = await imported(node.kernel, tmp_path / "1", "other")

    assert (realm.name, realm.state) == ("other", RealmState.INACTIVE)
    assert realm.properties == before.realm.properties


async def test_an_index_of_many_pages_is_divided(world: World, tmp_path: Path) -> None:
    """Its pieces together are all of it, each entry once."""
    things = await sweeper(world.rig)
    keys = [b"%06d" % n for n in range(60 * PORTAGE_PAGE_ROWS)]
    for start in range(0, len(keys), 20_000):
        await _put(things, keys[start : start + 20_000])

    found = await outline(things.kernel, KNOWN, "acme")
    read = [
        row.key
        async for rows in read_rows(things.kernel, KNOWN, found.realm.id, found.pieces)
        for row in rows
        if row.index == PLAIN
    ]

    assert sum(piece.index == PLAIN for piece in found.pieces) > 3
    assert read == keys


async def test_a_tall_index_is_divided_too(world: World) -> None:
    """Keys that are alike for long make a tree of many levels out of few."""
    things = await sweeper(world.rig)
    keys = [b"k" * 3_000 + b"%04d" % n for n in range(60)]
    await _put(things, keys)

    found = await outline(things.kernel, KNOWN, "acme")
    [head] = await things.realm.heads(POINTER)
    read = [
        row.key
        async for rows in read_rows(things.kernel, KNOWN, found.realm.id, found.pieces)
        for row in rows
        if row.index == PLAIN
    ]

    assert head.root(PLAIN).level > 2
    assert sum(piece.index == PLAIN for piece in found.pieces) > 3
    assert read == keys


async def test_pages_and_files_are_bounded_and_change_nothing(
    node: Node, staffed: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By rows and by bytes: many small ones hold the same as one."""
    await furnish(node, staffed)
    whole = await exported(node.kernel, tmp_path / "1")
    monkeypatch.setattr(reading, "PORTAGE_PAGE_ROWS", 3)
    monkeypatch.setattr(reading, "PORTAGE_PAGE_BYTES", 700)
    monkeypatch.setattr(moving, "PORTAGE_FILE_BYTES", 2_000)
    divided = await exported(node.kernel, tmp_path / "2")
    await vanish(node.kernel)
    await imported(node.kernel, tmp_path / "2")

    assert len(divided.files) > 3
    assert divided.facts == whole.facts
    assert await read_facts(node.kernel, REFERENCES, METALAKE) == whole.facts


async def _put(things: Sweeper, keys: list[bytes]) -> None:
    def attempt(draft: Draft) -> None:
        for key in keys:
            draft.index(PLAIN).put(key, b"a value of some bytes" * 2)

    await things.realm.commit(POINTER, attempt)


async def test_what_nobody_knows_is_not_exported(world: World, node: Node, tmp_path: Path) -> None:
    """An index, and a field of a head, of a newer program: nothing is left out silently."""
    realm = (await node.opened()).realm
    await realm.commit(GRANTS, lambda draft: draft.index("novelty").put(b"k", b"v"))

    with pytest.raises(NewerFormat, match="novelty"):
        await exported(node.kernel, tmp_path / "1")

    assert not (tmp_path / "1").exists()


async def test_a_head_with_fields_that_nobody_knows_is_not_exported(
    world: World, node: Node, tmp_path: Path
) -> None:
    """They would be lost."""
    realm = (await node.opened()).realm.id
    await (await node.opened()).realm.commit(GRANTS, lambda draft: draft.mark("n", 1))
    [value] = await node.kernel.pointers.read([PointerKey(realm, GRANTS)])
    head = (await node.opened()).realm
    [view] = await head.heads(GRANTS)
    newer = msgspec.structs.replace(
        view.head, marks={}, unknown={"moon": msgspec.Raw(msgspec.msgpack.encode(1))}
    )
    assert value is not None
    await node.kernel.store.delete(realm, [value])
    await node.kernel.store.write(realm, {value: newer})

    with pytest.raises(NewerFormat, match="moon"):
        await exported(node.kernel, tmp_path / "1")


async def test_an_object_that_is_lost_ends_an_export(node: Node, tmp_path: Path) -> None:
    """What it is of is said, and there is no manifest."""
    await node.table()
    found = await outline(node.kernel, REFERENCES, METALAKE)
    objects = [
        one
        async for rows in read_rows(node.kernel, REFERENCES, found.realm.id, found.pieces)
        for row in rows
        for one in row.objects
        if one.type == "table"
    ]
    await node.kernel.store.delete(found.realm.id, [objects[0].id])

    with pytest.raises(ObjectNotFound, match=f"object {objects[0].id} .* cannot be exported"):
        await exported(node.kernel, tmp_path / "1")

    assert list((tmp_path / "1").iterdir()) == []


async def test_what_was_dropped_is_not_exported(world: World, node: Node, tmp_path: Path) -> None:
    """Its name may be another one's by now."""
    realm = await node.kernel.realms.get(METALAKE)
    await node.kernel.realms.drop(realm.id)

    with pytest.raises(RealmNotActive, match="it was dropped"):
        await exported(node.kernel, tmp_path / "1", realm.id)


async def test_a_store_without_the_metalake_takes_it(
    world: World, node: Node, staffed: Guarded, tmp_path: Path
) -> None:
    """All that is needed is in the folder."""
    await furnish(node, staffed)
    before = await exported(node.kernel, tmp_path / "1")
    async with type(world.rig)() as rig:
        rig.clock.advance(world.rig.clock.wall_ms() - rig.clock.wall_ms() + 1)
        other = await rig.open(types=TYPES)

        await imported(other, tmp_path / "1")

        assert (await exported(other, tmp_path / "2")).facts == before.facts
