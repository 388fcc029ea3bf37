"""64-bit ids: 0 | 41 bits of milliseconds since 2025-03-01 | 10 bits node | 12 bits sequence.

An id carries its own time, so the timestamp *inside* it is what is compared with the lease: a pause
between looking at the lease and looking at the clock cannot let an id slip past the end.
"""

from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from headgate.clock import Clock
from headgate.errors import ClockRefused, NoNodeId
from headgate.limits import CLOCK_BEHIND_MS_MAX, CLOCK_STEP_SECONDS_HELD, IDS_PER_MS, NODES

EPOCH_MS = 1_740_787_200_000  # 2025-03-01T00:00:00Z
NODE_BITS = 10
SEQUENCE_BITS = 12
TIME_SHIFT = NODE_BITS + SEQUENCE_BITS
TIME_MAX = (1 << 41) - 1
ID_MAX = (1 << 63) - 1


class Lease(NamedTuple):
    """The right to make ids with `node` in them, for times in [`begins_ms`, `ends_ms`)."""

    node: int
    begins_ms: int
    ends_ms: int


class Ids(Protocol):
    """Anything that hands out ids."""

    def next(self) -> int: ...

    def pair(self) -> tuple[int, int]: ...


class IdGenerator:
    """Makes ids under the current lease. One per process: two on one lease would collide."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lease: Lease | None = None
        self._last_ms = 0
        self._sequence = 0
        self.refusal = ""
        """Why this clock must not be used, if something shows that it is wrong."""

    def use(self, lease: Lease | None) -> None:
        """From now on make ids under this lease; None forbids it."""
        self._lease = lease

    @property
    def node(self) -> int | None:
        """The node id of the current lease."""
        return self._lease.node if self._lease else None

    @property
    def last_ms(self) -> int:
        """The time inside the newest id made here, 0 before the first."""
        return self._last_ms

    def next(self) -> int:
        """A new id, greater than every earlier one of this generator."""
        lease = self._lease
        if lease is None:
            raise NoNodeId(
                "no id can be made",
                why="this process holds no node id",
                fix="Open the store before writing",
            )
        now_ms = self._tick()
        if not lease.begins_ms <= now_ms < lease.ends_ms:
            raise NoNodeId(
                "no id can be made",
                why=f"the lease of node {lease.node} does not cover the present time",
                fix="Check that the database answers and that the clock is right, then try again",
            )
        if self._clock.step_ms or self.refusal:
            raise self._doubt()
        return make(now_ms, lease.node, self._sequence)

    def check_clock(self) -> None:
        """Raise `NoNodeId` if the clock is in doubt: nothing may be judged by its time now."""
        self._clock.wall_ms()
        if self._clock.step_ms or self.refusal:
            raise self._doubt()

    def _doubt(self) -> NoNodeId:
        if self.refusal:
            return NoNodeId(
                "nothing can be written", why=self.refusal, fix="Synchronise the clocks (NTP)"
            )
        return _stepped(self._clock.step_ms)

    def pair(self) -> tuple[int, int]:
        """Two new ids, with no other id of this node between them."""
        return self.next(), self.next()

    def _tick(self) -> int:
        """The time for the next id; `_sequence` is its place within that millisecond."""
        now_ms = self._clock.wall_ms()
        while now_ms == self._last_ms and self._sequence == IDS_PER_MS - 1:
            self._clock.pause()
            now_ms = self._clock.wall_ms()
        if now_ms < self._last_ms:
            raise ClockRefused(
                "no id can be made",
                why=f"the clock went back by {self._last_ms - now_ms} ms",
                fix="Use one monotonic clock per process",
            )
        self._sequence = self._sequence + 1 if now_ms == self._last_ms else 0
        self._last_ms = now_ms
        return now_ms


def _stepped(step_ms: int) -> NoNodeId:
    """What to say of a machine whose clock was set while this process ran."""
    is_ahead = step_ms > 0
    return NoNodeId(
        "nothing can be written",
        why=f"this machine's clock was set {'ahead' if is_ahead else 'back'} by "
        f"{abs(step_ms) / 1000:,.0f} s while this process ran",
        fix="Check the clock (NTP). If it is right, "
        + (
            f"writing goes on within {CLOCK_STEP_SECONDS_HELD:.0f} s"
            if is_ahead
            else "start this process again"
        ),
    )


def make(time_ms: int, node: int, sequence: int) -> int:
    """Compose an id from its three parts."""
    since_epoch = time_ms - EPOCH_MS
    assert 0 <= node < NODES, node
    assert 0 <= sequence < IDS_PER_MS, sequence
    if not 0 <= since_epoch < TIME_MAX:
        raise ClockRefused(
            "no id can be made",
            why=f"the clock says {datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d}",
            fix="Set the clock; ids cover 2025-03-01 to 2094",
        )
    return since_epoch << TIME_SHIFT | node << SEQUENCE_BITS | sequence


def time_ms(id: int) -> int:
    """When this id was made, in milliseconds since 1970."""
    return (id >> TIME_SHIFT) + EPOCH_MS


def node(id: int) -> int:
    """Which node made this id."""
    return id >> SEQUENCE_BITS & NODES - 1


def earliest_id(time_ms: int) -> int:
    """The smallest id of a time."""
    return time_ms - EPOCH_MS << TIME_SHIFT


def lease_row(node: int) -> int:
    """The fixed id of a node's lease row; no generator ever reaches it."""
    return TIME_MAX << TIME_SHIFT | node << SEQUENCE_BITS


def check_clock(now_ms: int, newest_id: int) -> None:
    """Refuse a clock that is behind the newest id in the store.

    A clock that is *ahead* cannot be told from a store that was not written to for a while.
    """
    behind_ms = time_ms(newest_id) - now_ms
    if behind_ms > CLOCK_BEHIND_MS_MAX:
        raise ClockRefused(
            "the store cannot be opened for writing",
            why=f"this machine's clock is {behind_ms / 1000:.0f} s behind the newest commit",
            fix="Synchronise the clock (NTP) and start again. If the clock is right, a commit was "
            "stamped by one that was ahead: `headgate maintenance repair-clock` mends that",
        )
