"""How many files a purge is about, while it goes on."""

from headgate.pipelines.purge_totals import Totals
from headgate.purge.deleter import Progress
from headgate.purge.sizing import Sizes
from headgate.purge.steps import DATA, LAST, LISTS, MANIFESTS

SIZES = Sizes(data=10, manifests=3, manifest_lists=2, other=4)


def test_at_first_all_kinds_of_files_are_expected() -> None:
    """Also those that lead to the data."""
    assert Totals(SIZES).total == 19


def test_what_was_found_wins_over_what_was_expected() -> None:
    """There may be fewer data files than lists say, or more."""
    totals = Totals(SIZES)
    totals.add(Progress(DATA, deleted=2, expected=12))
    assert totals.total == 19
    totals.add(Progress(DATA, deleted=7, missing=1, expected=8))
    assert totals.total == 17
    totals.add(Progress(DATA, deleted=14, missing=1, expected=15))
    assert totals.total == 24


def test_all_stages_are_added_up() -> None:
    """Each tells its own numbers only."""
    totals = Totals(SIZES)
    told = (
        Progress(DATA, deleted=8, bytes=80, expected=8),
        Progress(MANIFESTS),
        Progress(MANIFESTS, deleted=3, bytes=30, expected=3),
        Progress(LISTS, deleted=5, bytes=40, expected=5),
        Progress(LAST, deleted=8, missing=1, bytes=50, expected=9),
    )

    assert [totals.add(one) for one in told] == [(8, 80), (0, 0), (3, 30), (2, 10), (4, 10)]
    assert totals.total == 17


def test_what_cannot_be_counted_is_as_much_as_the_driver_says() -> None:
    """Its metadata may not be readable at first."""
    totals = Totals(None)
    assert totals.total == 0

    totals.add(Progress(DATA, deleted=2, expected=8))

    assert totals.total == 8
