"""How long purges may wait while tables of a schema are read."""

import pytest

from headgate.limits import READING_SECONDS, READING_SECONDS_PER_TABLE, REFERENCE_PERIOD_SECONDS
from headgate.purge.reading_budget import ReadingBudget, SchemaKey, allowance
from headgate.testing.manual_clock import ManualClock

SCHEMA = SchemaKey("m", "c", 1)
ALL = READING_SECONDS + READING_SECONDS_PER_TABLE
"""One reading that uses up the time of a schema."""
SLOW = 2 * READING_SECONDS_PER_TABLE


def test_a_child_has_more_time_for_more_tables() -> None:
    """A minute for any number, and some more for each."""
    assert allowance(1_000) == READING_SECONDS + 1_000 * READING_SECONDS_PER_TABLE


def test_the_time_of_a_schema_is_used_up_by_what_is_charged() -> None:
    """However small the parts are."""
    budget = ReadingBudget(ManualClock())
    half = READING_SECONDS / 2 + READING_SECONDS_PER_TABLE
    budget.charge(SCHEMA, half)
    before = budget.is_spent(SCHEMA)
    budget.charge(SCHEMA, half)

    assert (before, budget.is_spent(SCHEMA)) == (False, True)


def test_quick_tables_are_not_charged() -> None:
    """However many there are, and however often they are read."""
    budget = ReadingBudget(ManualClock())
    for _ in range(1_000):
        budget.charge(SCHEMA, READING_SECONDS_PER_TABLE)

    assert not budget.is_spent(SCHEMA)
    assert not budget.is_short("m", "c")


@pytest.mark.parametrize(
    ("other", "is_spent"),
    [
        (SchemaKey("m", "c", 2), True),
        (SchemaKey("m", "d", 1), True),
        (SchemaKey("n", "c", 1), False),
    ],
)
def test_what_a_schema_takes_is_charged_to_its_catalog_and_metalake(
    other: SchemaKey, *, is_spent: bool
) -> None:
    """Then slow schemas there are not waited for, and those without slow tables still are."""
    budget = ReadingBudget(ManualClock())
    budget.charge(SCHEMA, ALL)
    before = budget.is_spent(other)
    budget.charge(other, SLOW)

    assert (before, budget.is_spent(other)) == (False, is_spent)
    assert budget.is_short(*other[:2]) is is_spent


def test_after_a_period_the_time_is_whole_again() -> None:
    """And nothing is remembered of schemas that were charged before."""
    clock = ManualClock()
    budget = ReadingBudget(clock)
    budget.charge(SCHEMA, ALL)
    clock.advance(1_000 * REFERENCE_PERIOD_SECONDS - 1)
    before = budget.is_spent(SCHEMA)
    clock.advance(1)

    assert (before, budget.is_spent(SCHEMA)) == (True, False)
    budget.charge(SchemaKey("n", "c", 1), SLOW)
    assert all(key[0] == "n" for key in budget._spent)
