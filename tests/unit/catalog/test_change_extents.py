"""The change log of all metalakes, of one, and of those that somebody may read."""

import pytest

from headgate.catalog.change_cursors import Cursor, Extent, Position, encode_cursor
from headgate.catalog.changes import ChangeLog
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import BadRequest
from headgate.kernel.realms import REALMS_KEY, RealmState
from headgate.kernel.records import PointerKey
from tests.unit.catalog.change_pages import behind, new_catalog, since, told
from tests.unit.catalog.lakes import METALAKE, Node


async def test_a_metalake_that_comes_is_followed(node: Node) -> None:
    """With all its catalogs, whoever made them when."""
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    await node.kernel.realms.create("second")
    await new_catalog(node.kernel, "c", "second")
    changes, cursor = await behind(log, cursor)
    await node.kernel.realms.deactivate("second")
    await node.kernel.realms.activate("second")
    states, _ = await behind(log, cursor)

    assert told(changes) == [("create", "metalake", ("second",)), ("create", "catalog", ("c",))]
    assert {change.metalake for change in changes + states} == {"second"}
    assert told(states) == [
        ("disable", "metalake", ("second",)),
        ("enable", "metalake", ("second",)),
    ]


async def test_one_metalake_tells_nothing_of_others(node: Node) -> None:
    """Neither of what is in them, nor that they are there."""
    other = await node.kernel.realms.create("other")
    [mine] = [one for one in await node.kernel.realms.list() if one.name == METALAKE]
    await new_catalog(node.kernel, "hidden", "other")
    await node.kernel.realms.deactivate("other")
    changes = await since(node.kernel, await ChangeLog(node.kernel).oldest(Extent(mine.id)))

    assert {change.metalake for change in changes} == {METALAKE}
    assert other.id not in {
        key.realm for key in (await ChangeLog(node.kernel).now(Extent(mine.id)))[1]
    }


async def test_a_cursor_that_was_changed_reaches_no_other_metalake(node: Node) -> None:
    """Whoever may read one may not read another by naming its pointers."""
    other = await node.kernel.realms.create("other")
    [mine] = [one for one in await node.kernel.realms.list() if one.name == METALAKE]
    await new_catalog(node.kernel, "hidden", "other")
    forged = encode_cursor(Cursor(mine.id, {PointerKey(other.id, CATALOG_POINTER): Position()}))
    log, own = ChangeLog(node.kernel), Extent(mine.id)

    assert (await log.page(await log.cursor(forged, own), 10)).changes == []
    with pytest.raises(BadRequest, match="of another metalake"):
        await log.cursor(forged, Extent(other.id))


async def test_a_metalake_that_may_be_read_from_now_on_is_read_from_its_beginning(
    node: Node,
) -> None:
    """And one that may not be read any more is not read."""
    log = ChangeLog(node.kernel)
    [mine] = await node.kernel.realms.list()
    given = await node.kernel.realms.create("given")
    await new_catalog(node.kernel, "c", "given")
    one = Extent(realms=frozenset({mine.id}))
    cursor = (await log.page(await log.oldest(one), 10, extent=one)).next
    both = Extent(realms=frozenset({mine.id, given.id}))
    page = await log.page(await log.cursor(encode_cursor(cursor), both), 10, extent=both)
    only = Extent(realms=frozenset({given.id}))
    last = await log.cursor(encode_cursor(page.next), only)

    assert {key.realm for key in cursor.positions} == {mine.id, REALMS_KEY.realm}
    assert told(page.changes) == [("create", "catalog", ("c",))]
    assert {key.realm for key in last.positions} == {given.id, REALMS_KEY.realm}


async def test_a_purged_metalake_ends_its_log(node: Node) -> None:
    """That it is gone is told by the log of all metalakes, and the others go on."""
    log = ChangeLog(node.kernel)
    await node.kernel.realms.create("gone")
    await new_catalog(node.kernel, "c", "gone")
    _, cursor = await behind(log, await log.oldest())
    await new_catalog(node.kernel, "d", "gone")
    await node.kernel.realms.deactivate("gone")
    await node.kernel.realms.purge("gone")
    await node.namespace("b")
    changes, cursor = await behind(log, cursor)
    await node.kernel.realms.delete("gone")
    rest, cursor = await behind(log, cursor)

    assert ("purge", "metalake", ("gone",)) in told(changes)
    assert ("create", "namespace", ("b",)) in told(changes)
    assert rest == []
    assert len({key.realm for key in cursor.positions}) == 2


async def test_the_steps_of_a_creation_are_not_told(node: Node) -> None:
    """A metalake that is being set up becomes active: that is no operation of its own."""
    log = ChangeLog(node.kernel)
    cursor = await log.now()
    realm = await node.kernel.realms.reserve("slow", by="eve")
    await node.kernel.realms.move(realm.id, RealmState.INITIALIZING)
    await node.kernel.realms.activate("slow")
    [change] = await since(node.kernel, cursor)

    assert (change.do, change.name, change.by) == ("create", ("slow",), "eve")
    assert REALMS_KEY.name in change.position
