"""Judges recorded histories of one pointer: could one correct pointer have given these answers?

Values never repeat, so the swaps that took effect form one chain from the initial value, and only
the instants at which they took effect remain to be found. Every answer bounds such an instant; a
LOST one says that one of two bounds holds. The earliest instants within all bounds are found by
raising them until nothing changes: a LOST answer whose one bound is out of reach forces the other.
That is exact, and fast for thousands of operations. Swaps of unknown outcome took effect if their
value was seen; the others can only stand at the end of the chain.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from headgate.kernel.records import EMPTY, Outcome

NEVER = float("inf")
ALWAYS = float("-inf")


class Kind(Enum):
    """What an operation did."""

    READ = "read"
    SWAP = "swap"


class Operation(NamedTuple):
    """One call as its caller saw it. Times are ticks in the order of real time."""

    process: int
    kind: Kind
    expected: int  # 0 for a read
    new: int  # 0 for a read
    result: int | Outcome | None  # the value read; how a swap ended, None for unknown
    began: int
    ended: int | None  # None: no answer came, and it may take effect at any later time

    def __str__(self) -> str:
        when = f"ticks {self.began} to {'-' if self.ended is None else self.ended}"
        if self.kind is Kind.READ:
            return f"process {self.process} read {self.result} ({when})"
        ending = self.result.name if isinstance(self.result, Outcome) else "unknown"
        return f"process {self.process} swapped {self.expected} -> {self.new}: {ending} ({when})"


class Violation(NamedTuple):
    """Why no correct pointer can have given these answers."""

    why: str
    operations: tuple[Operation, ...]

    def __str__(self) -> str:
        return "\n  ".join([self.why, *map(str, self.operations)])


def check(history: Sequence[Operation], initial: int = EMPTY) -> Violation | None:
    """None if the history is linearizable. Each value may be the `new` of one pair only."""
    swaps = _swaps_by_value(history, initial)
    chain = _chain(history, swaps, initial)
    if isinstance(chain, Violation):
        return chain
    verdict = _Timing(history, chain, initial).solve()
    if verdict is None:
        return None
    for longer in _extensions(chain, swaps, initial):
        if _Timing(history, longer, initial).solve() is None:
            return None
    return verdict


class _Moves(NamedTuple):
    """All swaps to one value. They were sent from the same value, so at most one took effect."""

    expected: int
    new: int
    applied: tuple[Operation, ...]
    lost: tuple[Operation, ...]
    unknown: tuple[Operation, ...]


class _Bound(NamedTuple):
    """A limit for an instant, and whose answer sets it."""

    tick: float
    operation: Operation | None


def _swaps_by_value(history: Sequence[Operation], initial: int) -> dict[int, _Moves]:
    sent: defaultdict[int, list[Operation]] = defaultdict(list)
    for operation in history:
        if operation.kind is Kind.SWAP:
            sent[operation.new].append(operation)
    for new, same in sent.items():
        if new == initial or len({operation.expected for operation in same}) > 1:
            raise ValueError(f"value {new} is used twice: this history cannot be judged")
    return {
        new: _Moves(
            same[0].expected,
            new,
            tuple(one for one in same if one.result is Outcome.APPLIED),
            tuple(one for one in same if one.result is Outcome.LOST),
            tuple(one for one in same if one.result is None),
        )
        for new, same in sent.items()
    }


def _chain(
    history: Sequence[Operation], swaps: dict[int, _Moves], initial: int
) -> list[_Moves] | Violation:
    """The swaps that certainly took effect, in their order."""
    certain = _certain(history, swaps, initial)
    if isinstance(certain, Violation):
        return certain
    followers: dict[int, _Moves] = {}
    for moves in certain.values():
        if len(moves.applied) > 1:
            return Violation(f"the swap to {moves.new} took effect twice", moves.applied)
        rival = followers.setdefault(moves.expected, moves)
        if rival is not moves:
            return Violation(
                f"two swaps took effect from the same value {moves.expected}: one update is lost",
                (_witness(rival), _witness(moves)),
            )
    chain = []
    value = initial
    while value in followers:
        chain.append(followers.pop(value))
        value = chain[-1].new
    if followers:
        circle = tuple(_witness(moves) for moves in followers.values())
        return Violation(f"these swaps follow from each other, not from {initial}", circle)
    return chain


def _certain(
    history: Sequence[Operation], swaps: dict[int, _Moves], initial: int
) -> dict[int, _Moves] | Violation:
    """The swaps that took effect: by their answer, because read, or because others follow them."""
    certain: dict[int, _Moves] = {}
    for operation in history:
        value = _value_shown_by(operation)
        while value is not None and value != initial and value not in certain:
            moves = swaps.get(value)
            if moves is None:
                return Violation(f"nobody ever swapped to {value}", (operation,))
            if not moves.applied and not moves.unknown:
                return Violation(
                    f"the swap to {value} was answered LOST and took effect",
                    (*moves.lost, operation),
                )
            certain[value] = moves
            value = moves.expected
    return certain


def _value_shown_by(operation: Operation) -> int | None:
    """The value that the pointer certainly had at some time, if this answer is true."""
    if operation.kind is Kind.READ:
        assert isinstance(operation.result, int), operation
        return operation.result
    return operation.new if operation.result is Outcome.APPLIED else None


def _witness(moves: _Moves) -> Operation:
    return (*moves.applied, *moves.unknown)[0]


def _extensions(
    chain: list[_Moves], swaps: dict[int, _Moves], initial: int
) -> Iterator[list[_Moves]]:
    """The chain with unknown swaps at its end that nobody saw, in every possible way."""
    unseen: defaultdict[int, list[_Moves]] = defaultdict(list)
    for moves in swaps.values():
        if moves.unknown and not moves.applied:
            unseen[moves.expected].append(moves)
    waiting = [chain]
    while waiting:
        shorter = waiting.pop()
        last = shorter[-1].new if shorter else initial
        for moves in unseen[last]:
            longer = [*shorter, moves]
            yield longer
            waiting.append(longer)


class _Timing:
    """When each swap of a chain took effect, at the earliest.

    Instant i is when the pointer got value i of the chain; value 0 is the initial one, which it
    always had. Value i was there between the instants i and i + 1.
    """

    def __init__(self, history: Sequence[Operation], chain: list[_Moves], initial: int) -> None:
        self._values = [initial, *(moves.new for moves in chain)]
        self._place = {value: place for place, value in enumerate(self._values)}
        self._not_before = [_Bound(ALWAYS, None), *map(_earliest, chain), _Bound(NEVER, None)]
        self._not_after = [_Bound(ALWAYS, None), *map(_latest, chain), _Bound(NEVER, None)]
        self._lost: list[Operation] = []
        for operation in history:
            if operation.kind is Kind.READ:
                self._bound_by_read(operation)
            elif operation.result is Outcome.LOST and operation.expected in self._place:
                self._lost.append(operation)

    def solve(self) -> Violation | None:
        """None if there are instants that satisfy all bounds."""
        while True:
            instants = self._earliest_instants()
            for place, instant in enumerate(instants):
                if instant.tick > self._not_after[place].tick:
                    return self._explain(place, instant)
            if not self._force(instants):
                return None

    def _bound_by_read(self, read: Operation) -> None:
        """A value that was read was set before the read ended and replaced after it began."""
        assert isinstance(read.result, int), read
        assert read.ended is not None, read
        place = self._place[read.result]
        if read.ended < self._not_after[place].tick:
            self._not_after[place] = _Bound(read.ended, read)
        if read.began > self._not_before[place + 1].tick:
            self._not_before[place + 1] = _Bound(read.began, read)

    def _earliest_instants(self) -> list[_Bound]:
        instants: list[_Bound] = []
        for bound in self._not_before:
            instants.append(max(instants[-1], bound, key=_tick) if instants else bound)
        return instants

    def _force(self, instants: list[_Bound]) -> bool:
        """Raise what LOST answers demand; False if they demand nothing more.

        A swap from value i was lost, so its moment was before instant i or after instant i + 1.
        """
        remaining = []
        for swap in self._lost:
            assert swap.ended is not None, swap
            place = self._place[swap.expected]
            if instants[place + 1].tick <= swap.ended:
                remaining.append(swap)
            elif self._not_before[place].tick < swap.began:
                self._not_before[place] = _Bound(swap.began, swap)
        forced = len(remaining) < len(self._lost)
        self._lost = remaining
        return forced

    def _explain(self, place: int, instant: _Bound) -> Violation:
        latest = self._not_after[place]
        value = self._values[place]
        if place == 0:
            why = f"a swap from the initial value {value} was LOST before any other"
        else:
            why = (
                f"the pointer cannot have got {value} before tick {instant.tick}, "
                f"and must have got it by tick {latest.tick}"
            )
        involved = (instant.operation, latest.operation)
        return Violation(why, tuple(one for one in involved if one is not None))


def _earliest(moves: _Moves) -> _Bound:
    """A swap takes effect after it was sent; of several unknown ones it may be any."""
    first = min(moves.applied or moves.unknown, key=lambda swap: swap.began)
    return _Bound(first.began, first)


def _latest(moves: _Moves) -> _Bound:
    """A swap that was answered has taken effect by then."""
    if not moves.applied:
        return _Bound(NEVER, None)
    ended = moves.applied[0].ended
    assert ended is not None, moves
    return _Bound(ended, moves.applied[0])


def _tick(bound: _Bound) -> float:
    return bound.tick
