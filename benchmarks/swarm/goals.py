"""What is to be reached while tables are dropped."""

from collections.abc import Sequence

from benchmarks.report import NONE, Goal

ANSWERS = {
    "concurrent_drops": ("drop", "create again", "load", "commit"),
    "mixed_traffic": ("drop", "load", "commit", "create", "drop a new table"),
}
"""Of each scenario, the requests that are reported."""
ONCE = {"drop", "create again"}
"""All of these come in one moment."""


def key(*words: str) -> str:
    """The name of a figure."""
    return "_".join(words).replace(" ", "_")


def goals() -> Sequence[Goal]:
    """In the order of the report."""
    found: list[Goal] = []
    for scenario, names in ANSWERS.items():
        found += [
            Goal(key(scenario, "files"), "", "files of the tables that are dropped"),
            Goal(key(scenario, "failed"), "", "wrong answers", *NONE),
            Goal(key(scenario, "files_left"), "", "files that are not deleted in the end", *NONE),
            Goal(key(scenario, "purged_seconds"), "s", "from the first drop to the last file"),
        ]
        for name in names:
            bound = ("< 500", lambda ms: ms < 500) if name == "drop" else ()
            if name not in ONCE:
                found.append(Goal(key(scenario, name, "rps"), "/s", f"{name}: answers"))
            found += [
                Goal(key(scenario, name, "p50_ms"), "ms", f"{name}: half of them"),
                Goal(key(scenario, name, "p99_ms"), "ms", f"{name}: all but one of 100", *bound),
            ]
    return found
