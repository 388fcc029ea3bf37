"""Exact sets of ids."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.ids import ID_MAX, make
from headgate.maintenance.id_sets import IdSet
from headgate.testing.manual_clock import START_MS

ids = st.one_of(
    st.integers(1, ID_MAX),
    st.builds(make, st.integers(START_MS, START_MS + 3), st.integers(0, 3), st.integers(0, 50)),
)


@given(st.lists(st.lists(ids)), st.lists(ids))
async def test_a_set_holds_what_was_added_and_nothing_else(
    added: list[list[int]], others: list[int]
) -> None:
    """In any order, in pieces, more than once."""
    found, expected = IdSet(), {id for some in added for id in some}
    for some in added:
        found.add(some)
    await found.sort()

    assert len(found) == len(expected)
    assert all((id in found) == (id in expected) for id in [*expected, *others])
