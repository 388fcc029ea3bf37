"""Values of pointers that were read together, kept for whoever wants the same ones next."""

from collections.abc import Mapping

from headgate.kernel.pointers import Vector
from headgate.kernel.records import PointerKey
from headgate.limits import POINTERS_MOVED_KNOWN_MAX, POLLED_VECTORS_MAX, POLLS_UNUSED_MAX

Keys = tuple[PointerKey, ...]


class _Kept:
    __slots__ = ("polls", "vector")

    def __init__(self, vector: Vector) -> None:
        self.vector = vector
        self.polls = 0  # since somebody asked for it


class KeptVectors:
    """Vectors by their keys. Each was read as it is; no two contradict each other; none goes back.

    Time is counted in turns: each move of a pointer that becomes known is one. If what was read
    contradicts a move that became known after the read had begun, nobody can tell which is older.
    Then neither is kept.
    """

    def __init__(self) -> None:
        self.turn = 0
        self._kept: dict[Keys, _Kept] = {}
        self._holders: dict[PointerKey, set[Keys]] = {}
        """The kept vectors that a pointer is in."""
        self._values: dict[PointerKey, int | None] = {}
        """Of all pointers that are in a kept vector."""
        self._moved: dict[PointerKey, int] = {}
        """The turn in which a pointer moved last, as far as that was after the turn `_past`."""
        self._past = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def pointers(self) -> list[PointerKey]:
        """All that are in a kept vector."""
        return list(self._values)

    def find(self, keys: Keys) -> Vector | None:
        """The vector of these pointers, if it is kept."""
        kept = self._kept.get(keys)
        if kept is None:
            return None
        kept.polls = 0
        return kept.vector

    def keep(self, keys: Keys, vector: Vector, since: int) -> None:
        """Keep what was read since this turn, in the place of what it contradicts."""
        read = dict(zip(keys, vector, strict=True))
        new = [key for key, value in read.items() if self._values.get(key, _UNKNOWN) != value]
        is_newest = all(self._moved.get(key, self._past) <= since for key in new)
        for key in new:
            self.forget(key)
        if not is_newest:
            return
        if len(self._kept) >= POLLED_VECTORS_MAX and keys not in self._kept:
            self._drop(next(iter(self._kept)))
        self._kept[keys] = _Kept(vector)
        self._values |= read
        for key in read:
            self._holders.setdefault(key, set()).add(keys)

    def forget(self, key: PointerKey) -> None:
        """Drop all vectors with this pointer: it moved."""
        self.turn += 1
        if len(self._moved) >= POINTERS_MOVED_KNOWN_MAX:
            self._moved.clear()
            self._past = self.turn
        self._moved[key] = self.turn
        for keys in list(self._holders.get(key, ())):
            self._drop(keys)

    def settle(self, values: Mapping[PointerKey, int | None], since: int) -> None:
        """Drop what a poll that began in the turn `since` found moved, and what nobody wants."""
        for key, value in values.items():
            if self._values.get(key, value) != value and self._moved.get(key, 0) <= since:
                self.forget(key)
        for keys, kept in list(self._kept.items()):
            kept.polls += 1
            if kept.polls > POLLS_UNUSED_MAX:
                self._drop(keys)

    def _drop(self, keys: Keys) -> None:
        del self._kept[keys]
        for key in set(keys):
            holders = self._holders[key]
            holders.discard(keys)
            if not holders:
                del self._holders[key], self._values[key]


_UNKNOWN = -1  # no pointer has this value
