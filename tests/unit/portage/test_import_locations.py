"""The locations of imported catalogs are checked like those of new ones."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import create_catalog, delete_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.left_places import left_places, looking_into
from headgate.catalog.metalakes import found_metalake
from headgate.catalog.openings import head_pointer
from headgate.catalog.stored_names import CATALOG_POINTER, LOCATIONS
from headgate.errors import BadSetting, HeadgateError, LocationTaken
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.portage import folder as folders
from headgate.portage.filling import begin, fill, finish
from headgate.portage.locations import LocationChecks
from headgate.portage.manifest import RealmFacts
from headgate.portage.parquet import decoded
from headgate.portage.rows import Row, facts_of
from headgate.settings.loading import load
from headgate.settings.own_files import check_apart
from headgate.testing.kernels import Rig, snapshot
from tests.unit.catalog.lakes import METALAKE, TYPES, Node, World
from tests.unit.portage.moves import ANYWHERE, exported, imported

OTHERS = "others"


class Target:
    """Another store, and the folder of an export to be imported there."""

    def __init__(self, rig: Rig, kernel: Kernel, folder: Path) -> None:
        self.rig = rig
        self.kernel = kernel
        self.folder = folder

    async def refuses(self, checks: LocationChecks, error: type[HeadgateError], why: str) -> None:
        """The import is refused, and nothing has changed."""
        before = await snapshot(self.rig.memory)
        with pytest.raises(error, match=why):
            await imported(self.kernel, self.folder, checks=checks)
        assert await snapshot(self.rig.memory) == before


@pytest.fixture(name="target")
async def _target(world: World, node: Node, tmp_path: Path) -> AsyncIterator[Target]:
    await node.table()
    await exported(node.kernel, tmp_path / "export")
    async with Rig() as rig:
        rig.clock.advance(world.rig.clock.wall_ms() - rig.clock.wall_ms() + 1)
        yield Target(rig, await rig.open(types=TYPES), tmp_path / "export")


@pytest.mark.parametrize(
    "flags",
    [
        {"data": "{}/data"},
        {"backend": "sqlite://{}/h.db"},
        {"audit.file": "{}/audit.log"},
        {"security.master-key-file": "{}/master.key"},
        {"log.checkpoint-file": "{}/log.jsonl"},
    ],
    ids=["data", "database", "audit", "key", "checkpoints"],
)
async def test_no_imported_catalog_holds_files_of_the_server(
    world: World, target: Target, tmp_path: Path, flags: dict[str, str]
) -> None:
    """Refused before anything is written: orphans there would be the server's own files."""
    own = {name: text.format(world.warehouse) for name, text in flags.items()}
    settings = load(flags={"data": str(tmp_path / "elsewhere"), **own})
    checks = LocationChecks(partial(check_apart, settings))

    await target.refuses(checks, BadSetting, f"'{METALAKE}' cannot be imported: tables cannot lie")
    apart = load(flags={"data": str(tmp_path / "elsewhere"), "audit.file": "-"})
    await imported(target.kernel, target.folder, checks=LocationChecks(partial(check_apart, apart)))


async def test_links_of_this_machine_lead_to_no_other_catalog(world: World, target: Target) -> None:
    """Two names of one folder are one location."""
    await found_metalake(target.kernel, OTHERS, "olga")
    await create_catalog(target.kernel, OTHERS, CatalogEntity(0, "hut", "/link", {}))

    def real(location: str) -> str:
        return location.replace("/link", world.warehouse)

    checks = ANYWHERE._replace(real=real)
    await target.refuses(checks, LocationTaken, r"others\.hut")
    assert (await imported(target.kernel, target.folder)).state is RealmState.ACTIVE


async def leave(kernel: Kernel, location: str) -> None:
    """Let another metalake leave a location in which it may have files."""
    await found_metalake(kernel, OTHERS, "olga")
    made = await create_catalog(kernel, OTHERS, CatalogEntity(0, "hut", location, {}))
    realm = await kernel.realms.get(OTHERS)

    def used(draft: Draft) -> None:
        draft.index(LOCATIONS).put(b"used", b"")

    await kernel.realm(realm.id).commit(head_pointer(made.id), used)
    await delete_catalog(kernel, CatalogName(OTHERS, "hut"))


async def test_a_location_with_files_that_another_metalake_left_is_refused(
    world: World, node: Node, target: Target
) -> None:
    """The export's own table is one of them here: it cannot be told whose they are."""
    await leave(target.kernel, world.warehouse)
    checks = ANYWHERE._replace(is_empty=looking_into(node.storage))

    await target.refuses(checks, LocationTaken, "place of another metalake")


async def test_a_location_that_another_metalake_left_empty_is_free(
    world: World, node: Node, target: Target
) -> None:
    """As for a new catalog."""
    for file in world.files():
        if file.startswith(world.warehouse):
            Path(file).unlink()
    await leave(target.kernel, world.warehouse)
    await target.refuses(ANYWHERE, LocationTaken, "place of another metalake")
    checks = ANYWHERE._replace(is_empty=looking_into(node.storage))

    await imported(target.kernel, target.folder, checks=checks)
    assert await left_places(target.kernel) == []


async def test_a_catalog_cannot_name_more_locations_than_were_checked(
    world: World, node: Node, target: Target
) -> None:
    """Rows that reserve nothing are checked by what their catalogs say before they serve."""
    rows = [row for row in rows_of(target) if not is_reservation(row)]
    facts = facts_of(rows)
    assert facts.places == ()

    def check(location: str) -> None:
        raise BadSetting(f"tables cannot lie in {location}")

    checks = LocationChecks(check)
    realm = await begin(target.kernel, RealmFacts(METALAKE, "ACTIVE"), facts, checks, by="")
    await fill(target.kernel, realm.id, rows)
    with pytest.raises(BadSetting, match=world.warehouse):
        await finish(target.kernel, realm.id, facts.content, "ACTIVE", checks, by="")
    assert (await target.kernel.realms.get(realm.id)).state is RealmState.LOADING


def rows_of(target: Target) -> list[Row]:
    """All rows of the export."""
    manifest = folders.load_manifest(target.folder)
    return [
        row
        for file in manifest.files
        for row in decoded(folders.load(target.folder, file), file.name)
    ]


def is_reservation(row: Row) -> bool:
    return (row.pointer, row.index) == (CATALOG_POINTER, LOCATIONS)
