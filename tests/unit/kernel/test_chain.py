"""The chain of commits: what was changed, removed or rewritten behind the kernel's back shows."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from headgate.kernel.chain import Break, Chain, Position
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.head import NOTHING, Changes, Head, Link, encode_note
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import (
    ObjectType,
    ObjectTypes,
    Stored,
    digest_of,
    join,
    payload_of,
    split,
)
from headgate.kernel.records import PointerKey
from headgate.limits import CHAIN_BREAKS_MAX, TAIL_COMMITS
from headgate.testing.kernels import INDEX, POINTER, Rig, Thing, history, putting, putting_all

OTHER_CONTENT = "it is not what the commit after it was made on"
NOT_STORED = "it is not stored, and older ones are"


class OlderHead(Stored, frozen=True):
    """A head as programs knew it that made no links."""

    seq: int
    tail: tuple[int, ...]
    roots: dict[str, msgspec.Raw]
    marks: dict[str, int] = {}
    sealed: bool = False
    groups: msgspec.Raw = NOTHING
    replaced: msgspec.Raw = NOTHING
    spilled: int = 0


async def log_of(kernel: Kernel, realm: RealmHandle, length: int) -> list[int]:
    """The ids of so many commits, the oldest first."""
    for _ in range(length):
        await realm.commit(POINTER, lambda draft: draft.index(INDEX).put(b"%d" % draft.seq, b""))
    return [commit.id for commit in await history(kernel, realm)]


async def verified(
    kernel: Kernel, realm: RealmHandle, known: Mapping[int, Sequence[Position]] = {}
) -> Chain:
    looked: list[int] = []
    chain = await kernel.chains.verify(PointerKey(realm.id, POINTER), known, looked.append)
    assert sum(looked) == chain.commits
    assert all(count <= TAIL_COMMITS for count in looked)
    return chain


async def head_of(kernel: Kernel, realm: RealmHandle, id: int) -> Head:
    [head] = (await stored(kernel, realm, [id])).values()
    assert isinstance(head, Head)
    return head


async def stored(kernel: Kernel, realm: RealmHandle, ids: Sequence[int]) -> dict[int, object]:
    rows = await kernel.backend.fetch(realm.id, ids)
    by_id = {id: [row for row in rows if row.id == id] for id in ids}
    return {id: kernel.store.types.decode(realm.id, join(some)) for id, some in by_id.items()}


async def overwrite(kernel: Kernel, realm: RealmHandle, id: int, value: Stored) -> None:
    """Exchange a stored object as somebody would who has the database: with a right checksum."""
    await kernel.backend.delete(realm.id, [id])
    await kernel.backend.write(split(realm.id, kernel.store.types.encode(realm.id, id, value)))


async def rewrite_tail(kernel: Kernel, realm: RealmHandle, ids: Sequence[int]) -> None:
    """Change the first of these commits, and let all others follow it as if it had been so."""
    digest = b""
    for id in ids:
        head = await head_of(kernel, realm, id)
        if digest:
            link = Link(head.seq, digest, b"")
            forged = msgspec.structs.replace(head, link=link)
        else:
            forged = msgspec.structs.replace(head, marks={"forged": 1})
        await overwrite(kernel, realm, id, forged)
        digest = (await head_of(kernel, realm, id)).digest or b""


async def test_each_commit_carries_the_digest_of_the_one_before(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Of its type, its id and its fields as they are stored; the first one carries none."""
    ids = await log_of(kernel, realm, 3)
    rows = {id: await kernel.backend.fetch(realm.id, [id]) for id in ids}
    digests = [digest_of("head", id, payload_of(realm.id, join(some))) for id, some in rows.items()]
    heads = [await head_of(kernel, realm, id) for id in ids]

    assert [head.link for head in heads] == [
        Link(1, b"", b""),
        Link(2, digests[0], b""),
        Link(3, digests[1], b""),
    ]
    assert [head.digest for head in heads] == digests


async def test_a_commit_reads_nothing_to_know_the_digest(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """What was stored or read is kept with its digest; a cold node reads the head it needs
    anyway."""
    await log_of(kernel, realm, 3)
    rig.backend.reset()
    await realm.commit(POINTER, putting(b"warm"))
    warm = dict(rig.backend.calls)
    other = await rig.open()
    rig.backend.reset()
    await other.realm(realm.id).commit(POINTER, putting(b"cold"))
    cold = dict(rig.backend.calls)

    assert warm == {"read_pointers": 1, "commit": 1}
    assert cold["commit"] == 1
    assert (await verified(kernel, realm)).broken == 0


@pytest.mark.parametrize("length", [0, 1, 2, 19, 20, 21, 22, 41, 63])
async def test_an_untouched_chain_holds(kernel: Kernel, realm: RealmHandle, length: int) -> None:
    """With no commit, one, and numbers around the length of a head's tail."""
    ids = await log_of(kernel, realm, length)
    chain = await verified(kernel, realm)

    assert (chain.commits, chain.unlinked, chain.broken) == (length, 0, 0)
    assert chain.first == min(1, length)
    assert not chain.is_cut
    assert chain.begins == (ids[0] if ids else 0)
    newest = chain.newest
    assert (newest.seq, newest.commit) == (length, ids[-1]) if newest else not ids


async def test_a_pointer_that_is_not_there_has_an_empty_chain(kernel: Kernel) -> None:
    """It is nobody's log."""
    chain = await kernel.chains.verify(PointerKey("nowhere", POINTER), {}, lambda _: None)

    assert (chain.commits, chain.broken) == (0, 0)


async def test_commits_that_were_made_together_and_on_two_nodes_are_one_chain(
    rig: Rig, kernel: Kernel, realm: RealmHandle
) -> None:
    """Whoever wins a swap carries the digest of the head that it was made on."""
    other = (await rig.open()).realm(realm.id)
    for number in range(10):
        await asyncio.gather(
            *(
                handle.commit(POINTER, putting(b"%d/%d" % (number, each)))
                for each, handle in enumerate([realm, other, realm, other])
            )
        )
    chain = await verified(kernel, realm)

    assert 20 <= chain.commits <= 40
    assert (chain.broken, chain.unlinked) == (0, 0)


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


async def test_a_cut_log_holds_from_its_first_commit_that_is_kept(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Also if it was cut in the middle of a tail, or all but the current commit is gone."""
    ids = await log_of(kernel, realm, 45)
    for cut in (3, 21, 40, 44):
        await kernel.backend.delete(realm.id, ids[:cut])
        chain = await verified(kernel, realm)

        assert (chain.commits, chain.broken) == (45 - cut, 0)
        assert (chain.is_cut, chain.first, chain.begins) == (True, cut + 1, ids[cut])


async def test_a_log_that_is_cut_while_it_is_read_is_not_broken(
    rig: Rig, kernel: Kernel, realm: RealmHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What seems to have a gap is read once more, and then the older ones are gone too."""
    ids = await log_of(kernel, realm, 10)
    fetch = kernel.backend.fetch
    reads: list[int] = []

    async def fetch_while_cut(realm: str, wanted: Sequence[int]) -> object:
        found = await fetch(realm, wanted)
        reads.append(len(wanted))
        if len(reads) == 2:
            await kernel.backend.delete(realm, ids[:4])
            return [row for row in found if row.id != ids[3]]
        return found

    monkeypatch.setattr(kernel.backend, "fetch", fetch_while_cut)
    chain = await verified(kernel, realm)

    assert (chain.commits, chain.broken, chain.first) == (6, 0, 5)
    assert reads == [1, 9, 9]


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


async def test_commits_of_programs_without_links_are_accepted_and_counted(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """Older ones, and those of an older program that copies the link of the head before."""
    ids = await log_of(kernel, realm, 4)
    for id in ids:
        head = await head_of(kernel, realm, id)
        await overwrite(kernel, realm, id, msgspec.structs.replace(head, link=None))
    kernel.store.forget(realm.id, ids)
    await log_of(kernel, realm, 3)
    *_, copied = [commit.id for commit in await history(kernel, realm)]
    [before] = (await head_of(kernel, realm, copied)).tail[:1]
    stale = (await head_of(kernel, realm, before)).link
    head = await head_of(kernel, realm, copied)
    await overwrite(kernel, realm, copied, msgspec.structs.replace(head, link=stale))
    kernel.store.forget(realm.id, [copied])
    await log_of(kernel, realm, 2)
    chain = await verified(kernel, realm)

    assert (chain.commits, chain.unlinked, chain.broken) == (9, 5, 0)


async def test_an_older_program_reads_what_a_newer_one_chained_and_goes_on(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """To it a link is a field that it does not know: it copies the one of the head before, which
    says for another commit."""
    ids = await log_of(kernel, realm, 3)
    rows = await kernel.backend.fetch(realm.id, [ids[2]])
    older = ObjectTypes([ObjectType("head", OlderHead)])
    head = older.decode(realm.id, join(rows))
    assert isinstance(head, OlderHead)
    assert head.unknown.keys() == {"link"}
    next_id = kernel.ids.next()
    made = msgspec.structs.replace(head, seq=4, tail=(ids[2], *head.tail))
    await kernel.backend.write(split(realm.id, older.encode(realm.id, next_id, made)))
    read = await head_of(kernel, realm, next_id)

    assert (read.seq, read.link and read.link.seq, read.own_link) == (4, 3, None)


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


async def test_a_rewritten_tail_is_whole_and_refused_against_what_was_written_down(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """The chain alone cannot tell; positions of before the change match, later ones do not."""
    ids = await log_of(kernel, realm, 30)
    positions = await kernel.chains.positions(realm.id, [*ids, 7])
    known = {one.seq: [one] for id, one in positions.items() if id in {ids[4], ids[9], ids[29]}}
    assert len(positions) == 30
    assert (await verified(kernel, realm, known)).matched == 3
    await rewrite_tail(kernel, realm, ids[9:])
    alone, compared = await verified(kernel, realm), await verified(kernel, realm, known)

    assert (alone.commits, alone.broken) == (30, 0)
    assert compared.matched == 1
    assert [(one.seq, one.commit) for one in compared.breaks] == [(30, ids[29]), (10, ids[9])]


async def test_a_log_that_was_set_back_is_refused_against_what_was_written_down(
    kernel: Kernel, realm: RealmHandle
) -> None:
    """It ends before a commit that was there."""
    ids = await log_of(kernel, realm, 5)
    last = (await kernel.chains.positions(realm.id, [ids[4]]))[ids[4]]
    key = PointerKey(realm.id, POINTER)
    await kernel.backend.delete_pointers([key])
    await kernel.backend.create_pointers(realm.id, [POINTER])
    chain = await verified(kernel, realm, {5: [last]})

    assert chain.breaks == [Break(5, ids[4], "it was there before, and the log ends at #0")]


async def test_positions_before_a_cut_are_counted(kernel: Kernel, realm: RealmHandle) -> None:
    """They can no longer be compared, and that is no break."""
    ids = await log_of(kernel, realm, 10)
    positions = await kernel.chains.positions(realm.id, ids)
    await kernel.backend.delete(realm.id, ids[:4])
    chain = await verified(kernel, realm, {one.seq: [one] for one in positions.values()})

    assert (chain.matched, chain.cut_positions, chain.broken) == (6, 4, 0)


async def test_positions_are_of_commits_only(kernel: Kernel, realm: RealmHandle) -> None:
    """What is no commit has no place in a chain."""
    ids = await log_of(kernel, realm, 2)
    await overwrite(kernel, realm, ids[0], Thing("no commit"))

    assert list(await kernel.chains.positions(realm.id, ids)) == [ids[1]]


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
