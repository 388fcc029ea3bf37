"""The working state of a batch of attempts: what they read, what they changed, what gets written.

An attempt is a pure function of its draft. It may run several times; it never waits. What it needs
and is not at hand raises `Missing`, and it is run again once that was fetched.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from headgate.errors import BadName, InvalidInput, PointerSealed, TooLarge
from headgate.ids import ID_MAX, Ids, time_ms
from headgate.kernel import operations
from headgate.kernel.head import ADDED, REMOVED, UPDATED, Change, Group, encode_note
from headgate.kernel.index import HeadView, PageShelf, after_prefix
from headgate.kernel.objects import Encoded, Foreign, ObjectTypes, Stored, expect
from headgate.kernel.pages import Page
from headgate.kernel.system import check_index_name
from headgate.kernel.tree import Missing, Tree
from headgate.kernel.work import Overrun, Work
from headgate.limits import (
    BATCH_BYTES_MAX,
    BATCH_ENTRIES_MAX,
    COMMIT_AGE_MS_MAX,
    INDEX_KEY_BYTES_MAX,
    INDEX_VALUE_BYTES_MAX,
)

MARK_MAX = (1 << 63) - 1
CHANGE = 2  # what an entry that is put or removed counts; one that is looked up counts 1
ENTRIES_SCANNED_AS_ONE = 16  # walking over these takes about as long as looking up one
BYTES_STAGED_AS_ONE = 2_048  # encoding these does too

T = TypeVar("T")


class Savepoint(msgspec.Struct, frozen=True):
    """All that an attempt can change, as it was before."""

    trees: dict[str, tuple[Page, int]]
    staged: int
    discarded: int
    marks: Mapping[str, int]
    sealed: bool
    groups: int
    work: int


class Staged(msgspec.Struct, frozen=True, gc=False):
    """An object that is to be stored, and its stored form."""

    encoded: Encoded
    value: Stored | Foreign


class Draft:
    """What an attempt sees of a head and does to it."""

    def __init__(
        self, base: HeadView, shelf: PageShelf, ids: Ids, types: ObjectTypes, now_ms: int
    ) -> None:
        self.base = base
        self.now_ms = now_ms
        self.sealed = base.head.sealed
        self.marks: Mapping[str, int] = dict(base.head.marks)  # shared with savepoints
        self.trees: dict[str, Tree] = {}
        self.staged: list[Staged] = []
        self.staged_bytes = 0
        self.work = Work()
        self.entries = 0
        """How many entries the attempts that were kept looked at or changed."""
        self._by_id: dict[int, Staged] = {}
        self.discarded: list[int] = []
        self.groups: list[Group] = []
        self._shelf = shelf
        self._ids = ids
        self._types = types
        self._note: Any = None
        self._touched: dict[tuple[str, bytes], tuple[bytes | None, bytes | None]] = {}

    # What an attempt uses

    @property
    def seq(self) -> int:
        """The sequence number this commit will have."""
        return self.base.head.seq + 1

    def index(self, name: str) -> "IndexDraft":
        """An index of the head, to read and to change."""
        check_index_name(name)
        if name == operations.INDEX:
            raise BadName(
                f"index {name!r} cannot be opened",
                why="the kernel keeps operation ids in it",
                fix="Choose another name",
            )
        return IndexDraft(self, name)

    def new_id(self) -> int:
        """A new id, for an entity or an object."""
        return self._ids.next()

    def stage(self, value: Stored | Foreign, id: int | None = None) -> int:
        """Store this immutable object with the commit; the answer is its id.

        An id that was made before has to be young: a sweep takes old objects for garbage.
        """
        id = self._ids.next() if id is None else self._young_id(id)
        encoded = self._types.encode(self.base.realm, id, value)
        staged = self._by_id[id] = Staged(encoded, value)
        self.staged.append(staged)
        size = len(encoded.data)
        self.staged_bytes += size
        self.work.count(1 + size // BYTES_STAGED_AS_ONE)
        return id

    def _young_id(self, id: int) -> int:
        age_ms = time_ms(self._ids.next()) - time_ms(_checked_id(id))
        if age_ms > COMMIT_AGE_MS_MAX // 2:  # the other half is for the commit
            raise InvalidInput(
                "the object cannot be stored",
                why=f"its id was made {age_ms // 1000:,} s ago",
                fix="Make the id when the object is staged",
            )
        return id

    def fetch(self, id: int, cls: type[T]) -> T:
        """An immutable object that is stored, or was staged in this batch."""
        _checked_id(id)
        self.work.count(1)
        staged = self._by_id.get(id)
        if staged is not None:
            return expect(staged.value, cls, id)
        found = self._shelf.find_object(id)
        if found is None:
            raise Missing((id,))
        return expect(found, cls, id)

    def discard(self, id: int) -> None:
        """Say that a stored object is no longer used once this commit is made."""
        self.discarded.append(_checked_id(id))

    def mark(self, name: str, value: int) -> None:
        """Set a small number that readers of the head see without opening an index."""
        check_index_name(name)
        if not _is_between(value, -MARK_MAX, MARK_MAX):
            raise InvalidInput(
                f"mark {name!r} cannot be set",
                why=f"{value!r:.80} is no whole number of 64 bits",
                fix="Put anything else into an index or an object",
            )
        self.marks = {**self.marks, name: value}

    def seal(self) -> None:
        """Let this be the last commit of the pointer, but for those that clear it away."""
        self.sealed = True

    def note(self, note: Any) -> None:  # noqa: ANN401  whatever msgpack can hold
        """Say in the commit log what this attempt was about."""
        self._note = note

    # What the committer uses

    def savepoint(self) -> Savepoint:
        """Where `restore` can go back to; begins a new attempt."""
        self._note = None
        self._touched = {}
        return Savepoint(
            {name: (tree.root, len(tree.replaced)) for name, tree in self.trees.items()},
            len(self.staged),
            len(self.discarded),
            self.marks,
            self.sealed,
            len(self.groups),
            self.work.done,
        )

    def restore(self, savepoint: Savepoint) -> None:
        """Undo the attempt that began at this savepoint."""
        for name in list(self.trees):
            before = savepoint.trees.get(name)
            if before is None:
                del self.trees[name]
            else:
                self.trees[name].root = before[0]
                del self.trees[name].replaced[before[1] :]
        self._unstage(savepoint.staged)
        del self.discarded[savepoint.discarded :]
        self.marks = savepoint.marks
        self.sealed = savepoint.sealed
        del self.groups[savepoint.groups :]

    def _unstage(self, kept: int) -> None:
        """Forget all objects but the first ones, which an id that was staged twice means again."""
        undone = self.staged[kept:]
        self.staged_bytes -= sum(len(one.encoded.data) for one in undone)
        is_unique = len(self._by_id) == len(self.staged)
        del self.staged[kept:]
        if is_unique:
            for one in undone:
                del self._by_id[one.encoded.id]
        else:
            self._by_id = {one.encoded.id: one for one in self.staged}

    @property
    def is_full(self) -> bool:
        """Whether the batch is as large as one may be."""
        return self.staged_bytes > BATCH_BYTES_MAX or self.entries > BATCH_ENTRIES_MAX

    def check_open(self) -> None:
        """Refuse an attempt on a sealed pointer."""
        if self.sealed:
            raise PointerSealed(
                "nothing can be committed",
                why="what this pointer holds is being dropped",
                fix="Choose another place",
            )

    def accept(self, savepoint: Savepoint, operation: bytes) -> bool:
        """End an attempt: keep what it did as one group, or undo it if it did nothing."""
        changes = [
            Change(index, key, _kind(before, after))
            for (index, key), (before, after) in self._touched.items()
            if after != before
        ]
        marked = self.marks != savepoint.marks or self.sealed != savepoint.sealed
        stored = len(self.staged) + len(self.discarded) != savepoint.staged + savepoint.discarded
        if not (changes or marked or stored or operation):
            self.restore(savepoint)
            return False
        self.groups.append(Group(encode_note(self._note), operation, changes))
        self.entries += self.work.done - savepoint.work
        return True

    @property
    def changed(self) -> bool:
        """True if any attempt did something."""
        return bool(self.groups)

    def tree(self, index: str) -> Tree:
        """The working tree of an index."""
        tree = self.trees.get(index)
        if tree is None:
            tree = self.trees[index] = _CountedTree(self.base.root(index), self._shelf, self.work)
        return tree

    def touch(self, index: str, key: bytes, old: bytes | None, new: bytes | None) -> None:
        """Remember the value of an entry before this attempt first changed it, and the last."""
        before, _ = self._touched.get((index, key), (old, None))
        self._touched[index, key] = before, new


class _CountedTree(Tree):
    """A tree that counts the pages it walks over; single entries are counted by `IndexDraft`."""

    __slots__ = ("_work",)

    def __init__(self, root: Page, pages: PageShelf, work: Work) -> None:
        super().__init__(root, pages)
        self._work = work

    def _descend(
        self, key: bytes, wanted: Callable[[bytes, bytes], bool]
    ) -> tuple[Page, bytes | None]:
        found = super()._descend(key, wanted)
        self._work.count(1 + len(found[0].keys) // ENTRIES_SCANNED_AS_ONE)
        return found


class IndexDraft:
    """An index of a draft. Changes are seen by whoever reads the same draft later."""

    __slots__ = ("_draft", "_name")

    def __init__(self, draft: Draft, name: str) -> None:
        self._draft = draft
        self._name = name

    def get(self, key: bytes) -> bytes | None:
        """The value of this key, None if it is absent."""
        draft = self._draft
        work = draft.work
        done = work.done = work.done + 1  # as `count` does, without a call
        if done > work.done_max:
            raise Overrun
        return draft.tree(self._name).get(key)

    def need(self, keys: Iterable[bytes]) -> None:
        """Say before a change of many entries which they are: fewer runs of the attempt."""
        wanted = list(keys)
        self._draft.work.count(len(wanted))
        self._draft.tree(self._name).need(wanted)

    def put(self, key: bytes, value: bytes) -> None:
        """Add or replace an entry."""
        _check_size("key", key, INDEX_KEY_BYTES_MAX)
        _check_size("value", value, INDEX_VALUE_BYTES_MAX)
        draft = self._draft
        work = draft.work
        done = work.done = work.done + CHANGE  # as `count` does, without a call
        if done > work.done_max:
            raise Overrun
        old = draft.tree(self._name).put(key, value)
        if old != value:
            draft.touch(self._name, key, old, value)

    def remove(self, key: bytes) -> bool:
        """Remove an entry; False if it is absent."""
        self._draft.work.count(CHANGE)
        tree = self._draft.tree(self._name)
        old = tree.get(key)
        if old is None:
            return False
        tree.remove(key)
        self._draft.touch(self._name, key, old, None)
        return True

    def scan(self, low: bytes = b"", high: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The entries with low <= key < high, in order. Collect them before changing the index."""
        return self._draft.tree(self._name).scan(low, high)

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The entries whose key begins with a prefix, in order."""
        return self.scan(prefix, after_prefix(prefix))

    def children(
        self, prefix: bytes, after: bytes | None = None
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """The direct children below a prefix; see `Tree.children`."""
        return self._draft.tree(self._name).children(prefix, after)


def _checked_id(id: int) -> int:
    if not _is_between(id, 1, ID_MAX):
        raise InvalidInput(
            "the object cannot be named",
            why=f"{id!r:.80} is no id",
            fix="Use `new_id`",
        )
    return id


def _is_between(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _check_size(what: str, value: bytes, limit: int) -> None:
    if not isinstance(value, bytes):
        raise InvalidInput(
            f"the index {what} cannot be stored",
            why=f"it is a {type(value).__name__}",
            fix="Index keys and values are bytes",
        )
    if len(value) > limit:
        raise TooLarge(
            f"the index {what} cannot be stored",
            why=f"it has {len(value):,} bytes, allowed are {limit:,}",
            fix="Keep large content in an object and put its id into the index",
        )


def _kind(before: bytes | None, after: bytes | None) -> int:
    if before is None:
        return ADDED
    return REMOVED if after is None else UPDATED
