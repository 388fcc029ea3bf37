"""Commits that were changed, exchanged or removed behind the kernel's back are named."""

import msgspec
import pytest

from headgate.kernel.chain import Break, Position
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.head import Changes, Link, encode_note
from headgate.kernel.kernel import Kernel
from headgate.limits import CHAIN_BREAKS_MAX
from headgate.testing.kernels import POINTER, Thing, history, putting_all
from tests.unit.kernel.chains import head_of, log_of, overwrite, stored, verified

OTHER_CONTENT = "it is not what the commit after it was made on"
NOT_STORED = "it is not stored, and older ones are"


@pytest.mark.parametrize("at", [0, 1, 19, 20, 21, 43])
async def test_a_changed_commit_is_named(kernel: Kernel, realm: RealmHandle, at: int) -> None:
    """The commit itself, by its number and id, wherever it is; those around it hold."""
    ids = await log_of(kernel, realm, 45)
    head = await head_of(kernel, realm, ids[at])
    await overwrite(kernel, realm, ids[at], msgspec.structs.replace(head, marks={"forged": 1}))
    chain = await verified(kernel, realm)

    assert chain.breaks == [Break(at + 1, ids[at], OTHER_CONTENT)]
    assert chain.commits == 45


async def test_a_changed_note_is_found(kernel: Kernel, realm: RealmHandle) -> None:
    """What somebody did is part of what the next commit vouches for."""

    def attempt(draft: Draft) -> None:
        draft.mark("number", draft.seq)
        draft.note("true")

    for _ in range(3):
        await realm.commit(POINTER, attempt)
    ids = [commit.id for commit in await history(kernel, realm)]
    head = await head_of(kernel, realm, ids[1])
    groups = bytes(head.groups).replace(bytes(encode_note("true")), bytes(encode_note("lies")))
    await overwrite(
        kernel, realm, ids[1], msgspec.structs.replace(head, groups=msgspec.Raw(groups))
    )

    assert [one.commit for one in (await verified(kernel, realm)).breaks] == [ids[1]]


async def test_two_commits_that_changed_places_are_named(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Neither has the number that it should have where it is."""
    ids = await log_of(kernel, realm, 8)
    third, fifth = [await head_of(kernel, realm, id) for id in (ids[2], ids[4])]
    await overwrite(kernel, realm, ids[2], fifth)
    await overwrite(kernel, realm, ids[4], third)
    chain = await verified(kernel, realm)

    assert chain.breaks == [
        Break(5, ids[4], "its number is 3"),
        Break(3, ids[2], "its number is 5"),
    ]
    assert chain.commits == 6


@pytest.mark.parametrize(
    "gone", [[1], [22, 21], [24], [4], [*range(6, 25)], [*range(2, 7), 24, 40]], ids=str
)
async def test_commits_that_were_removed_are_named(
    kernel: Kernel, realm: RealmHandle, gone: list[int]
) -> None:
    """One or several, at the end of a tail or not: older ones are still there."""
    ids = await log_of(kernel, realm, 45)
    await kernel.backend.delete(realm.id, [ids[at] for at in gone])
    chain = await verified(kernel, realm)

    assert {(one.seq, one.commit) for one in chain.breaks} == {(at + 1, ids[at]) for at in gone}
    assert {one.why for one in chain.breaks} == {NOT_STORED}
    assert chain.commits == 45 - len(gone)
    assert chain.first == 1


async def test_a_commit_that_cannot_be_read_is_named(kernel: Kernel, realm: RealmHandle) -> None:
    """Changed bytes, something that is no commit; and what is behind is looked at all the same."""
    ids = await log_of(kernel, realm, 10)
    [row] = await kernel.backend.fetch(realm.id, [ids[6]])
    await kernel.backend.delete(realm.id, [ids[6]])
    await kernel.backend.write([row._replace(value=row.value[:-1] + b"x")])
    await overwrite(kernel, realm, ids[3], Thing("no commit"))
    await overwrite(kernel, realm, ids[0], Thing("no commit"))
    chain = await verified(kernel, realm)

    assert chain.breaks == [
        Break(7, ids[6], "it cannot be read: its checksum does not match"),
        Break(4, ids[3], "what is stored is no commit"),
        Break(1, ids[0], "what is stored is no commit"),
    ]
    assert (chain.commits, chain.first) == (7, 2)


async def test_what_is_stored_of_no_commit_is_not_looked_for_further(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """A gap between the oldest that holds and one that cannot be read is a gap; a cut is none."""
    ids = await log_of(kernel, realm, 10)
    await kernel.backend.delete(realm.id, [ids[0], ids[3]])
    for id in (ids[1], ids[2]):
        await overwrite(kernel, realm, id, Thing("no commit"))
    chain = await verified(kernel, realm)

    assert [(one.seq, one.why) for one in chain.breaks] == [
        (4, NOT_STORED),
        (3, "what is stored is no commit"),
        (2, "what is stored is no commit"),
    ]


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_current_commit_that_cannot_be_read_is_named(
    kernel: Kernel, realm: RealmHandle, is_there: bool
) -> None:
    """Nothing leads on from there; what was written down before is missing."""
    ids = await log_of(kernel, realm, 3)
    await kernel.backend.delete(realm.id, [ids[2]])
    if is_there:
        await overwrite(kernel, realm, ids[2], Thing("no commit"))
    chain = await verified(kernel, realm, {2: [Position(2, ids[1], b"d")]})

    why = "what is stored is no commit" if is_there else "it is the current commit, and is not"
    assert chain.breaks[0].why.startswith(why)
    assert [(one.seq, one.commit) for one in chain.breaks] == [(0, ids[2]), (2, ids[1])]
    assert (chain.commits, chain.newest) == (0, None)


async def test_a_chain_that_leads_in_a_circle_is_left(kernel: Kernel, realm: RealmHandle) -> None:
    """Each commit must have the number that its place asks for, so a walk comes to its end."""
    ids = await log_of(kernel, realm, 5)
    head = await head_of(kernel, realm, ids[0])
    circle = msgspec.structs.replace(head, seq=1, tail=(ids[4], ids[3]))
    await overwrite(kernel, realm, ids[0], circle)
    chain = await verified(kernel, realm)

    assert chain.commits == 5
    assert chain.breaks[0] == Break(1, ids[0], OTHER_CONTENT)
    assert chain.broken == 4


@pytest.mark.parametrize(
    ("at", "changes"),
    [
        (0, {"link": Link(1, b"d" * 32, b"")}),
        (0, {"link": None, "tail": (7,)}),
        (2, {"link": None, "tail": ()}),
    ],
)
async def test_a_beginning_that_contradicts_itself_is_named(
    kernel: Kernel, realm: RealmHandle, at: int, changes: dict[str, object]
) -> None:
    """The first commit names none before it, and only the first one."""
    ids = await log_of(kernel, realm, at + 1)
    head = await head_of(kernel, realm, ids[at])
    await overwrite(kernel, realm, ids[at], msgspec.structs.replace(head, **changes))
    chain = await verified(kernel, realm)

    assert [(one.seq, one.commit) for one in chain.breaks] == [(at + 1, ids[at])]
    assert "do not go together" in chain.breaks[0].why


async def test_changes_that_were_too_large_for_a_commit_are_vouched_for_too(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Whether they are exchanged, removed, or of another type."""
    for each in range(4):
        many = {b"%d/%06d" % (each, number): b"" for number in range(3000)}
        await realm.commit(POINTER, putting_all(many))
    ids = [commit.id for commit in await history(kernel, realm)]
    heads = [await head_of(kernel, realm, id) for id in ids]
    assert (await verified(kernel, realm)).broken == 0
    [changes] = (await stored(kernel, realm, [heads[0].spilled])).values()
    assert isinstance(changes, Changes)
    await overwrite(kernel, realm, heads[1].spilled, changes)
    await kernel.backend.delete(realm.id, [heads[2].spilled])
    await overwrite(kernel, realm, heads[3].spilled, Thing("something else"))
    chain = await verified(kernel, realm)

    assert [one.commit for one in chain.breaks] == ids[:0:-1]
    assert {one.why for one in chain.breaks} == {"what it changed is not what was stored with it"}


async def test_unlinked_commits_must_name_the_same_ones_before_them(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """All that older programs stored is compared as far as it can be."""
    ids = await log_of(kernel, realm, 5)
    for id in ids:
        head = await head_of(kernel, realm, id)
        tail = (*head.tail[:1], 7, *head.tail[2:]) if id == ids[3] else head.tail
        await overwrite(kernel, realm, id, msgspec.structs.replace(head, link=None, tail=tail))
    chain = await verified(kernel, realm)

    assert [(one.seq, one.commit) for one in chain.breaks] == [(4, ids[3]), (3, ids[2])]


async def test_many_breaks_are_counted_and_the_first_are_told(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """A log that is all wrong does not fill the memory."""
    count = CHAIN_BREAKS_MAX + 20
    ids = await log_of(kernel, realm, count + 1)
    for id in ids[:-1]:
        head = await head_of(kernel, realm, id)
        await overwrite(kernel, realm, id, msgspec.structs.replace(head, marks={"forged": 1}))
    chain = await verified(kernel, realm)

    assert (chain.broken, len(chain.breaks)) == (count, CHAIN_BREAKS_MAX)
