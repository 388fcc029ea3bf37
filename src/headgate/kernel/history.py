"""Notices that a store went back to an earlier state while this process uses it.

A backup that is restored under running nodes takes back commits they have acknowledged and leases
they hold. A node that went on would put its commits on another history than the one it has seen,
and its node id may be leased again to another node: ids could be made twice. So it stops writing.
"""

import logging
from typing import NamedTuple

from headgate.errors import StoreRestored
from headgate.kernel.records import EMPTY, PointerKey

KNOWN_HEADS_MAX = 10_000  # the ones used last

logger = logging.getLogger(__name__)


class KnownHead(NamedTuple):
    """A commit that this process has seen at the head of a pointer."""

    seq: int
    id: int


class History:
    """What this process knows of the past of its store. It costs no reads."""

    def __init__(self) -> None:
        self._heads: dict[PointerKey, KnownHead] = {}
        self._sign = ""  # by which it was noticed, once it was

    def check_intact(self) -> None:
        """Refuse to write once the store was found to have gone back."""
        if self._sign:
            raise _restored(self._sign)

    def newest(self, key: PointerKey) -> KnownHead | None:
        """The newest known head of a pointer, to be compared with one that is read from now on."""
        return self._heads.get(key)

    def see(self, key: PointerKey, head: KnownHead) -> None:
        """Remember a head that was read, if it is news."""
        known = self._heads.get(key)
        if head.seq > (known.seq if known else 0):
            self.note(key, head)

    def note(self, key: PointerKey, head: KnownHead) -> None:
        """Remember a head, unless a newer one is known."""
        known = self._heads.pop(key, None)
        self._heads[key] = head if known is None or head.seq >= known.seq else known
        if len(self._heads) > KNOWN_HEADS_MAX:
            del self._heads[next(iter(self._heads))]  # the one that was not used for longest

    def check(
        self, key: PointerKey, known: KnownHead | None, head: KnownHead, tail: tuple[int, ...]
    ) -> None:
        """Hold a head against one that was known before it was read; `tail` are the ids of the
        commits before it, the newest first."""
        self.check_intact()
        if known == head:
            return
        if known is not None and not _follows(known, head, tail):
            raise self.declare_restored(
                f"pointer {key.name!r} of realm {key.realm!r} went back behind commit {known.seq:,}"
            )
        if head.id != EMPTY:
            self.note(key, head)

    def declare_restored(self, sign: str) -> StoreRestored:
        """From now on nothing is written; the error to raise."""
        if not self._sign:
            self._sign = sign
            logger.error("%s", _restored(sign))
        return _restored(self._sign)


def _follows(known: KnownHead, head: KnownHead, tail: tuple[int, ...]) -> bool:
    """Whether another head may be a successor of the known one."""
    commits = head.seq - known.seq
    if commits <= 0:
        return False
    return commits > len(tail) or tail[commits - 1] == known.id


def _restored(sign: str) -> StoreRestored:
    return StoreRestored(
        "nothing is written to the store",
        why=f"it was restored to an earlier state while this process used it: {sign}",
        fix="Stop all nodes, make sure that the restored store is complete, and start them again",
    )
