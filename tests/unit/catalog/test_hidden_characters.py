"""Names of users, groups and roles with characters that are not shown: no new one has them."""

from collections.abc import Awaitable, Callable

import pytest

from headgate.catalog import identity_users, principals, roles
from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.entities import Entry, Kind, RoleEntity
from headgate.catalog.guards import PRINCIPAL_ROLES, PRINCIPALS
from headgate.catalog.identities import create_identities
from headgate.catalog.identity_groups import create_group
from headgate.catalog.identity_users import create_secret, create_user, drop_user, vouch_for
from headgate.catalog.metalakes import create_metalake
from headgate.catalog.naming import ROLES, ROOT, NamesDraft
from headgate.catalog.passwords import Passwords
from headgate.catalog.principals import GROUP, USER, insert_creator
from headgate.errors import BadName
from headgate.kernel.draft import Draft
from headgate.model.names import check_name, check_principal_name, is_hidden
from tests.unit.catalog.guarded import Guarded
from tests.unit.catalog.lakes import Node, World
from tests.unit.catalog.outside import InlineWorkers

HIDDEN = {
    "right-to-left override": "\u202e",
    "right-to-left isolate": "\u2067",
    "left-to-right mark": "\u200e",
    "Arabic letter mark": "\u061c",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "tag letter": "\U000e0061",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "control": "\x07",
    "C1 control": "\x85",
    "half of a surrogate pair": "\ud800",
    "Hangul filler": "\u3164",
    "variation selector": "\ufe0f",
}
SHOWN = ["ann", "Ann Müller", "安娜", "анна", "آنا", "अन्ना", "ann@example.com", "a/b:c", "o'x"]


@pytest.mark.parametrize("what", HIDDEN)
def test_a_name_with_a_hidden_character_is_refused(what: str) -> None:
    """Wherever it stands in the name; the message shows it by its number."""
    for name in (f"{HIDDEN[what]}ann", f"a{HIDDEN[what]}nn", f"ann{HIDDEN[what]}"):
        with pytest.raises(BadName) as refused:
            check_principal_name(name)
        assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", SHOWN)
def test_names_of_all_scripts_are_names(name: str) -> None:
    """What is written and seen is allowed."""
    check_principal_name(name)
    assert not any(map(is_hidden, name))


def test_other_names_are_left_as_they_are() -> None:
    """Tables that engines have made keep their names."""
    check_name("t\u200d")


async def test_no_new_user_group_or_role_has_a_hidden_character(staffed: Guarded) -> None:
    """Of a metalake: nothing is stored, and bulk adds say it of each name."""
    bad = "a\u202enna"
    for make in (staffed.users, staffed.groups, staffed.role):
        with pytest.raises(BadName, match="Invalid name"):
            await make(bad)
    [refused, made] = await principals.add_users(
        await staffed.metalake(), [principals.New(bad), principals.New("anna")]
    )
    assert isinstance(refused, BadName)
    assert isinstance(made, principals.Principal)
    listed = [
        await principals.list_principals(await staffed.metalake(), one) for one in (USER, GROUP)
    ]
    assert bad not in {named.name for some in listed for named in some}


async def test_a_metalake_is_not_created_by_a_name_with_a_hidden_character(node: Node) -> None:
    """Its creator would become a user of it; nothing is left of the attempt."""
    call = Call(CatalogName("other", ""), Caller("ann\u200b"))
    with pytest.raises(BadName, match="Invalid name"):
        await create_metalake(node.lake, call, "", {})
    assert [realm.name for realm in await node.kernel.realms.list()] == ["default"]


async def test_names_that_were_stored_before_are_read_and_removed(staffed: Guarded) -> None:
    """A server that is upgraded locks nobody out."""
    old = "a\u200dnn"
    realm = (await staffed.metalake()).realm

    def store_role(draft: Draft) -> None:
        entry = Entry(Kind.ROLE, draft.new_id(), draft.stage(RoleEntity({}, 0, "x")))
        NamesDraft(draft).add(ROOT, ROLES, old, entry)

    await realm.commit(PRINCIPALS, lambda draft: insert_creator(draft, old))
    await realm.commit(PRINCIPAL_ROLES, store_role)

    assert (await staffed.load(old)).name == old
    assert (await staffed.assign(old, old)).roles == [old]
    assert await roles.delete_role(await staffed.metalake(), old)
    assert await principals.remove_principal(await staffed.metalake(), USER, old)


def random(count: int) -> bytes:
    return bytes(count)


async def test_no_new_local_user_or_group_has_a_hidden_character(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a password, a secret or a token; one that is kept already gets them as before."""
    kernel, bad = (await world.node()).kernel, "a\u2066nn"
    await create_identities(kernel)
    makers: list[Callable[[], Awaitable[object]]] = [
        lambda: create_user(kernel, Passwords(InlineWorkers(), b"key"), bad),
        lambda: create_group(kernel, bad),
        lambda: create_secret(kernel, random, bad),
        lambda: vouch_for(kernel, bad),
    ]
    for make in makers:
        with pytest.raises(BadName, match="Invalid name"):
            await make()

    with monkeypatch.context() as former:
        former.setattr(identity_users, "check_principal_name", check_name)
        await vouch_for(kernel, bad)
    assert (await vouch_for(kernel, bad)).name == bad
    assert (await create_secret(kernel, random, bad)).id
    assert await drop_user(kernel, bad)
