"""The log of a pointer as a chain: each commit carries the digest of the one before, as stored.

A walk goes from the current commit backwards, past whatever is wrong, and straight to the database:
what is in a cache was right once. A commit that is not stored is missing if an older one is, else
history was cut there. The current commit has nobody who vouches for it, and whoever rewrites all
commits from some point on leaves a chain that is whole: both show against positions that were
written down before, and kept elsewhere.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from headgate.errors import CorruptRow, NewerFormat
from headgate.kernel.head import Changes, Head
from headgate.kernel.objects import Foreign, Stored, expect, join
from headgate.kernel.pointers import Pointers
from headgate.kernel.records import PointerKey, Row
from headgate.kernel.store import Store
from headgate.limits import CHAIN_BREAKS_MAX, FETCH_IDS_MAX


class Position(msgspec.Struct, frozen=True):
    """A commit of a pointer, and what it is known by."""

    seq: int
    commit: int
    digest: bytes


class Break(msgspec.Struct, frozen=True):
    """A commit at which the chain does not hold, and what is wrong with it."""

    seq: int
    commit: int
    why: str


class Chain(msgspec.Struct):
    """What a walk found."""

    key: PointerKey
    newest: Position | None = None
    """None if the pointer has no commit, or its current one cannot be read."""
    first: int = 0
    """The sequence number of the oldest commit that is kept."""
    begins: int = 0
    """That commit."""
    commits: int = 0
    unlinked: int = 0
    """Of these, those of programs that did not know links yet."""
    broken: int = 0
    breaks: list[Break] = []
    """The first of them, the newest first."""
    matched: int = 0
    """Positions written down before that are in the chain."""
    cut_positions: int = 0
    """Those that lie before the oldest commit that is kept."""

    @property
    def is_cut(self) -> bool:
        """Whether older commits are no longer kept."""
        return self.first > 1

    def note(self, seq: int, commit: int, why: str) -> None:
        """Take down a break, or count it if there are many."""
        self.broken += 1
        if len(self.breaks) < CHAIN_BREAKS_MAX:
            self.breaks.append(Break(seq, commit, why))


class _Read(NamedTuple):
    """What the database has for some ids: objects, and why others cannot be read."""

    objects: dict[int, Stored | Foreign]
    damaged: dict[int, str]


class ChainReader:
    """Walks the chains of all pointers."""

    def __init__(self, store: Store, pointers: Pointers) -> None:
        self._store = store
        self._pointers = pointers

    async def positions(self, realm: str, commits: Sequence[int]) -> dict[int, Position]:
        """These commits as they are stored; those that are not, or cannot be read, are left out."""
        found: dict[int, Position] = {}
        for at in range(0, len(commits), FETCH_IDS_MAX):
            read = await self._read(realm, commits[at : at + FETCH_IDS_MAX])
            for id, head in read.objects.items():
                if isinstance(head, Head):
                    found[id] = _position(id, head)
        return found

    async def verify(
        self,
        key: PointerKey,
        known: Mapping[int, Collection[Position]],
        told: Callable[[int], None],
    ) -> Chain:
        """Walk one chain, and compare it with positions that were written down before, by their
        sequence numbers. `told` is told how many commits more were looked at."""
        [newest] = await self._pointers.read([key])
        chain = Chain(key)
        walk = _Walk(chain, known)
        ids: tuple[int, ...] = (newest,) if newest else ()
        while ids:
            read = await self._read_settled(key.realm, ids)
            spilled = await self._read_spilled(key.realm, read)
            before = chain.commits
            ids = walk.step(ids, read, spilled)
            told(chain.commits - before)
            await asyncio.sleep(0)  # others wait
        walk.end()
        return chain

    async def _read_settled(self, realm: str, ids: Sequence[int]) -> _Read:
        """What is stored. What seems to have gaps is read once more: it may be cut right now."""
        read = await self._read(realm, ids)
        present = [id in read.objects or id in read.damaged for id in ids]
        return await self._read(realm, ids) if sorted(present, reverse=True) != present else read

    async def _read_spilled(self, realm: str, read: _Read) -> _Read:
        heads = [one for one in read.objects.values() if isinstance(one, Head)]
        ids = [one.spilled for one in heads if one.spilled]
        return await self._read(realm, ids) if ids else _Read({}, {})

    async def _read(self, realm: str, ids: Sequence[int]) -> _Read:
        rows: dict[int, list[Row]] = {}
        for row in await self._store.backend.fetch(realm, ids):
            rows.setdefault(row.id, []).append(row)
        read = _Read({}, {})
        for id, parts in rows.items():
            try:
                read.objects[id] = self._store.types.decode(realm, join(parts))
            except (CorruptRow, NewerFormat) as error:
                read.damaged[id] = f"it cannot be read: {error.why}"
        return read


class _Walk:
    """One walk backwards, without the reading."""

    def __init__(self, chain: Chain, known: Mapping[int, Collection[Position]]) -> None:
        self._chain = chain
        self._known = known
        self._newer: Head | None = None
        """The last commit that holds; those that follow are older."""
        self._passed_over: list[tuple[int, str]] = []
        """Those behind it that do not, the newest first, and why; nothing if one is not stored."""

    def step(self, ids: Sequence[int], read: _Read, spilled: _Read) -> tuple[int, ...]:
        """Judge these commits, each older than the one before; which ones to look at next."""
        for id in ids:
            head = read.objects.get(id)
            why = read.damaged.get(id, "") if head is None else self._misplaced(head)
            if why or head is None:
                self._passed_over.append((id, why))
            else:
                self._pass(id, expect(head, Head, id), spilled)
        return self._newer.tail[len(self._passed_over) :] if self._newer else ()

    def end(self) -> None:
        """Judge what is left when nothing older is known."""
        chain, oldest, left = self._chain, self._newer, self._passed_over
        if oldest is None and left:
            id, why = left[0]
            chain.note(0, id, why or "it is the current commit, and is not stored")
        elif oldest is not None:
            while left and not left[-1][1]:
                left.pop()  # these were cut
            self._note_passed_over()
            chain.first = oldest.seq
            link = oldest.own_link
            if (oldest.seq == 1) != (not oldest.tail) or (
                link is not None and bool(link.previous) != bool(oldest.tail)
            ):
                why = "its number and the commits that it names before it do not go together"
                chain.note(oldest.seq, chain.begins, why)
        self._look_for_others()

    def _misplaced(self, object: Stored | Foreign) -> str:
        """Why what is stored cannot be the commit that is expected here; empty if it can."""
        if not isinstance(object, Head):
            return "what is stored is no commit"
        if self._newer is None or object.seq == self._newer.seq - 1 - len(self._passed_over):
            return ""  # numbers only ever fall, so a walk comes to its end
        return f"its number is {object.seq}"

    def _pass(self, id: int, head: Head, spilled: _Read) -> None:
        chain, newer = self._chain, self._newer
        if newer is None:
            chain.newest = _position(id, head)
        else:
            self._judge_order(id, head, newer)
        self._note_passed_over()
        chain.commits += 1
        chain.begins = id
        link = head.own_link
        chain.unlinked += link is None
        if link is not None and head.spilled:
            changes = spilled.objects.get(head.spilled)
            if not isinstance(changes, Changes) or changes.digest != link.changes:
                chain.note(head.seq, id, "what it changed is not what was stored with it")
        for one in self._known.get(head.seq, ()):
            if one == _position(id, head):
                chain.matched += 1
            else:
                chain.note(head.seq, id, f"{one.commit} was written down before, or other content")
        self._newer, self._passed_over = head, []

    def _judge_order(self, id: int, head: Head, newer: Head) -> None:
        """Whether a commit is what the next one that holds was made on."""
        apart = len(self._passed_over) + 1
        link = newer.own_link if apart == 1 else None
        if link is not None and link.previous != head.digest:
            self._chain.note(head.seq, id, "it is not what the commit after it was made on")
        elif newer.tail[apart:] != head.tail[: len(newer.tail) - apart]:
            self._chain.note(head.seq, id, "it names others before it than the commit after it")

    def _note_passed_over(self) -> None:
        newest = self._newer.seq - 1 if self._newer else 0
        for at, (id, why) in enumerate(self._passed_over):
            self._chain.note(newest - at, id, why or "it is not stored, and older ones are")

    def _look_for_others(self) -> None:
        """Count what was written down before and is older than what is kept, or newer than all."""
        chain = self._chain
        last = chain.newest.seq if chain.newest else 0
        for seq, positions in self._known.items():
            if last and seq < chain.first:
                chain.cut_positions += len(positions)
            elif seq > last:
                for one in positions:
                    chain.note(seq, one.commit, f"it was there before, and the log ends at #{last}")


def _position(id: int, head: Head) -> Position:
    return Position(head.seq, id, head.digest or b"")
