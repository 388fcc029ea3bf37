"""How commands speak."""

from headgate.cli.output import iso, printable, table, to_json


def test_a_table_is_aligned() -> None:
    """Each column is as wide as its widest cell, and no line ends in blanks."""
    text = table(("NAME", "STATE"), [("a", "ACTIVE"), ("longer", "-")])

    assert text.splitlines() == ["NAME    STATE", "a       ACTIVE", "longer  -"]


def test_instants_are_utc_to_the_millisecond() -> None:
    """Times are ISO 8601 and end in Z."""
    assert iso(1_740_787_200_007) == "2025-03-01T00:00:00.007Z"


def test_json_is_one_line() -> None:
    """Line breaks in text are escaped, so a line is a whole value."""
    assert to_json({"a": "x\ny", "b": [1, None]}) == '{"a":"x\\ny","b":[1,null]}'


def test_what_could_drive_a_terminal_is_escaped() -> None:
    """A name may hold anything; the terminal sees letters only."""
    assert printable("é \x1b[31m\0") == "é \\x1b[31m\\x00"
