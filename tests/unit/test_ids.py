"""Ids: what is in them, that none comes twice, and none outside of a lease."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import ids
from headgate.errors import ClockRefused, NoNodeId
from headgate.ids import EPOCH_MS, ID_MAX, TIME_MAX, IdGenerator, Lease
from headgate.kernel.levels import LEVEL_ROW
from headgate.kernel.shared_separator import SEPARATOR_ROW
from headgate.limits import CLOCK_BEHIND_MS_MAX, IDS_PER_MS, NODES
from headgate.testing.manual_clock import START_MS, ManualClock

NODE = 517
LEASE = Lease(NODE, START_MS, START_MS + 600_000)


class WanderingClock(ManualClock):
    """Shows what it is told, also earlier times, which a clock must not do."""

    def __init__(self, *readings_ms: int) -> None:
        super().__init__()
        self._readings_ms = list(readings_ms)

    def wall_ms(self) -> int:
        return self._readings_ms.pop(0) if self._readings_ms else super().wall_ms()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def generator(clock: ManualClock) -> IdGenerator:
    generator = IdGenerator(clock)
    generator.use(LEASE)
    return generator


@given(
    st.integers(EPOCH_MS, EPOCH_MS + TIME_MAX - 1),
    st.integers(0, NODES - 1),
    st.integers(0, IDS_PER_MS - 1),
)
def test_an_id_is_time_node_and_sequence(time_ms: int, node: int, sequence: int) -> None:
    """41 bits of time, 10 of node, 12 of sequence, below a 0; time and node can be read."""
    id = ids.make(time_ms, node, sequence)

    assert id == (time_ms - EPOCH_MS) * 2**22 + node * 2**12 + sequence
    assert 0 <= id <= ID_MAX == 2**63 - 1
    assert (ids.time_ms(id), ids.node(id)) == (time_ms, node)


def test_ids_say_when_and_where_they_were_made(generator: IdGenerator, clock: ManualClock) -> None:
    """The generator fills in its clock's time and its lease's node."""
    clock.advance(77)
    id = generator.next()

    assert ids.time_ms(id) == START_MS + 77
    assert ids.node(id) == NODE == generator.node
    assert generator.last_ms == START_MS + 77


def test_a_fresh_generator_has_made_nothing(clock: ManualClock) -> None:
    """Without a lease it has no node, and it remembers no time."""
    generator = IdGenerator(clock)

    assert generator.node is None
    assert generator.last_ms == 0


def test_a_millisecond_holds_4096_ids(generator: IdGenerator) -> None:
    """The 4097th waits for the next millisecond; all are in order and none comes twice."""
    made = [generator.next() for _ in range(2 * 4096 + 1)]

    assert all(earlier < later for earlier, later in pairwise(made))
    assert [ids.time_ms(id) - START_MS for id in made[::4096]] == [0, 1, 2]
    assert [id % IDS_PER_MS for id in (made[0], made[4095], made[4096])] == [0, 4095, 0]


def test_a_new_lease_does_not_repeat_ids(generator: IdGenerator) -> None:
    """The same node leased again within one millisecond goes on with the sequence."""
    first = generator.next()
    generator.use(None)
    generator.use(LEASE)

    assert generator.next() > first


def test_a_clock_that_goes_back_is_refused() -> None:
    """No id is made that could have been made before."""
    generator = IdGenerator(WanderingClock(START_MS + 5, START_MS + 3))
    generator.use(LEASE)
    generator.next()

    with pytest.raises(ClockRefused, match="went back by 2 ms"):
        generator.next()
    assert generator.last_ms == START_MS + 5


def test_a_clock_that_goes_back_while_it_is_waited_for_is_refused() -> None:
    """Also when the sequence of a millisecond is used up."""
    generator = IdGenerator(WanderingClock(*[START_MS] * (IDS_PER_MS + 1), START_MS - 1))
    generator.use(LEASE)
    for _ in range(IDS_PER_MS):
        generator.next()

    with pytest.raises(ClockRefused):
        generator.next()


def test_without_a_lease_there_are_no_ids(generator: IdGenerator) -> None:
    """A lease that was taken away forbids to make ids."""
    generator.next()
    generator.use(None)

    with pytest.raises(NoNodeId, match="holds no node id"):
        generator.next()


def test_no_id_lies_outside_of_its_lease(generator: IdGenerator, clock: ManualClock) -> None:
    """The last millisecond of a lease can be used, its end cannot."""
    clock.advance(LEASE.ends_ms - START_MS - 1)
    last = generator.next()
    clock.advance(1)

    assert ids.time_ms(last) == LEASE.ends_ms - 1
    with pytest.raises(NoNodeId, match="does not cover"):
        generator.next()


def test_no_id_is_made_before_its_lease_begins(clock: ManualClock) -> None:
    """A lease that begins a millisecond later is of no use yet."""
    generator = IdGenerator(clock)
    generator.use(LEASE._replace(begins_ms=START_MS + 1))

    with pytest.raises(NoNodeId):
        generator.next()
    clock.advance(1)
    assert ids.time_ms(generator.next()) == START_MS + 1


def test_the_time_inside_an_id_is_what_is_compared_with_the_lease() -> None:
    """A clock that jumps after the lease was looked at makes no id past the lease's end."""

    class JumpingClock(ManualClock):
        def wall_ms(self) -> int:
            self.advance(LEASE.ends_ms - START_MS)  # as if the process had been stopped here
            return super().wall_ms()

    generator = IdGenerator(JumpingClock())
    generator.use(LEASE)

    with pytest.raises(NoNodeId):
        generator.next()


def test_waiting_for_the_next_millisecond_does_not_leave_the_lease(clock: ManualClock) -> None:
    """The wait after 4096 ids may end behind the lease."""
    generator = IdGenerator(clock)
    generator.use(LEASE._replace(ends_ms=START_MS + 1))
    for _ in range(IDS_PER_MS):
        generator.next()

    with pytest.raises(NoNodeId):
        generator.next()


@pytest.mark.parametrize(("jump_ms", "word"), [(30 * 86_400_000, "ahead"), (-3_600_000, "back")])
def test_no_id_is_made_while_the_clock_is_in_doubt(
    generator: IdGenerator, clock: ManualClock, jump_ms: int, word: str
) -> None:
    """Neither with the new time nor with the old one; as soon as the jump is over, with both."""
    clock.jump(jump_ms)
    with pytest.raises(NoNodeId, match=f"set {word} by"):
        generator.next()
    with pytest.raises(NoNodeId):
        generator.check_clock()
    clock.jump(-jump_ms)
    clock.advance(5)

    assert ids.time_ms(generator.next()) == START_MS + 5
    generator.check_clock()


def test_no_id_is_made_by_a_clock_that_is_refused(generator: IdGenerator) -> None:
    """The error says what speaks against it."""
    generator.refusal = "this machine's clock is 61 s ahead of that of the database"
    with pytest.raises(NoNodeId, match="61 s ahead of that of the database"):
        generator.next()
    generator.refusal = ""

    assert generator.next()


def test_the_earliest_id_of_a_time_is_not_later_than_any_other() -> None:
    """It is greater than all of earlier times."""
    assert ids.earliest_id(START_MS) == ids.make(START_MS, 0, 0)
    assert ids.earliest_id(START_MS) > ids.make(START_MS - 1, NODES - 1, IDS_PER_MS - 1)


@pytest.mark.parametrize("time_ms", [EPOCH_MS - 1, 0, EPOCH_MS + TIME_MAX, EPOCH_MS + 2**41])
def test_a_time_that_does_not_fit_is_refused(time_ms: int) -> None:
    """Ids begin in 2025 and end when 41 bits of milliseconds are used up, in 2094."""
    with pytest.raises(ClockRefused, match="Set the clock"):
        ids.make(time_ms, 0, 0)


def test_the_first_and_the_last_time_fit() -> None:
    """Both ends of the range can be used."""
    assert ids.make(EPOCH_MS, 0, 0) == 0
    assert ids.make(EPOCH_MS + TIME_MAX - 1, NODES - 1, IDS_PER_MS - 1) < ids.lease_row(0)


@pytest.mark.parametrize(("node", "sequence"), [(-1, 0), (NODES, 0), (0, -1), (0, IDS_PER_MS)])
def test_parts_out_of_range_are_mistakes(node: int, sequence: int) -> None:
    """They would run over into the bits of their neighbours."""
    with pytest.raises(AssertionError):
        ids.make(START_MS, node, sequence)


def test_no_generator_reaches_the_rows_of_leases() -> None:
    """Fixed rows lie in the last millisecond, which is never given out, and are all different."""
    newest = ids.make(EPOCH_MS + TIME_MAX - 1, NODES - 1, IDS_PER_MS - 1)
    rows = {ids.lease_row(node) for node in range(NODES)} | {LEVEL_ROW, SEPARATOR_ROW}

    assert len(rows) == NODES + 2
    assert newest < min(rows)
    assert max(rows) <= ID_MAX
    assert [ids.node(ids.lease_row(node)) for node in (0, 1, NODES - 1)] == [0, 1, NODES - 1]


def test_a_clock_behind_the_store_is_refused() -> None:
    """A minute is tolerated, and being ahead cannot be told from a quiet store."""
    newest = ids.make(START_MS, 1, 0)
    ids.check_clock(START_MS - CLOCK_BEHIND_MS_MAX, newest)
    ids.check_clock(START_MS + 86_400_000, newest)

    with pytest.raises(ClockRefused, match="61 s behind"):
        ids.check_clock(START_MS - CLOCK_BEHIND_MS_MAX - 1_000, newest)
