"""Amounts in words."""

import pytest

from headgate.amounts import INT64_MAX, duration, size, whole_number


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (2_345_678, "2.3 MB"),
        (7_000_000_000, "7.0 GB"),
        (10**18, "1000.0 PB"),
    ],
)
def test_sizes_are_short(count: int, text: str) -> None:
    """As drives count them."""
    assert size(count) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [(-5, "0:00"), (61_999, "1:01"), (3_600_000, "1:00:00"), (90_061_000, "25:01:01")],
)
def test_durations_are_short(ms: int, text: str) -> None:
    """Hours only if there are some."""
    assert duration(ms) == text


@pytest.mark.parametrize(
    ("digits", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("9223372036854775807", INT64_MAX),
        ("9223372036854775808", None),
        ("0" * 5_000 + "7", 7),
        ("9" * 5_000, None),
        ("", None),
        ("-1", None),
        ("1_0", None),
        ("\u00b2", None),
    ],
)
def test_a_number_of_any_length_is_read_or_is_none(digits: str, number: int | None) -> None:
    """Python's own conversion raises for more than 4,300 digits."""
    assert whole_number(digits, INT64_MAX) == number
