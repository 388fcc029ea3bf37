"""Names in stores: every name comes back, and every text that is written is harmless."""

import re
from urllib.parse import unquote, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.limits import PATH_SEGMENT_CHARS_MAX
from headgate.model import locations, physical
from headgate.model.names import Levels

anything = st.text(st.characters(codec=None, categories=None))
short = st.text(st.characters(exclude_categories=[]), max_size=12)


def read_physical(text: str) -> Levels:
    """The levels that were written as this physical name."""
    return tuple("" if part == "%" else unquote(part) for part in text.split(".") if text)


def read_segment(text: str) -> str:
    """The name that was written as this segment of a path."""
    escaped = "" if text == "=" else text.replace("=", "%")
    return unquote_to_bytes(escaped).decode("utf-8", "surrogatepass")


@given(st.lists(anything).map(tuple))
def test_physical_names_come_back(levels: Levels) -> None:
    """Every list of any texts, also of empty ones, has a physical name of its own."""
    assert read_physical(physical.physical_name(levels)) == levels


@pytest.mark.parametrize(
    ("levels", "name"),
    [
        (("my.schema", "sales"), "my%2Eschema.sales"),
        (("a", "b"), "a.b"),
        (("50%", "a/b", "x\ty\x85"), "50%25.a%2Fb.x%09y%C2%85"),
        (("my schema", "ü:x"), "my schema.ü:x"),
        ((), ""),
        (("",), "%"),
    ],
)
def test_only_what_would_be_misread_is_escaped(levels: Levels, name: str) -> None:
    """Dots, slashes, percent signs and control characters of a level are escaped."""
    assert physical.physical_name(levels) == name


@given(short)
def test_storage_segments_come_back(name: str) -> None:
    """A name that is not too long can be read from its segment."""
    assert read_segment(physical.path_segment(name)) == name


@given(anything)
def test_a_storage_segment_is_harmless_and_short(name: str) -> None:
    """It has only characters that no store, client or URI changes."""
    segment = physical.path_segment(name)

    assert re.fullmatch("[A-Za-z0-9_=-]{1,150}", segment)


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        ("my schema", "my=20schema"),
        ("a.b", "a=2Eb"),
        ("..", "=2E=2E"),
        ("Tab-le_1", "Tab-le_1"),
        ("ü", "=C3=BC"),
        ("", "="),
    ],
)
def test_a_segment_is_the_name_with_escapes(name: str, segment: str) -> None:
    """Letters, digits, `_` and `-` are kept, all else is in hexadecimals of its UTF-8."""
    assert physical.path_segment(name) == segment


def test_a_long_name_is_cut_and_told_apart_by_its_digest() -> None:
    """It cannot be read back, and no other name has its segment."""
    segment, other = physical.path_segment("é" * 99 + "a"), physical.path_segment("é" * 99 + "b")

    assert re.fullmatch("(=C3=A9)+(=C3)?=-[0-9a-f]{16}", segment)
    assert len(segment) <= PATH_SEGMENT_CHARS_MAX
    assert segment != other
    assert physical.path_segment("a" * 150) == "a" * 150
    assert physical.path_segment("a" * 151).startswith("a" * 132 + "=-")


def located(warehouse: str, levels: Levels, name: str, unique: str) -> str:
    return physical.location_in(physical.default_folder(warehouse, levels), name, unique)


def test_the_default_location_says_what_lies_there() -> None:
    """Warehouse, levels, name, and what keeps it apart from earlier ones of that name."""
    location = located("s3://bucket/wh/", ("a.b", "c"), "my table", "07f3")

    assert location == "s3://bucket/wh/a=2Eb/c/my=20table-07f3"


@given(st.lists(st.text(min_size=1), min_size=1, max_size=40).map(tuple), st.text(min_size=1))
def test_default_locations_are_valid_and_fit_into_every_store(levels: Levels, name: str) -> None:
    """Whatever the names are, the location passes its own check and leaves room for files."""
    location = located("/warehouse", levels, name, "0123456789abcdef")

    assert locations.normalize(location) == f"file://{location}"
    assert len(location) < 600


def test_deep_namespaces_with_equal_beginnings_have_locations_of_their_own() -> None:
    """Levels that are too long together end in a digest."""
    levels = ("x" * 100,) * 5
    one = located("/w", levels, "t", "1")
    other = located("/w", (*levels, "y"), "t", "1")

    assert re.fullmatch("/w/(x{100}/){3}x*=-[0-9a-f]{16}/t-1", one)
    assert one != other


@given(name=st.text(max_size=40))
def test_a_segment_is_read_back(name: str) -> None:
    """Whatever the name is, if it is not shortened."""
    segment = physical.path_segment(name)
    shortened = physical.is_shortened(segment)

    assert physical.segment_name(segment) == (None if shortened or not name else name)


@pytest.mark.parametrize("segment", ["a b", "=ff", "=FF", "=", "é", "=C3", "x=2Dy", "n" * 151])
def test_a_segment_that_no_name_is_written_as_names_nothing(segment: str) -> None:
    """Clients choose other places than Headgate does."""
    assert physical.segment_name(segment) is None


def test_only_folders_of_namespaces_are_called_so() -> None:
    """Shortened names, and the folders that namespaces get instead of a taken one."""
    long = physical.path_segment("n" * 151)
    own = physical.own_folder("/w/", 255)

    assert own == "/w/=nff"
    assert all(map(physical.is_kept_segment, (long, "=nff")))
    tables = ("t", f"{long}-0123456789abcdef0123456789abcdef", "=2Dx")
    assert not any(map(physical.is_kept_segment, tables))
