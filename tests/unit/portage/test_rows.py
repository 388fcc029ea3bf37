"""The pure parts of an export: facts about rows, and rows in files."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import Corrupt, InvalidInput, Unsupported
from headgate.limits import PORTAGE_PAGE_BYTES, PORTAGE_PAGE_ROWS
from headgate.model.locations import index_key, indexed, normalize
from headgate.portage.parquet import decoded, encoded
from headgate.portage.rows import Carried, Facts, Row, batches, facts_of, pointer_row, pointer_state
from tests.unit.portage.strategies import ROWS

LEVELS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)


@given(st.lists(ROWS, max_size=12), st.randoms(use_true_random=False), st.integers(0, 12))
def test_facts_do_not_depend_on_order_or_division(
    rows: list[Row], chance: random.Random, at: int
) -> None:
    """Files may be written by anybody, in any order, and add up to the same."""
    whole = facts_of(rows)
    mixed = list(rows)
    chance.shuffle(mixed)

    assert facts_of(mixed[:at]) + facts_of(mixed[at:]) == whole == Facts() + whole


@given(st.lists(ROWS, min_size=1, max_size=6), st.data())
def test_any_other_row_is_another_content(rows: list[Row], data: st.DataObject) -> None:
    """A row that was changed, lost or repeated is noticed."""
    at = data.draw(st.integers(0, len(rows) - 1))
    other = data.draw(ROWS.filter(lambda row: row != rows[at]))
    content = facts_of(rows).content

    assert facts_of([*rows[:at], other, *rows[at + 1 :]]).content != content
    assert facts_of(rows[:at] + rows[at + 1 :]).content != content
    assert facts_of([*rows, rows[at]]).content != content


@given(st.lists(ROWS, max_size=8))
def test_rows_come_out_of_a_file_as_they_went_in(rows: list[Row]) -> None:
    """Byte for byte, and the same rows are the same file."""
    data = encoded(rows)

    assert list(decoded(data, "x")) == rows
    assert encoded(rows) == data


def test_a_file_of_something_else_is_refused() -> None:
    """It is named, so that it can be looked for."""
    with pytest.raises(Corrupt, match=r"rows-1\.parquet"):
        list(decoded(b"PAR1 is no parquet", "rows-1.parquet"))


def test_batches_are_as_large_as_one_request_may_be() -> None:
    """By number and by bytes; a row that is larger than that is alone."""
    small = [Row("root", "names", b"%d" % n, b"") for n in range(PORTAGE_PAGE_ROWS + 1)]
    large = Row("root", "names", b"k", b"", (Carried(1, "table", b"x" * PORTAGE_PAGE_BYTES),))

    assert [len(batch) for batch in batches(small)] == [PORTAGE_PAGE_ROWS, 1]
    assert [len(batch) for batch in batches([small[0], large, small[1]])] == [1, 1, 1]
    assert list(batches([])) == []


def test_the_row_of_a_pointer_has_its_marks_in_order() -> None:
    """However they were set, the same marks are the same row."""
    row = pointer_row("root", {"b": 2, "a": 1}, [], sealed=True)

    assert row == pointer_row("root", {"a": 1, "b": 2}, [], sealed=True)
    assert pointer_state(row).marks == (("a", 1), ("b", 2))
    assert pointer_state(row).sealed


def test_the_row_of_a_pointer_that_nobody_understands_is_refused() -> None:
    """It may be from a newer program."""
    with pytest.raises(Unsupported, match="root"):
        pointer_state(Row("root", "", b"", msgspec.msgpack.encode("sealed")))


def test_facts_tell_of_catalogs_and_their_places() -> None:
    """An import is refused by these before anything is written."""
    key = index_key("s3://b/wh")
    rows = [
        Row("catalogs", "ids", (7).to_bytes(8, "big"), b""),
        Row("catalogs", "locations", key, b""),
        Row("cat/7/heads/main", "locations", index_key("s3://b/wh/a/t"), b""),
    ]

    found = facts_of(rows)

    assert (found.catalogs, found.places) == ((7,), ("s3://b/wh",))


@given(st.sampled_from(["file://", "s3://bucket", "gs://bucket"]), st.lists(LEVELS, max_size=4))
def test_a_location_is_read_out_of_its_key(store: str, levels: list[str]) -> None:
    """What is reserved is known by keys only."""
    location = normalize("/".join([store, *(levels or [""])]))

    assert indexed(index_key(location)) == location


@pytest.mark.parametrize("key", [b"", b"\xff\xfe\x00", b"file"])
def test_what_is_no_key_of_a_location_is_refused(key: bytes) -> None:
    """Whoever changes an export hears of it, and nobody fails unexpectedly."""
    with pytest.raises(InvalidInput, match="no key of a location"):
        facts_of([Row("catalogs", "locations", key, b"")])
