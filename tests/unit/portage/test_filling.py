"""Imports that are refused, interrupted, gone on with and given up."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from headgate.catalog.catalogs import create_catalog, keep_all_places
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.left_places import left_places
from headgate.catalog.metalakes import found_metalake
from headgate.errors import (
    Conflict,
    HeadgateError,
    IllegalRealmMove,
    InvalidInput,
    LocationTaken,
    RealmExists,
    RealmNotActive,
    RealmNotFound,
    Unsupported,
)
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm, RealmState
from headgate.maintenance.running import Order, Running
from headgate.portage import folder as folders
from headgate.portage.filling import abort, begin, fill, finish
from headgate.portage.manifest import Manifest, RealmFacts
from headgate.portage.parquet import decoded
from headgate.portage.rows import Carried, Facts, Row
from headgate.testing.kernels import Rig, snapshot
from tests.unit.catalog.guarded import Guarded
from tests.unit.catalog.lakes import METALAKE, TYPES, Node, World
from tests.unit.portage.moves import ANYWHERE, exported, furnish, imported, vanish

REALM = RealmFacts("shop", "ACTIVE")
HOUR_MS = 3_600_000


class Another:
    """Another store, and an export to be imported there."""

    def __init__(self, rig: Rig, kernel: Kernel, folder: Path, manifest: Manifest) -> None:
        self.rig = rig
        self.kernel = kernel
        self.folder = folder
        self.manifest = manifest

    @property
    def rows(self) -> list[Row]:
        return [
            row
            for file in self.manifest.files
            for row in decoded(folders.load(self.folder, file), file.name)
        ]

    async def begun(self, rows: int) -> Realm:
        """An import that was killed after so many rows."""
        realm = await begin(self.kernel, self.manifest.realm, self.manifest.facts, ANYWHERE, by="")
        await fill(self.kernel, realm.id, self.rows[:rows])
        return realm


@pytest.fixture(name="another")
async def _another(
    world: World, node: Node, staffed: Guarded, tmp_path: Path
) -> AsyncIterator[Another]:
    await furnish(node, staffed)
    opened = await node.opened()
    await opened.realm.commit("policy-mappings", lambda draft: draft.seal())
    manifest = await exported(node.kernel, tmp_path / "export")
    async with Rig() as rig:
        rig.clock.advance(world.rig.clock.wall_ms() - rig.clock.wall_ms() + 1)
        yield Another(rig, await rig.open(types=TYPES), tmp_path / "export", manifest)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
async def test_an_import_that_was_killed_goes_on(
    another: Another, share: float, tmp_path: Path
) -> None:
    """Whatever was there already, in the end all is, once; also what is sealed."""
    half = await another.begun(int(share * another.manifest.facts.rows))

    realm = await imported(another.kernel, another.folder)

    assert realm.id == half.id
    assert (await exported(another.kernel, tmp_path / "2")).facts == another.manifest.facts


async def test_an_import_that_was_killed_before_it_began_goes_on(another: Another) -> None:
    """Only its name was taken."""
    manifest = another.manifest
    properties = {**manifest.realm.properties, "headgate.loaded-from": manifest.facts.content}
    reserved = await another.kernel.realms.reserve(manifest.realm.name, properties)

    assert (await imported(another.kernel, another.folder)).id == reserved.id


async def test_a_realm_that_is_loaded_serves_nobody_and_is_not_exported(
    another: Another, tmp_path: Path
) -> None:
    """Until all is there."""
    realm = await another.begun(3)

    with pytest.raises(RealmNotActive):
        await another.kernel.realm(realm.id).heads("root")
    with pytest.raises(RealmNotActive, match="it is LOADING"):
        await exported(another.kernel, tmp_path / "2")


async def test_an_import_that_was_given_up_leaves_nothing(another: Another) -> None:
    """The database is as it was, but for what lists realms."""
    realm = await another.begun(another.manifest.facts.rows)
    await abort(another.kernel, METALAKE)

    left = await snapshot(another.rig.memory)
    assert [key for key in left.pointers if key.realm == realm.id] == []
    assert [key for key in left.rows if key[0] == realm.id] == []
    with pytest.raises(RealmNotFound):
        await another.kernel.realms.get(METALAKE)


async def test_only_unfinished_imports_are_given_up(node: Node) -> None:
    """A metalake that is in use stays."""
    with pytest.raises(RealmNotFound, match="no unfinished import"):
        await abort(node.kernel, METALAKE)


async def test_a_name_that_is_taken_is_refused(another: Another) -> None:
    """By a metalake, and by an import of something else."""
    await found_metalake(another.kernel, METALAKE, "olga")
    await _refused(another, RealmExists, "one of this name")
    other = msgspec.structs.replace(another.manifest.facts, content="0")
    await begin(another.kernel, REALM, other, ANYWHERE, by="")

    with pytest.raises(RealmExists, match="another export"):
        await begin(another.kernel, REALM, another.manifest.facts, ANYWHERE, by="")


async def test_what_is_being_cleared_away_is_not_gone_on_with(another: Another) -> None:
    """Its data is half gone."""
    realm = await another.begun(3)
    await another.kernel.realms.move(realm.id, RealmState.PURGING)

    with pytest.raises(IllegalRealmMove, match="cleared away"):
        await imported(another.kernel, another.folder)
    await abort(another.kernel, realm.id)
    await imported(another.kernel, another.folder)


async def test_places_that_another_metalake_has_are_refused(another: Another) -> None:
    """Each would purge the other's files."""
    [place] = another.manifest.facts.places
    await found_metalake(another.kernel, "squatters", "olga")
    await create_catalog(another.kernel, "squatters", CatalogEntity(0, "hut", f"{place}/a", {}))

    await _refused(another, LocationTaken, r"squatters\.hut")


async def test_places_that_were_taken_meanwhile_are_refused_in_the_end(another: Another) -> None:
    """And whoever comes later than the import's own catalogs is refused itself."""
    [place] = another.manifest.facts.places
    await found_metalake(another.kernel, "squatters", "olga")
    realm = await another.begun(0)
    hut = CatalogEntity(0, "hut", place, {})
    await create_catalog(another.kernel, "squatters", hut)
    await fill(another.kernel, realm.id, another.rows)

    with pytest.raises(LocationTaken, match=r"squatters\.hut"):
        await finish(
            another.kernel, realm.id, another.manifest.facts.content, "ACTIVE", ANYWHERE, by=""
        )
    with pytest.raises(LocationTaken):
        await create_catalog(another.kernel, "squatters", msgspec.structs.replace(hut, name="shed"))
    assert (await another.kernel.realms.get(realm.id)).state is RealmState.LOADING


async def test_catalogs_that_are_still_there_are_refused(node: Node, tmp_path: Path) -> None:
    """The same metalake under another name would be two owners of the same files."""
    await exported(node.kernel, tmp_path / "1")

    with pytest.raises(Conflict, match=f"those of realm '{METALAKE}', which is still there"):
        await imported(node.kernel, tmp_path / "1", "copy")

    assert [realm.name for realm in await node.kernel.realms.list()] == [METALAKE]


async def test_types_that_nobody_knows_are_refused(another: Another) -> None:
    """A newer program wrote them."""
    facts = Facts(types={"table": 3, "unicorn": 1})

    with pytest.raises(Unsupported, match="unicorn"):
        await begin(another.kernel, REALM, facts, ANYWHERE, by="")
    assert await another.kernel.realms.list() == []


async def test_ids_from_the_future_are_refused(another: Another) -> None:
    """They would be given out once more."""
    another.rig.clock.short_seconds = 0
    facts = msgspec.structs.replace(another.manifest.facts, newest=another.kernel.ids.next() << 1)

    with pytest.raises(Conflict, match="ahead of this machine's clock"):
        await begin(another.kernel, REALM, facts, ANYWHERE, by="")


async def test_a_state_that_no_export_has_is_refused(another: Another) -> None:
    """A realm ends as ACTIVE or INACTIVE."""
    realm = await another.begun(0)

    with pytest.raises(InvalidInput, match="PURGED"):
        await begin(another.kernel, RealmFacts("x", "PURGED"), Facts(), ANYWHERE, by="")
    with pytest.raises(InvalidInput, match="LOADING"):
        await finish(another.kernel, realm.id, "", "LOADING", ANYWHERE, by="")


async def test_an_import_is_finished_by_its_own_export_only_and_may_be_asked_twice(
    another: Another,
) -> None:
    """The answer to the first question may have been lost."""
    realm = await another.begun(another.manifest.facts.rows)
    content = another.manifest.facts.content

    with pytest.raises(Conflict, match="not filled from this export"):
        await finish(another.kernel, realm.id, "0", "ACTIVE", ANYWHERE, by="")
    first = await finish(another.kernel, realm.id, content, "ACTIVE", ANYWHERE, by="")
    assert await finish(another.kernel, realm.id, content, "ACTIVE", ANYWHERE, by="") == first
    with pytest.raises(Conflict, match="not filled from this export"):
        await finish(another.kernel, realm.id, "0", "ACTIVE", ANYWHERE, by="")
    with pytest.raises(RealmNotFound, match="no unfinished import"):
        await finish(another.kernel, realm.id, content, "INACTIVE", ANYWHERE, by="")


async def test_a_realm_that_was_never_imported_is_finished_by_no_export(another: Another) -> None:
    """Though it is in the very state that is asked for."""
    realm = await another.kernel.realms.create("plain")

    for content in ("0", another.manifest.facts.content):
        with pytest.raises(Conflict, match="not filled from this export"):
            await finish(another.kernel, realm.id, content, "ACTIVE", ANYWHERE, by="")


async def test_rows_go_nowhere_but_into_a_realm_that_is_loaded(another: Another) -> None:
    """One that serves is not changed behind the back of its users."""
    realm = await imported(another.kernel, another.folder)

    with pytest.raises(RealmNotFound, match="no unfinished import"):
        await fill(another.kernel, realm.id, another.rows)


@pytest.mark.parametrize(
    "row",
    [
        Row("No Pointer", "names", b"", b""),
        Row("root", "No Index", b"", b""),
        Row("root", "operations", b"", b""),
        Row("root", "names", b"", b"", (Carried(0, "table", b""),)),
        Row("root", "names", b"", b"", (Carried(1 << 63, "table", b""),)),
        Row("root", "names", b"", b"", (Carried(1, "No Type", b""),)),
    ],
)
async def test_rows_that_no_export_has_are_refused(another: Another, row: Row) -> None:
    """Whoever sends them hears what is wrong, and no pointer is made for them."""
    realm = await another.begun(0)

    with pytest.raises(InvalidInput):
        await fill(another.kernel, realm.id, [row])

    names = {key.name for key in (await snapshot(another.rig.memory)).pointers}
    assert "No Pointer" not in names


async def test_catalogs_without_ids_are_refused(another: Another) -> None:
    """Nobody made them."""
    with pytest.raises(InvalidInput, match="-1 is no id"):
        await begin(another.kernel, REALM, Facts(catalogs=(-1,)), ANYWHERE, by="")


async def test_a_commit_of_an_import_comes_too_late_when_it_is_over(another: Another) -> None:
    """Also if it was on its way: the commit itself looks at the realm."""
    realm = await imported(another.kernel, another.folder)

    with pytest.raises(RealmNotFound):
        await another.kernel.unserved.load(realm.id, "root", lambda draft: draft.mark("late", 1))


async def test_an_import_that_lost_something_is_not_finished(another: Another) -> None:
    """All is read back before anybody is served."""
    realm = await another.begun(another.manifest.facts.rows)
    extra = Row("grants", "granted", b"somebody else's", b"")
    await fill(another.kernel, realm.id, [extra])

    with pytest.raises(Conflict, match="not finished"):
        await imported(another.kernel, another.folder)
    assert (await another.kernel.realms.get(METALAKE)).state is RealmState.LOADING


async def test_the_metalake_of_an_import_can_go_and_come_again(another: Another) -> None:
    """As often as one likes."""
    first = await imported(another.kernel, another.folder)
    await vanish(another.kernel)

    assert (await imported(another.kernel, another.folder)).id != first.id


async def test_a_metalake_that_comes_back_gets_the_places_that_it_left(
    node: Node, tmp_path: Path
) -> None:
    """It is the same metalake, since its catalogs are the same; nobody else gets them."""
    await node.table()
    await exported(node.kernel, tmp_path / "1")
    await keep_all_places(node.kernel, await node.kernel.realms.get(METALAKE), by="")
    await vanish(node.kernel)
    await found_metalake(node.kernel, "squatters", by="")
    back = await imported(node.kernel, tmp_path / "1", "back")
    [left] = await left_places(node.kernel)
    taking = CatalogEntity(0, "hut", left.location, {})

    assert (left.realm, left.metalake) == (back.id, "back")
    with pytest.raises(LocationTaken):
        await create_catalog(node.kernel, "squatters", taking)
    await vanish(node.kernel, "back")
    with pytest.raises(LocationTaken, match="another metalake"):
        await create_catalog(node.kernel, "squatters", taking)


async def _refused(another: Another, error: type[HeadgateError], why: str) -> None:
    """The import is refused, and nothing has changed."""
    before = await snapshot(another.rig.memory)
    with pytest.raises(error, match=why):
        await imported(another.kernel, another.folder)
    assert await snapshot(another.rig.memory) == before


async def test_rows_that_come_after_an_import_was_given_up_are_not_kept(another: Another) -> None:
    """The import was held up before its next step, and its realm is gone: so is what comes late."""
    realm = await another.begun(3)

    async def given_up() -> None:
        await abort(another.kernel, realm.id)

    another.rig.faults.crash_at("before_create_pointers", given_up)
    with pytest.raises(RealmNotFound):
        await fill(another.kernel, realm.id, another.rows)

    left = await snapshot(another.rig.memory)
    assert [key for key in left.pointers if key.realm == realm.id] == []
    assert [key for key in left.rows if key[0] == realm.id] == []


async def test_objects_that_come_after_an_import_was_given_up_are_swept(another: Another) -> None:
    """It was held up one step later: nothing refers to them, and no realm lists them."""
    realm = await another.begun(3)

    async def given_up() -> None:
        await abort(another.kernel, realm.id)

    another.rig.faults.crash_at("before_write", given_up)
    with pytest.raises(RealmNotFound):
        await fill(another.kernel, realm.id, another.rows)
    late = await snapshot(another.rig.memory)
    await another.rig.pass_time(3 * HOUR_MS)
    running = Running(another.kernel, Order(by="t", holder="t", grace_ms=HOUR_MS))
    await running.begin()
    run = await running.complete()

    assert [key for key in late.rows if key[0] == realm.id] != []
    assert run.failures == ()
    left = await snapshot(another.rig.memory)
    assert [key for key in left.rows if key[0] == realm.id] == []
