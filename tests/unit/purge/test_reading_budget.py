"""How long purges may wait while tables of a schema are read."""

import pytest

from headgate.limits import READING_SECONDS, READING_SECONDS_PER_TABLE, REFERENCE_PERIOD_SECONDS
from headgate.purge.reading_budget import ReadingBudget, SchemaKey, allowance
from headgate.testing.manual_clock import ManualClock

SCHEMA = SchemaKey("m", "c", 1)
FEW = (0, 0, 0)
MANY = 1_000


def test_an_allowance_grows_with_the_number_of_tables() -> None:
    """A minute for a schema of any size, and some more for each of its tables."""
    assert allowance(0) == READING_SECONDS
    assert allowance(MANY) == READING_SECONDS + MANY * READING_SECONDS_PER_TABLE


def test_an_allowance_is_used_up_by_what_is_charged() -> None:
    """However small the parts are."""
    budget = ReadingBudget(ManualClock())
    budget.charge(SCHEMA, READING_SECONDS / 2)
    before = budget.is_spent(SCHEMA, FEW)
    budget.charge(SCHEMA, READING_SECONDS / 2)

    assert (before, budget.is_spent(SCHEMA, FEW)) == (False, True)


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
    """Many small schemas, or catalogs, have no more than one that is as large as all of them."""
    budget = ReadingBudget(ManualClock())
    budget.charge(SCHEMA, READING_SECONDS)

    assert budget.is_spent(other, FEW) is is_spent


def test_a_large_catalog_is_not_used_up_by_a_small_schema() -> None:
    """The schema itself is."""
    budget = ReadingBudget(ManualClock())
    budget.charge(SCHEMA, READING_SECONDS)

    assert budget.is_spent(SCHEMA, (MANY, MANY, 0))
    assert not budget.is_spent(SCHEMA._replace(schema=2), (MANY, MANY, 0))
    assert not budget.is_spent(SCHEMA._replace(catalog="d"), (MANY, 0, 0))


def test_after_a_period_the_allowance_is_whole_again() -> None:
    """And nothing is remembered of those that were charged before."""
    clock = ManualClock()
    budget = ReadingBudget(clock)
    budget.charge(SCHEMA, READING_SECONDS)
    clock.advance(1_000 * REFERENCE_PERIOD_SECONDS - 1)
    before = budget.is_spent(SCHEMA, FEW)
    clock.advance(1)

    assert (before, budget.is_spent(SCHEMA, FEW)) == (True, False)
    budget.charge(SchemaKey("n", "c", 1), 1.0)
    assert all(key[0] == "n" for key in budget._spent)
