"""The figures of a run as a table for people: what is to be reached, and whether it was."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Goal(NamedTuple):
    """A figure of the table and its bound; without one it is only reported."""

    key: str
    unit: str
    meaning: str
    reach: str = "report"
    met: Callable[[float], bool] | None = None


def at_most(bound: float) -> Callable[[float], bool]:
    return lambda figure: figure <= bound


def at_least(bound: float) -> Callable[[float], bool]:
    return lambda figure: figure >= bound


NONE = ("0", at_most(0))
GOALS = (
    Goal("contended_commits_per_second", "/s", "64 callers, one pointer, SQLite", "report (3,700)"),
    Goal("contended_failed", "", "of them failed", *NONE),
    Goal("group_commit_speedup", "x", "against one swap per caller", ">= 8", at_least(8)),
    Goal("two_process_commits_per_second", "/s", "2 processes x 32 callers", "report (2,000)"),
    Goal("two_process_failed", "", "of them failed", *NONE),
    Goal("two_process_worst_wait_seconds", "s", "longest commit", "<= 1", at_most(1)),
    Goal("postgresql_contended_commits_per_second", "/s", "64 callers", "report (5,300)"),
    Goal("postgresql_contended_failed", "", "of them failed", *NONE),
    Goal("postgresql_group_commit_speedup", "x", "against one swap per caller"),
    Goal("postgresql_two_process_commits_per_second", "/s", "2 processes x 32 callers"),
    Goal("postgresql_two_process_failed", "", "of them failed", *NONE),
    Goal("postgresql_two_process_worst_wait_seconds", "s", "longest commit"),
    Goal("distinct_commits_per_second", "/s", "64 callers, a pointer each, SQLite"),
    Goal("distinct_failed", "", "of them failed", *NONE),
    Goal("postgresql_distinct_commits_per_second", "/s", "64 callers, a pointer each"),
    Goal("postgresql_distinct_failed", "", "of them failed", *NONE),
    Goal("commit_ms_1e3", "ms", "one caller, 10^3 entries, SQLite"),
    Goal("commit_ms_1e6", "ms", "one caller, 10^6 entries, SQLite"),
    Goal("commit_ratio", "x", "10^6 against 10^3, median of turns", "<= 1.5", at_most(1.5)),
    Goal("bytes_written_per_commit_1e6", "B", "one entry, mean", "<= 16,000", at_most(16_000)),
    Goal("bytes_written_worst_1e6", "B", "one entry, worst", "<= 32,000", at_most(32_000)),
    Goal("lookup_us_1e3", "us", "warm look-up, 10^3 entries"),
    Goal("lookup_us_1e6", "us", "warm look-up, 10^6 entries", "<= 10", at_most(10)),
    Goal("lookup_best_us_1e6", "us", "the same, best round"),
    Goal("fresh_lookup_us_1e6", "us", "pointers read, head opened, key looked up"),
    Goal("children_ms_1e3", "ms", "20 children among 10^3 entries"),
    Goal("children_ms_1e6", "ms", "20 children among 10^6 entries"),
    Goal("children_ratio", "x", "10^6 against 10^3", "<= 3", at_most(3)),
    Goal("pointer_batch_read_us", "us", "7 pointers, SQLite backend"),
    Goal("raw_batch_read_us", "us", "7 pointers, the driver alone"),
    Goal("pointer_read_ratio", "x", "backend against driver", "<= 1.5", at_most(1.5)),
    Goal("memory_bytes_per_entry_1e6", "B", "a decoded entry in memory"),
    Goal("disk_sync_ms", "ms", "fsync of 4 kB on this disk"),
)


def table(figures: dict[str, Any], goals: Sequence[Goal] = GOALS) -> str:
    """All goals and what they came to."""
    rows = [("figure", "", "", "to reach", "", "meaning")]
    for goal in goals:
        figure = figures[goal.key]
        verdict = "" if goal.met is None else "met" if goal.met(figure) else "MISSED"
        rows.append((goal.key, number(figure), goal.unit, goal.reach, verdict, goal.meaning))
    return in_columns(rows)


def in_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text one below the other; the second column is of numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for key, figure_text, *rest in rows:
        cells = [key.ljust(widths[0]), figure_text.rjust(widths[1])]
        cells += [cell.ljust(width) for cell, width in zip(rest, widths[2:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def number(figure: float) -> str:
    """Three digits that count, or all of a large number."""
    if isinstance(figure, int) or abs(figure) >= 100:
        return f"{figure:,.0f}"
    return f"{figure:.3g}"


def rounded(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures without digits that mean nothing."""
    return {key: _rounded(figure) for key, figure in figures.items()}


def _rounded(figure: Any) -> Any:  # noqa: ANN401  whatever a figure is
    if isinstance(figure, dict):
        return rounded(figure)
    if isinstance(figure, list):
        return [_rounded(one) for one in figure]
    return float(f"{figure:.4g}") if isinstance(figure, float) else figure
