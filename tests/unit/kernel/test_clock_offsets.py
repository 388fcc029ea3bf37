"""How far clocks are apart, as far as that is certain."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.clock_offsets import Offset, offset, offset_from_most
from headgate.limits import CLOCK_BEHIND_MS_MAX


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_bound_is_never_more_than_the_truth(true_ms: int, before: int, after: int) -> None:
    """Whenever between two readings of ours the other clock was read."""
    ours = 10**12
    found = offset(ours - true_ms, ours - before, ours + after)

    assert found.ahead_ms <= true_ms
    assert found.behind_ms <= -true_ms


def test_a_difference_within_the_uncertainty_says_nothing() -> None:
    """The other clock may have been read at any time between ours."""
    assert offset(5_000, 1_000, 9_000) == Offset(-4_000, -4_000)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Offset(CLOCK_BEHIND_MS_MAX, -CLOCK_BEHIND_MS_MAX), ""),
        (Offset(CLOCK_BEHIND_MS_MAX + 1, -100), "60 s ahead of"),
        (Offset(-100, CLOCK_BEHIND_MS_MAX + 1), "60 s behind"),
        (Offset(30 * 86_400_000, -30 * 86_400_000), "2,592,000 s ahead of"),
    ],
)
def test_only_more_than_the_tolerance_is_told(found: Offset, words: str) -> None:
    """With its direction and in seconds."""
    assert found.describe() == words


def test_without_others_nothing_is_known() -> None:
    """A node that runs alone is not compared."""
    assert offset_from_most([]) is None


@pytest.mark.parametrize(
    ("ahead_of_others", "expected"),
    [
        ([100], 100),  # of two the lower one counts
        ([100, 0], 0),  # two of three agree
        ([100, 90], 90),
        ([100, 90, 0], 90),  # of four the lower half
        ([100, 0, 0], 0),
        ([100, 90, 80, 0], 80),
        ([100, 90, 0, 0], 0),
    ],
)
def test_a_clock_is_compared_with_the_lower_median(
    ahead_of_others: list[int], expected: int
) -> None:
    """One node whose clock is wrong does not stop the others, in whatever order they are seen."""
    for order in permutations(ahead_of_others):
        found = offset_from_most(Offset(one, -one) for one in order)

        assert found is not None
        assert found.ahead_ms == expected
