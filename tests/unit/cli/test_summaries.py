"""What came of a long run."""

import msgspec
import pytest

from headgate.cli.summaries import ENTRIES_MAX, show


class Part(msgspec.Struct):
    name: str
    files: int


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


def test_people_read_facts(capsys: pytest.CaptureFixture[str]) -> None:
    """One line each, with units; what is empty is left out, and nothing drives the terminal."""
    show(Summary(worst=[Part("a", 1), Part("b", 2)], by_kind={"data": 1_000}), json=False)

    assert capsys.readouterr().out.splitlines() == [
        "is dry run     yes",
        "files deleted  1,234,567",
        "size bytes     2.5 MB",
        "taken seconds  1:01",
        "rate           12.3",
        "ended ms       2025-03-01T00:00:00.007Z",
        "worst          name: a, files: 1",
        "               name: b, files: 2",
        "by kind        data: 1,000",
        "odd            \\x1b[31m",
    ]


def test_long_lists_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """And it is said how to see the rest."""
    show(Summary(worst=[Part("a", 1)] * (ENTRIES_MAX + 5)), json=False)

    lines = capsys.readouterr().out.splitlines()
    assert sum("name: a" in line for line in lines) == ENTRIES_MAX
    assert any("and 5 more; --json shows all" in line for line in lines)


def test_scripts_read_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    """With all that there is."""
    show(Part("a", 1), json=True)

    assert capsys.readouterr().out == '{"name":"a","files":1}\n'
