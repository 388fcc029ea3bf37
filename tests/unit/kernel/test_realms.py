"""Realms: a life with one direction, names that come back, data that goes with its realm only."""

import asyncio
from itertools import pairwise

import msgspec
import pytest

from headgate.errors import (
    BadName,
    IllegalRealmMove,
    InvalidInput,
    NewerFormat,
    RealmExists,
    RealmNotFound,
)
from headgate.kernel.draft import Draft
from headgate.kernel.kernel import Kernel
from headgate.kernel.log import Entry
from headgate.kernel.realms import BY_ID, DROPPED, DROPPED_BY, REALMS_KEY, Realm, RealmState
from headgate.kernel.system import REALM_POINTERS
from headgate.limits import REALM_NAME_BYTES_MAX
from headgate.testing.kernels import Rig, realm_in, snapshot

S = RealmState
ALLOWED = {
    (S.CREATED, S.CREATED),
    (S.CREATED, S.INITIALIZING),
    (S.CREATED, S.LOADING),
    (S.CREATED, S.PURGING),
    (S.INITIALIZING, S.ACTIVE),
    (S.INITIALIZING, S.INACTIVE),
    (S.INITIALIZING, S.PURGING),
    (S.LOADING, S.ACTIVE),
    (S.LOADING, S.INACTIVE),
    (S.LOADING, S.PURGING),
    (S.ACTIVE, S.ACTIVE),
    (S.ACTIVE, S.INACTIVE),
    (S.INACTIVE, S.INACTIVE),
    (S.INACTIVE, S.ACTIVE),
    (S.INACTIVE, S.PURGING),
    (S.PURGING, S.PURGING),
    (S.PURGING, S.PURGED),
    (S.PURGED, S.PURGED),
}


@pytest.mark.parametrize("to", S)
@pytest.mark.parametrize("at", S)
async def test_a_realm_moves_exactly_where_its_life_allows(
    rig: Rig, kernel: Kernel, at: RealmState, to: RealmState
) -> None:
    """Every pair of states: allowed moves happen, all others are refused and change nothing."""
    realm = await realm_in(kernel, at)
    rig.clock.advance(1000)
    before = await snapshot(rig.memory)
    if (at, to) in ALLOWED:
        moved = await kernel.realms.move(realm.id, to)

        assert moved == await kernel.realms.get("acme")
        assert moved.state is to
        assert moved.changed_ms == realm.changed_ms + (0 if at is to else 1000)
    else:
        with pytest.raises(IllegalRealmMove, match=f"cannot become {to.value}: it is {at.value}"):
            await kernel.realms.move(realm.id, to)

        assert await snapshot(rig.memory) == before


@pytest.mark.parametrize("state", S)
async def test_only_a_purged_realm_can_be_deleted(
    rig: Rig, kernel: Kernel, state: RealmState
) -> None:
    """All others are refused and stay."""
    realm = await realm_in(kernel, state)
    before = await snapshot(rig.memory)
    if state is S.PURGED:
        await kernel.realms.delete("acme")

        assert await kernel.realms.list() == []
    else:
        with pytest.raises(IllegalRealmMove, match="Only a PURGED realm"):
            await kernel.realms.delete("acme")

        assert await snapshot(rig.memory) == before
        assert await kernel.realms.get(realm.id) == realm


async def test_the_error_of_an_illegal_move_says_where_to_go(kernel: Kernel) -> None:
    """From most states there is a way; from the last one only to be deleted."""
    await realm_in(kernel, S.ACTIVE, "a")
    await realm_in(kernel, S.PURGED, "b")
    with pytest.raises(IllegalRealmMove, match="it can become INACTIVE"):
        await kernel.realms.purge("a")
    with pytest.raises(IllegalRealmMove, match="It can be deleted"):
        await kernel.realms.activate("b")


async def test_a_new_realm_is_active_and_has_its_pointers(rig: Rig, kernel: Kernel) -> None:
    """It serves requests at once."""
    realm = await kernel.realms.create("acme", {"owner": "jane"})
    pointers = (await snapshot(rig.memory)).pointers
    heads = await kernel.realm(realm.id).heads(*REALM_POINTERS)

    assert realm.state is S.ACTIVE
    assert realm.properties == {"owner": "jane"}
    assert {key.name for key in pointers if key.realm == realm.id} == set(REALM_POINTERS)
    assert [head.head.seq for head in heads] == [0] * 7


async def test_realms_are_listed_by_name(kernel: Kernel) -> None:
    """In whatever state they are."""
    await kernel.realms.create("b")
    await kernel.realms.reserve("c")
    await kernel.realms.create("a")

    assert [realm.name for realm in await kernel.realms.list()] == ["a", "b", "c"]


async def test_a_realm_is_found_by_name_and_by_id(kernel: Kernel) -> None:
    """Both mean the same realm."""
    realm = await kernel.realms.create("acme")

    assert await kernel.realms.get("acme") == await kernel.realms.get(realm.id) == realm


async def test_a_realm_named_like_anothers_id_does_not_take_its_place(kernel: Kernel) -> None:
    """A name that is somebody's id is refused: commands take either."""
    first = await kernel.realms.create("first")
    with pytest.raises(RealmExists, match="name or id"):
        await kernel.realms.create(first.id)

    assert await kernel.realms.list() == [first]


@pytest.mark.parametrize("verb", ["get", "activate", "deactivate", "purge", "delete"])
async def test_an_unknown_realm_is_named(kernel: Kernel, verb: str) -> None:
    """The error says where to look."""
    with pytest.raises(RealmNotFound, match="realm list"):
        await getattr(kernel.realms, verb)("nobody")


@pytest.mark.parametrize("verb", ["get", "activate", "deactivate", "purge", "delete"])
@pytest.mark.parametrize("name", ["::system::", "", "\ud800"])
async def test_what_is_no_name_is_refused(kernel: Kernel, verb: str, name: str) -> None:
    """Nobody can purge the system's own realm."""
    with pytest.raises(BadName):
        await getattr(kernel.realms, verb)(name)


async def test_an_unknown_id_cannot_be_moved(kernel: Kernel) -> None:
    """A realm that was deleted meanwhile."""
    with pytest.raises(RealmNotFound):
        await kernel.realms.move("17", S.ACTIVE)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        " a",
        "a ",
        "::",
        "::x",
        "::system::",
        "a\nb",
        "a\0b",
        "\ud800",
        "x" * 513,
        "ä" * 257,
    ],
)
async def test_a_bad_name_is_refused(rig: Rig, kernel: Kernel, name: str) -> None:
    """Reserved, unprintable, blank or too long: nothing is written."""
    rig.backend.reset()
    with pytest.raises(BadName, match="Choose another name"):
        await kernel.realms.create(name)

    assert rig.backend.calls == {}


@pytest.mark.parametrize(
    "name", ["a", "A b", "x:y::z", ":a", "ä", "山", "x" * REALM_NAME_BYTES_MAX]
)
async def test_a_good_name_is_kept_as_it_is(kernel: Kernel, name: str) -> None:
    """Any printable text."""
    await kernel.realms.create(name)

    assert (await kernel.realms.get(name)).name == name


async def test_a_name_belongs_to_one_realm(rig: Rig, kernel: Kernel) -> None:
    """In any state but deleted, on any node."""
    await kernel.realms.reserve("acme")
    other = await rig.open()
    with pytest.raises(RealmExists, match="there is one of this name"):
        await other.realms.create("acme")

    assert len(await kernel.realms.list()) == 1


async def test_of_many_who_want_a_name_one_gets_it(rig: Rig) -> None:
    """On two nodes at once."""
    other = await rig.open()
    answers = await asyncio.gather(
        *(node.realms.create("acme") for node in (rig.kernels[0], other) for _ in range(5)),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, Realm) for answer in answers) == 1
    assert sum(isinstance(answer, RealmExists) for answer in answers) == 9


async def test_a_deleted_name_is_free_and_its_id_is_not_used_again(kernel: Kernel) -> None:
    """What refers to the old id can never mean the new realm."""
    ids = []
    for _ in range(3):
        realm = await kernel.realms.create("acme")
        ids.append(realm.id)
        await kernel.realms.deactivate("acme")
        await kernel.realms.purge("acme")
        await kernel.realms.delete("acme")

    assert len(set(ids)) == 3
    with pytest.raises(RealmNotFound):
        await kernel.realms.get("acme")


async def test_setting_up_twice_changes_nothing(rig: Rig, kernel: Kernel) -> None:
    """`activate` may be repeated."""
    realm = await kernel.realms.create("acme")
    before = await snapshot(rig.memory)

    assert await kernel.realms.activate("acme") == await kernel.realms.activate("acme") == realm
    assert await snapshot(rig.memory) == before


async def test_a_realm_is_switched_off_and_on_again(kernel: Kernel) -> None:
    """As often as one likes."""
    await kernel.realms.create("acme")
    states = []
    for _ in range(2):
        states.append((await kernel.realms.deactivate("acme")).state)
        states.append((await kernel.realms.activate("acme")).state)

    assert states == [S.INACTIVE, S.ACTIVE, S.INACTIVE, S.ACTIVE]


@pytest.mark.parametrize(
    ("state", "verb", "todo"),
    [
        (S.LOADING, "activate", "Wait until it is loaded"),
        (S.LOADING, "deactivate", "Wait until it is loaded"),
        (S.INITIALIZING, "deactivate", "Activate it to complete"),
    ],
)
async def test_a_realm_half_made_is_not_switched(
    kernel: Kernel, state: RealmState, verb: str, todo: str
) -> None:
    """Whoever fills it says when it is ready."""
    await realm_in(kernel, state)
    with pytest.raises(IllegalRealmMove, match=todo):
        await getattr(kernel.realms, verb)("acme")


async def test_two_nodes_may_complete_a_realm_at_once(rig: Rig, kernel: Kernel) -> None:
    """Both succeed: it is ACTIVE with its pointers."""
    await kernel.realms.reserve("acme")
    other = await rig.open()
    rig.faults.crash_at("before_commit", lambda: other.realms.activate("acme"))
    realm = await kernel.realms.activate("acme")

    assert realm.state is S.ACTIVE
    assert len(await kernel.realm(realm.id).heads(*REALM_POINTERS)) == 7


async def test_properties_are_text(rig: Rig, kernel: Kernel) -> None:
    """Anything else is refused before it is written."""
    rig.backend.reset()
    with pytest.raises(InvalidInput, match="Use text only"):
        await kernel.realms.create("acme", {"number": 1})  # type: ignore[dict-item]

    assert rig.backend.calls == {}


async def test_a_realm_of_a_newer_program_is_not_misread(kernel: Kernel) -> None:
    """A state this program does not know is an error that says so."""

    def attempt(draft: Draft) -> None:
        draft.index(BY_ID).put(b"7", msgspec.msgpack.encode({"id": "7", "state": "FROZEN"}))

    await kernel.committer.commit(REALMS_KEY, attempt)
    with pytest.raises(NewerFormat, match="Upgrade this node"):
        await kernel.realms.list()


async def test_the_life_of_a_realm_is_in_the_log(kernel: Kernel) -> None:
    """Each move with the realm's name and id; a deletion removes both entries."""
    realm = await kernel.realms.create("acme")
    await kernel.realms.deactivate("acme")
    await kernel.realms.purge("acme")
    await kernel.realms.delete("acme")
    commits = [commit async for commit in kernel.log.oldest_first(REALMS_KEY)]
    known = {"realm": "acme", "id": realm.id}
    states = ["CREATED", "INITIALIZING", "ACTIVE", "INACTIVE", "PURGING", "PURGED"]

    assert [commit.groups[0].note for commit in commits] == [
        {**known, "state": "CREATED"},
        *({**known, "state": state, "was": was} for was, state in pairwise(states)),
        {**known, "state": "deleted"},
    ]
    assert commits[-1].groups[0].entries == [
        Entry("ids", realm.id.encode(), "removed"),
        Entry("names", b"acme", "removed"),
    ]


async def test_a_realm_is_renamed_at_one_instant_and_keeps_its_id(kernel: Kernel) -> None:
    """The old name is free, and nobody notices who knows it by its id."""
    realm = await kernel.realms.create("acme")
    renamed = await kernel.realms.rename(realm.id, "apex", by="ann")

    assert (renamed.id, renamed.name, renamed.state) == (realm.id, "apex", S.ACTIVE)
    assert await kernel.realms.get("apex") == await kernel.realms.get(realm.id) == renamed
    assert (await kernel.realms.create("acme")).id != realm.id
    notes = [c.groups[0].note async for c in kernel.log.oldest_first(REALMS_KEY)]
    assert {
        "do": "rename",
        "kind": "metalake",
        "name": ["acme"],
        "to": ["apex"],
        "id": realm.id,
        "by": "ann",
    } in notes


async def test_a_realm_is_not_renamed_to_what_another_is_called(rig: Rig, kernel: Kernel) -> None:
    """Neither by its name nor by its id; to its own name nothing happens."""
    realm, other = await kernel.realms.create("acme"), await kernel.realms.create("apex")
    before = await snapshot(rig.memory)
    for taken in ("apex", other.id):
        with pytest.raises(RealmExists):
            await kernel.realms.rename(realm.id, taken)
    with pytest.raises(BadName):
        await kernel.realms.rename(realm.id, "::system::")

    assert (await kernel.realms.rename(realm.id, "acme")).name == "acme"
    assert await snapshot(rig.memory) == before


async def test_a_dropped_realm_frees_its_name_at_once_and_keeps_its_data(kernel: Kernel) -> None:
    """Both can be purged, each by what it is called now, and only then is one of them gone."""
    realm = await kernel.realms.create("acme")
    dropped = await kernel.realms.drop(realm.id, by="ann")
    again = await kernel.realms.create("acme")

    assert dropped.state is S.INACTIVE
    assert dropped.properties == {DROPPED: "acme", DROPPED_BY: "ann"}
    assert dropped.name == f"acme (dropped {realm.id})"
    assert await kernel.realms.drop(realm.id) == dropped
    await kernel.realms.purge(realm.id)
    await kernel.realms.delete(realm.id)
    assert await kernel.realms.list() == [again]


async def test_a_dropped_realm_can_be_switched_on_again(kernel: Kernel) -> None:
    """Under the name that it has now; it is dropped no more."""
    realm = await kernel.realms.create("acme")
    await kernel.realms.drop(realm.id)
    back = await kernel.realms.activate(realm.id)

    assert (back.state, back.properties) == (S.ACTIVE, {})


async def test_what_serves_nobody_yet_is_not_dropped(kernel: Kernel) -> None:
    """Its creation is completed or purged."""
    realm = await kernel.realms.reserve("acme")

    with pytest.raises(IllegalRealmMove):
        await kernel.realms.drop(realm.id)
