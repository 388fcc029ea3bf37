"""Tables of other catalogs that refer to files of a dropped one, and how little is read for it."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
import pytest

from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.catalog_commits import remove_catalog
from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.openings import head_pointer
from headgate.catalog.ports import Roots
from headgate.errors import StorageUnavailable
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm, RealmState
from headgate.kernel.records import PointerKey
from headgate.purge.referrers import Lookups, Referrers
from headgate.purge.surveyor import Outside, Referrer, Shared
from headgate.workers.turns import NO_TENANT, Tenant
from tests.unit.catalog.lakes import METALAKE, World, new_table
from tests.unit.purge.referring import PLACE, Referring, Surveyor, into, name_of


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

    assert [name_of(one.table) for one in found.tables] == ["one"]
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
    others = await apart.elsewhere(referring.job.head, [path], "ann")

    assert [name_of(one.table) for one in found.tables] == ["own"]
    assert others.paths == []
    assert referring.read() == ["own"]


async def test_who_asks_about_other_catalogs_hears_nothing_of_its_own(
    referring: Referring,
) -> None:
    """Whoever looks for orphans has read its own tables."""
    await referring.node.table("own")
    await elsewhere(referring, METALAKE, "more", "one")
    referring.surveyor.outside = {"own": into(PLACE), "one": into(PLACE)}

    found = await referring.referrers.elsewhere(referring.job.head, [f"{PLACE}/data/a"], "ann")

    assert found.paths == ["one"]
    assert referring.read() == ["one"]


class Endless(Surveyor):
    """Looks files up without end."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun = asyncio.Event()

    async def shared(
        self,
        referrers: Sequence[Referrer],
        roots: Roots,
        paths: Sequence[str],
        tenant: Tenant = NO_TENANT,
    ) -> Shared:
        await super().shared(referrers, roots, paths, tenant)
        self.has_begun.set()
        await asyncio.Event().wait()
        return Shared()


async def test_an_enquiry_that_takes_long_holds_up_no_purge(referring: Referring) -> None:
    """Enquiries have processes of their own, where each is done for its principal; so has each
    purge."""
    await elsewhere(referring, METALAKE, "more", "one")
    referring.surveyor.outside = {"one": into(PLACE)}
    endless, quick = Endless(), Surveyor()
    kernel, job, paths = referring.node.kernel, referring.job, [f"{PLACE}/data/a"]
    referrers = Referrers(kernel, referring.surveyor, lookups=Lookups(quick, endless))
    enquiry = asyncio.create_task(referrers.elsewhere(job.head, paths, "mallory"))
    await endless.has_begun.wait()

    async with asyncio.timeout(10):
        assert (await referrers.shared(job, paths)).paths == ["one"]
        assert len((await referrers.to_places(job)).tables) == 1
    enquiry.cancel()
    assert endless.tenants == [Tenant(job.realm, "mallory")]
    assert quick.tenants == [Tenant(job.realm, job.job.created_by)]


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


async def test_what_lies_in_places_of_other_catalogs_is_theirs(referring: Referring) -> None:
    """Whoever looks for orphans leaves it, and is not told whether it is needed."""
    place = await elsewhere(referring, METALAKE, "more", "one")
    lost = [f"{referring.warehouse}/a", f"{place}-not/a", "/nowhere/a", "ftp://x/a", ""]
    paths = [f"{place}/a/b", *lost, place]

    found = await referring.referrers.elsewhere(referring.job.head, paths, "ann")

    assert found.paths == [f"{place}/a/b", place]


async def test_a_table_that_moves_to_another_catalog_meanwhile_is_found(
    referring: Referring,
) -> None:
    """It is registered in one that was read and dropped in one that was not, so it was there at
    every moment."""
    node = referring.node
    for catalog, table in (("c", "other"), ("d", "slow"), ("e", "before")):
        await elsewhere(referring, METALAKE, catalog, table)
    referring.surveyor.outside = {"before": into(PLACE), "after": into(PLACE)}

    async def move() -> None:
        if referring.surveyor.asked[-1] == "slow":
            body = new_table("after")
            await node.made("namespaces/a/tables", body, catalog=f"{METALAKE}.c")
            await node.delete("namespaces/a/tables/before", catalog=f"{METALAKE}.e")

    referring.surveyor.while_read = move

    assert await referring.look() == ["after"]
    assert "before" not in referring.read()


async def test_a_table_that_moves_while_it_is_looked_once_more_counts(
    referring: Referring,
) -> None:
    """The look before saw it where it was: its files are the same."""
    node = referring.node
    for catalog, table in (("c", "other"), ("d", "slow"), ("e", "before")):
        await elsewhere(referring, METALAKE, catalog, table)
    referring.surveyor.outside = {"before": into(PLACE), "after": into(PLACE)}

    async def make(name: str, catalog: str) -> None:
        await node.made("namespaces/a/tables", new_table(name), catalog=f"{METALAKE}.{catalog}")

    async def move() -> None:
        if referring.surveyor.asked[-1] == "before":
            await make("busy", "d")
            await make("too", "e")
        elif referring.surveyor.asked[-1] == "busy":
            await make("after", "c")
            await node.delete("namespaces/a/tables/before", catalog=f"{METALAKE}.e")

    referring.surveyor.while_read = move

    assert await referring.look() == ["before"]


async def test_what_could_not_be_read_is_read_when_it_is_in_a_place_again(
    referring: Referring,
) -> None:
    """What leads to the files lies where no catalog was: now there is one, nobody has to wait."""
    await elsewhere(referring, METALAKE, "more", "one")
    referring.surveyor.outside = {"one": Outside(unread=("/lost",))}
    assert await referring.look() == []
    referring.surveyor.outside = {"one": into(PLACE)}
    assert await referring.look() == []

    await elsewhere(referring, METALAKE, "again")

    assert await referring.look() == ["one"]


async def test_a_metalake_that_is_being_imported_keeps_its_files(
    referring: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tables will need them."""
    await elsewhere(referring, "other", "more", "one")
    referring.surveyor.outside = {"one": into(PLACE)}
    realms = referring.node.kernel.realms
    all_realms = realms.list

    async def loading() -> list[Realm]:
        return [
            msgspec.structs.replace(realm, state=RealmState.LOADING)
            if realm.name == "other"
            else realm
            for realm in await all_realms()
        ]

    monkeypatch.setattr(realms, "list", loading)

    assert await referring.look() == ["one"]


async def test_a_metalake_that_is_purged_meanwhile_holds_up_nobody(
    world: World, referring: Referring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are gone when they are asked for: it needs nothing any more."""
    await referring.node.table("own")
    await elsewhere(referring, "other", "more", "one")
    referring.surveyor.outside = {"own": into(PLACE), "one": into(PLACE)}
    node = await world.node()
    realms = node.kernel.realms
    all_realms, is_purged = realms.list, list[bool]()

    async def purging() -> list[Realm]:
        found = await all_realms()
        if not is_purged:
            is_purged.append(True)
            await referring.node.kernel.realms.deactivate("other")
            await referring.node.kernel.realms.purge("other")
        return found

    monkeypatch.setattr(realms, "list", purging)
    found = await Referrers(node.kernel, referring.surveyor).to_places(referring.job)

    assert [name_of(one.table) for one in found.tables] == ["own"]


async def test_a_dropped_catalog_is_opened_once(referring: Referring) -> None:
    """As long as its files are there, it has a place and a head."""
    await elsewhere(referring, METALAKE, "more", "one")
    node = referring.node
    opened = await node.opened("more")
    call = Call(CatalogName(METALAKE, "more"))
    realm = await node.kernel.realms.get(METALAKE)
    await remove_catalog(node.kernel, realm, call, opened.catalog, force=True)
    await referring.look()

    with counted_opens(node.kernel) as names:
        await referring.look()

    assert names == []
