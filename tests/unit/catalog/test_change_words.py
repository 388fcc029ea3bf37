"""The words in which changes are asked for."""

import re
from pathlib import Path

import pytest

from headgate.catalog.change_words import KINDS, check_kind
from headgate.errors import BadRequest

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src/headgate"
PAGE = ROOT / "docs/how-to/follow-changes.md"
NOTED = re.compile(r"""\bnote\(\s*"[a-z-]+",\s*"([a-z-]+)",""")


def test_every_kind_that_is_noted_can_be_asked_for() -> None:
    """Whoever notes another one is reminded here to name it."""
    noted = {kind for file in SOURCES.rglob("*.py") for kind in NOTED.findall(file.read_text())}

    assert noted >= {"role", "catalog", "function", "signing-key"}
    assert noted <= set(KINDS)


def test_the_page_names_every_kind() -> None:
    """In the row of the parameter."""
    [row] = [line for line in PAGE.read_text().splitlines() if line.startswith("| `kind` |")]

    assert re.findall(r"`([a-z-]+)`", row) == ["kind", *KINDS]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Tabel", "the nearest known one is 'table'"),
        ("zzz", "there is no kind 'zzz'. Use one of table, view"),
        ("z" * 500, f"there is no kind '{'z' * 80}'"),
    ],
)
def test_an_unknown_kind_is_refused_with_the_one_that_may_be_meant(kind: str, said: str) -> None:
    """If there is one that is like it, and always with all that there are."""
    with pytest.raises(BadRequest) as refused:
        check_kind(kind)

    assert said in str(refused.value)
