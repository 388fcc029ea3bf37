"""Which tables refer to files outside of their places, and how little is read to know it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
import pytest

from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.catalog_commits import remove_catalog
from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.openings import Opened, head_pointer
from headgate.catalog.ports import Roots
from headgate.catalog.purging import LiveJob, PurgeJob, PurgeTerms, Recorded
from headgate.errors import StorageUnavailable
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.model.locations import index_key
from headgate.model.names import Identifier
from headgate.purge import referrers as subject
from headgate.purge.queue import Queue
from headgate.purge.referrers import UNREAD_SECONDS, Referrers
from headgate.purge.surveyor import Outside, Referrer, Shared, Surveyed
from tests.unit.catalog.lakes import METALAKE, Node, World, new_table

MANY = 300
PLACE = "file:///purged/t"


class Surveyor:
    """Tables refer to what a test says."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        """Names of the folders of the tables that were read."""
        self.roots: list[Roots] = []
        """Below which they were read."""
        self.outside: dict[str, Outside] = {}
        self.is_down = False
        self.while_read: Callable[[], Awaitable[None]] | None = None

    async def survey(self, tables: Sequence[Surveyed], roots: Roots) -> list[Outside]:
        if self.is_down:
            raise StorageUnavailable("it is down")
        names = [_name(table) for table in tables]
        self.asked += names
        self.roots.append(roots)
        found = [self.outside.get(name, Outside()) for name in names]
        if self.while_read is not None:
            await self.while_read()
        return found

    async def shared(
        self, referrers: Sequence[Referrer], roots: Roots, paths: Sequence[str]
    ) -> Shared:
        return Shared([_name(one.table) for one in referrers])


def _name(table: Surveyed) -> str:
    return table.own[0].rpartition("/")[2].partition("-")[0]


def into(place: str, digest: bytes = b"1") -> Outside:
    """References to files in a folder."""
    return Outside((index_key(f"{place}/data"),), digest=digest)


class Referring:
    """A node, and what is asked of its tables when another one is purged."""

    def __init__(self, node: Node, opened: Opened) -> None:
        self.node = node
        self.warehouse = opened.catalog.warehouse
        self.surveyor = Surveyor()
        self.referrers = Referrers(node.kernel, self.surveyor)
        job = PurgeJob(Identifier(("a",), "purged"), f"{PLACE}/metadata/1.json", (PLACE,))
        self.job = LiveJob(
            opened.realm.id, METALAKE, opened.catalog.id, "main", 1, job, ("file:///purged",)
        )

    async def look(self) -> list[str]:
        """The tables that refer to files of the purged one."""
        return sorted(_name(one.table) for one in (await self.referrers.to_places(self.job)).tables)

    def read(self) -> list[str]:
        """What was read since the last time."""
        asked, self.surveyor.asked = sorted(self.surveyor.asked), []
        return asked


@pytest.fixture
async def referring(node: Node) -> Referring:
    node.lake.purging = Recorded()
    return Referring(node, await node.opened())


async def commit(node: Node, name: str, value: str = "y") -> None:
    body = {"updates": [{"action": "set-properties", "updates": {"x": value}}]}
    answer = await node.send("POST", f"namespaces/a/tables/{name}", {"requirements": [], **body})
    assert answer.status == 200, answer


async def test_tables_are_found_that_refer_to_files_in_a_place(referring: Referring) -> None:
    """Others do not count: those that keep to themselves, and those that refer elsewhere."""
    for name in ("one", "two", "three"):
        await referring.node.table(name)
    referring.surveyor.outside = {"one": into(PLACE), "two": into("file:///elsewhere")}

    assert await referring.look() == ["one"]


async def test_unchanged_tables_are_read_once(referring: Referring) -> None:
    """However many there are; a commit costs its table, a new table itself, a drop nothing."""
    for number in range(MANY):
        await referring.node.table(f"t{number}")
    assert await referring.look() == []
    assert len(referring.read()) == MANY

    await referring.look()
    assert referring.read() == []
    await commit(referring.node, "t7")
    await referring.node.table("new")
    await referring.node.delete("namespaces/a/tables/t8")
    await referring.look()
    assert referring.read() == ["new", "t7"]


async def test_after_very_many_commits_names_are_walked_over_and_known_tables_not_read(
    referring: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What changed is found in another way, and is the same."""
    for name in ("one", "two", "three"):
        await referring.node.table(name)
    referring.surveyor.outside = {"one": into(PLACE), "two": into(PLACE)}
    await referring.look()
    referring.read()
    monkeypatch.setattr(subject, "REFERENCE_COMMITS_MAX", 0)

    await commit(referring.node, "one")
    await referring.node.delete("namespaces/a/tables/two")

    assert await referring.look() == ["one"]
    assert referring.read() == ["one"]


async def test_a_table_that_is_renamed_is_known(referring: Referring) -> None:
    """It is the same, wherever its name is."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": into(PLACE)}
    await referring.look()
    names = {
        "source": {"namespace": ["a"], "name": "one"},
        "destination": {"namespace": ["a"], "name": "two"},
    }
    await referring.node.send("POST", "tables/rename", names)
    referring.read()

    assert await referring.look() == ["one"]
    assert referring.read() == []


async def test_a_table_that_is_gone_needs_nothing(referring: Referring) -> None:
    """Also if it is dropped with purge."""
    for name in ("one", "two"):
        await referring.node.table(name)
    referring.surveyor.outside = {"one": into(PLACE), "two": into(PLACE)}
    assert await referring.look() == ["one", "two"]

    await referring.node.delete("namespaces/a/tables/one")
    await referring.node.delete("namespaces/a/tables/two?purgeRequested=true")

    assert await referring.look() == []


async def test_a_table_that_can_come_back_needs_its_files(
    world: World, referring: Referring
) -> None:
    """Until its purge has begun; it is not even read again."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": into(PLACE)}
    await referring.look()
    referring.read()
    referring.node.lake.purging.terms = PurgeTerms(grace_ms=1_000)  # type: ignore[misc]
    await referring.node.delete("namespaces/a/tables/one?purgeRequested=true")

    assert await referring.look() == ["one"]
    assert referring.read() == []
    world.rig.clock.advance(2_000)
    referring.node.purges.wake()
    await referring.node.purges.idle()
    assert await Queue(referring.node.kernel).live_jobs() == []
    assert await referring.look() == []


async def test_what_could_not_be_read_is_looked_for_again(
    world: World, referring: Referring, caplog: pytest.LogCaptureFixture
) -> None:
    """After a while: somebody may have restored it. It is complained about once."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": Outside(unread=("file:/lost",))}
    for _ in range(2):
        assert await referring.look() == []
    assert referring.read() == ["one"]
    world.rig.clock.advance(1_000 * UNREAD_SECONDS)
    await referring.look()
    referring.surveyor.outside = {"one": into(PLACE)}
    assert await referring.look() == []
    world.rig.clock.advance(1_000 * UNREAD_SECONDS)

    assert await referring.look() == ["one"]
    assert caplog.text.count("file:/lost") == 1


async def test_a_damaged_table_that_changes_all_the_time_does_not_hold_up_a_look(
    referring: Referring,
) -> None:
    """What it lost may have moved by the first change, but not by all that follow."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": msgspec.structs.replace(into(PLACE), unread=("/lost",))}

    async def change() -> None:
        await commit(referring.node, "one", str(len(referring.surveyor.asked)))

    referring.surveyor.while_read = change
    async with asyncio.timeout(10):
        assert await referring.look() == ["one"]

    assert referring.read() == ["one", "one"]


async def test_what_a_changed_table_was_missing_is_looked_for_where_it_is_now(
    referring: Referring,
) -> None:
    """Its files went away while they were read, as it does not need them any more."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": Outside(unread=("/moved",))}

    async def move() -> None:
        if referring.surveyor.outside["one"].unread:
            await commit(referring.node, "one")
            referring.surveyor.outside = {"one": into(PLACE)}

    referring.surveyor.while_read = move

    assert await referring.look() == ["one"]


async def test_a_storage_that_is_down_is_asked_again(referring: Referring) -> None:
    """Nothing is taken for granted that was not read."""
    await referring.node.table("one")
    referring.surveyor.outside = {"one": into(PLACE)}
    referring.surveyor.is_down = True
    for _ in range(2):
        with pytest.raises(StorageUnavailable):
            await referring.look()
    referring.surveyor.is_down = False

    assert await referring.look() == ["one"]


async def test_files_outside_are_asked_about_where_others_refer_to(referring: Referring) -> None:
    """Only tables that refer to something in the very same folder are walked over."""
    for name in ("one", "two"):
        await referring.node.table(name)
    referring.surveyor.outside = {"one": into(PLACE), "two": Outside(trees=(b"",))}

    near = await referring.referrers.shared(referring.job, [f"{PLACE}/data/a", "rubbish"])
    far = await referring.referrers.shared(referring.job, ["file:///purged/other/a"])

    assert sorted(near.paths) == ["one", "two"]
    assert far.paths == ["two"]


@contextmanager
def counted_opens(kernel: Kernel) -> Iterator[list[str]]:
    """The pointers of catalogs that are read one by one meanwhile."""
    names: list[str] = []
    read = kernel.pointers.read

    async def noted(keys: Sequence[PointerKey]) -> list[int | None]:
        names.extend(key.name for key in keys if key.name.startswith("cat/"))
        return await read(keys)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel.pointers, "read", noted)
        yield names


async def elsewhere(referring: Referring, metalake: str, catalog: str, *tables: str) -> str:
    """Another catalog with these tables, perhaps of another metalake; where it lies."""
    node = referring.node
    place = f"{referring.warehouse}-of-{metalake}-{catalog}"
    if metalake != METALAKE:
        await node.kernel.realms.create(metalake)
    await create_catalog(node.kernel, metalake, CatalogEntity(0, catalog, place, {}))
    await node.made("namespaces", {"namespace": ["a"]}, catalog=f"{metalake}.{catalog}")
    for name in tables:
        await node.made("namespaces/a/tables", new_table(name), catalog=f"{metalake}.{catalog}")
    return place


@pytest.mark.parametrize("metalake", [METALAKE, "other"])
async def test_tables_of_other_catalogs_count(referring: Referring, metalake: str) -> None:
    """Whatever metalake they are in; what leads to the files may lie in any catalog's place."""
    place = await elsewhere(referring, metalake, "more", "one", "two")
    referring.surveyor.outside = {"one": into(PLACE)}

    found = await referring.referrers.to_places(referring.job)

    assert [_name(one.table) for one in found.tables] == ["one"]
    assert found.roots == (referring.warehouse, place)
    assert set(referring.surveyor.roots) == {found.roots}


async def test_a_catalog_that_did_not_change_is_not_even_opened(referring: Referring) -> None:
    """A look at many catalogs costs those in which something was done."""
    for number in range(3):
        await elsewhere(referring, METALAKE, f"c{number}", f"t{number}")
    await referring.look()
    referring.read()
    await referring.node.made("namespaces/a/tables", new_table("new"), catalog=f"{METALAKE}.c1")

    kernel = referring.node.kernel
    with counted_opens(kernel) as opened:
        await referring.look()

    assert referring.read() == ["new"]
    assert opened == [head_pointer((await referring.node.opened("c1")).catalog.id)]


async def test_a_metalake_that_is_switched_off_keeps_its_files(referring: Referring) -> None:
    """It can be switched on again; one that is dropped cannot."""
    await elsewhere(referring, "other", "more", "one")
    referring.surveyor.outside = {"one": into(PLACE)}
    realms = referring.node.kernel.realms

    off = await realms.deactivate("other")
    while_off = await referring.look()
    await realms.drop(off.id, active=False)

    assert while_off == ["one"]
    assert await referring.look() == []


async def test_a_catalog_that_is_dropped_by_force_needs_nothing(referring: Referring) -> None:
    """Its tables are purged themselves."""
    await elsewhere(referring, METALAKE, "more", "one")
    referring.surveyor.outside = {"one": into(PLACE)}
    assert await referring.look() == ["one"]
    node = referring.node
    opened = await node.opened("more")
    call = Call(CatalogName(METALAKE, "more"))
    realm = await node.kernel.realms.get(METALAKE)
    await remove_catalog(node.kernel, realm, call, opened.catalog, force=True)

    assert await referring.look() == []


async def test_operators_can_say_that_catalogs_share_no_files(referring: Referring) -> None:
    """Then tables of other catalogs are not read at all."""
    await referring.node.table("own")
    await elsewhere(referring, METALAKE, "more", "one")
    referring.surveyor.outside = {"own": into(PLACE), "one": into(PLACE)}
    apart = Referrers(referring.node.kernel, referring.surveyor, across_catalogs=False)
    path = f"{PLACE}/data/a"

    found = await apart.to_places(referring.job)
    others = await apart.elsewhere(referring.job.head, [path])

    assert [_name(one.table) for one in found.tables] == ["own"]
    assert others.paths == []
    assert referring.read() == ["own"]


async def test_who_asks_about_other_catalogs_hears_nothing_of_its_own(
    referring: Referring,
) -> None:
    """Whoever looks for orphans has read its own tables."""
    await referring.node.table("own")
    await elsewhere(referring, METALAKE, "more", "one")
    referring.surveyor.outside = {"own": into(PLACE), "one": into(PLACE)}

    found = await referring.referrers.elsewhere(referring.job.head, [f"{PLACE}/data/a"])

    assert found.paths == ["one"]
    assert referring.read() == ["one"]


async def test_a_storage_of_another_catalog_that_is_down_is_no_answer(
    referring: Referring,
) -> None:
    """Nothing is deleted that its tables may need; what was read before need not be read."""
    await referring.node.table("own")
    await elsewhere(referring, METALAKE, "more", "one")
    await referring.look()
    referring.surveyor.is_down = True
    assert await referring.look() == []
    await referring.node.made("namespaces/a/tables", new_table("two"), catalog=f"{METALAKE}.more")

    with pytest.raises(StorageUnavailable):
        await referring.look()
