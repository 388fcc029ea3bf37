"""What came of a long run."""

import msgspec
import pytest

from headgate.cli.summaries import ENTRIES_MAX, show


class Sizes(msgspec.Struct):
    data: int = 0
    other: int = 0


class Part(msgspec.Struct):
    name: str
    files: int
    sizes: Sizes | None = None
    moved_bytes: int = 0
    why: str = ""


class Summary(msgspec.Struct):
    is_dry_run: bool = True
    files_deleted: int = 1_234_567
    size_bytes: int = 2_500_000
    taken_seconds: float = 61.2
    rate: float = 12.34
    ended_ms: int = 1_740_787_200_007
    nothing: str = ""
    worst: list[Part] = []
    by_kind: dict[str, int] = {}
    odd: str = "\x1b[31m"


class Nothing(msgspec.Struct):
    parts: list[Part] = []


class Parts(msgspec.Struct):
    parts: list[Part]
    seconds: float = 0.42


def test_people_read_facts(capsys: pytest.CaptureFixture[str]) -> None:
    """One line each, with units; what is empty is left out, and nothing drives the terminal."""
    show(Summary(by_kind={"data": 1_000, "position deletes": 7}), json=False)

    assert capsys.readouterr().out.splitlines() == [
        "dry run        yes",
        "files deleted  1,234,567",
        "size           2.5 MB",
        "taken          1:01",
        "rate           12.3",
        "ended          2025-03-01T00:00:00.007Z",
        "by kind        data              1,000",
        "               position deletes  7",
        "odd            \\x1b[31m",
    ]


def test_records_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Also those within others; columns in which nothing is are left out."""
    parts = [Part("a", 1, Sizes(12)), Part("bcd\x1b", 2_000, None, 0, "it is in use")]
    show(Parts(parts), json=False)

    assert capsys.readouterr().out.splitlines() == [
        "parts  NAME     FILES  DATA  WHY",
        "       a        1      12",
        "       bcd\\x1b  2,000        it is in use",
        "took   0.4 s",
    ]


def test_nothing_is_said_to_be_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty line would be a riddle."""
    show(Nothing(), json=False)

    assert capsys.readouterr().out == "There was nothing to do.\n"


def test_long_lists_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """And it is said how to see the rest."""
    show(Summary(worst=[Part("a", 1)] * (ENTRIES_MAX + 5)), json=False)

    lines = capsys.readouterr().out.splitlines()
    assert sum(line.split()[-2:] == ["a", "1"] for line in lines) == ENTRIES_MAX
    assert any("and 5 more; --json shows all" in line for line in lines)


def test_scripts_read_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    """With all that there is."""
    show(Sizes(1), json=True)

    assert capsys.readouterr().out == '{"data":1,"other":0}\n'
