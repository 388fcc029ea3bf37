"""The chain of commits: each carries the digest of the one before, whoever made it."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from headgate.kernel.chain import Break
from headgate.kernel.handle import RealmHandle
from headgate.kernel.head import NOTHING, Link
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
from headgate.testing.kernels import POINTER, Rig, Thing, history, putting
from tests.unit.kernel.chains import head_of, log_of, overwrite, rewrite_tail, verified


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
