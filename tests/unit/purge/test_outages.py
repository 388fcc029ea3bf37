"""How long purges wait for a store that does not answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.limits import OUTAGE_PAUSE_SECONDS, OUTAGE_SECONDS_MAX, REFERENCE_PERIOD_SECONDS
from headgate.purge.outages import Outages, store_of
from headgate.testing.manual_clock import ManualClock

STORE = store_of("s3://b/a")


class Watched(Outages):
    """Outages on a clock of their own."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        super().__init__(self.clock)

    def after(self, seconds: float) -> "Watched":
        self.clock.advance(1_000 * seconds)
        return self


@pytest.mark.parametrize(
    ("location", "is_same"),
    [("s3a://b/x/y", True), ("s3://c/a", False), ("/b/a", False), ("rubbish", False)],
)
def test_a_store_is_a_bucket(location: str, *, is_same: bool) -> None:
    """However it is written; what is no location is of no store."""
    assert (store_of(location) == STORE) is is_same


def test_a_store_is_waited_for_from_its_first_failure() -> None:
    """However often it fails after that; other stores have their own time."""
    outages = Watched()
    waited = [outages.is_waited_for(STORE)]
    outages.failed(STORE)
    waited.append(outages.after(OUTAGE_SECONDS_MAX - 1).is_waited_for(STORE))
    outages.failed(STORE)
    waited.append(outages.after(1).is_waited_for(STORE))

    assert waited == [True, True, False]
    assert outages.is_waited_for(store_of("s3://c/a"))


def test_a_store_that_answered_is_waited_for_again() -> None:
    """For what is left of the time."""
    outages = Watched()
    outages.failed(STORE)
    outages.after(100).failed(STORE)
    outages.answered(STORE)
    assert not outages.is_failing(STORE)
    outages.after(600).failed(STORE)
    left = OUTAGE_SECONDS_MAX - 100 - OUTAGE_PAUSE_SECONDS

    assert outages.after(left - 1).is_waited_for(STORE)
    assert not outages.after(1).is_waited_for(STORE)


def test_a_store_that_flaps_is_waited_for_no_longer() -> None:
    """Each failure counts for the pause that a purge makes because of it."""
    outages, waited = Watched(), 0
    for _ in range(100):
        outages.failed(STORE)
        waited += outages.is_waited_for(STORE)
        outages.answered(STORE)
        outages.after(OUTAGE_PAUSE_SECONDS)

    assert waited * OUTAGE_PAUSE_SECONDS <= OUTAGE_SECONDS_MAX


def test_after_a_period_a_store_is_waited_for_as_before() -> None:
    """What it failed before that is forgotten, once it answered."""
    outages = Watched()
    outages.failed(STORE)
    outages.after(OUTAGE_SECONDS_MAX).failed(STORE)
    outages.answered(STORE)
    outages.after(OUTAGE_PAUSE_SECONDS)
    assert not outages.is_waited_for(STORE)

    assert outages.after(REFERENCE_PERIOD_SECONDS).is_waited_for(STORE)


def test_a_failure_of_long_ago_is_not_the_beginning_of_this_one() -> None:
    """A store that was not asked since may have answered meanwhile."""
    outages = Watched()
    outages.failed(STORE)
    outages.after(2 * OUTAGE_SECONDS_MAX)
    assert not outages.is_failing(STORE)
    outages.failed(STORE)

    assert outages.is_failing(STORE)
    assert outages.is_waited_for(STORE)


def test_a_store_that_never_answers_is_waited_for_no_longer_after_a_gap() -> None:
    """Its outage of long ago adds nothing to the time for which purges wait."""
    outages = Watched()
    outages.failed(STORE)
    outages.after(2 * REFERENCE_PERIOD_SECONDS).failed(STORE)
    waited = 0
    for _ in range(100):
        waited += outages.is_waited_for(STORE)
        outages.after(OUTAGE_PAUSE_SECONDS).failed(STORE)

    assert waited == OUTAGE_SECONDS_MAX / OUTAGE_PAUSE_SECONDS


def test_stores_that_failed_long_ago_are_forgotten() -> None:
    """Also those that never answered."""
    outages = Watched()
    outages.failed(STORE)
    other = store_of("s3://c/a")
    outages.after(2 * REFERENCE_PERIOD_SECONDS).failed(other)

    assert set(outages._of) == {other}


SPACES = st.one_of(
    st.sampled_from([1.0, OUTAGE_PAUSE_SECONDS, OUTAGE_SECONDS_MAX, REFERENCE_PERIOD_SECONDS]),
    st.floats(0.0, 3 * REFERENCE_PERIOD_SECONDS),
)
BURSTS = st.lists(
    st.tuples(st.integers(0, 60), st.floats(0.0, 60.0), st.booleans(), SPACES), max_size=8
)


@given(bursts=BURSTS)
def test_no_sequence_of_failures_makes_purges_wait_longer(
    bursts: list[tuple[int, float, bool, float]],
) -> None:
    """In any hour a purge waits for the time of an outage and one more pause at most, however often
    a store fails, answers, or is not asked."""
    outages = Watched()
    pauses: list[tuple[float, float]] = []
    for failures, between, is_answered, after in bursts:
        for _ in range(failures):
            outages.after(between).failed(STORE)
            now = outages.clock.seconds()
            if outages.is_waited_for(STORE):
                pauses.append((now, now + OUTAGE_PAUSE_SECONDS))
        if is_answered:
            outages.answered(STORE)
        outages.after(after)

    most = max((waited_before(pauses, end) for _, end in pauses), default=0.0)
    assert most <= OUTAGE_SECONDS_MAX + OUTAGE_PAUSE_SECONDS + 1e-6


def waited_before(pauses: list[tuple[float, float]], end: float) -> float:
    """The seconds of the hour before a moment that these pauses cover; they are in order."""
    covered, since = 0.0, end - REFERENCE_PERIOD_SECONDS
    for began, ended in pauses:
        covered += max(0.0, min(ended, end) - max(began, since))
        since = max(since, ended)
    return covered
