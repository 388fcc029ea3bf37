"""SQL in files: found by name, migrated in order."""

import sys
from pathlib import Path

import pytest

from headgate.errors import NewerFormat
from headgate.sql import Migration, load_migrations, load_statements, pending

STATEMENTS = """-- All that is asked.

-- name: first
select 1;

-- name: second
-- It says why it is so.
select '--'
  -- a comment inside stays: it is not at the beginning of its line
from t;
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "sql_of_a_test"
    (folder / "migrations").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "statements.sql").write_text(STATEMENTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, folder.name, raising=False)
    return folder.name


def write(tmp_path: Path, name: str, script: str = "") -> None:
    (tmp_path / "sql_of_a_test" / "migrations" / name).write_text(script)


def test_statements_have_names(package: str) -> None:
    """Each goes by the name above it, without comments and without its semicolon."""
    statements = load_statements(package)

    assert list(statements) == ["first", "second"]
    assert statements["first"] == "select 1"
    assert statements["second"].startswith("select '--'\n")
    assert statements["second"].endswith("from t")


def test_migrations_come_in_order(package: str, tmp_path: Path) -> None:
    """Their numbers decide; other files are ignored."""
    write(tmp_path, "0002_more.sql", "b")
    write(tmp_path, "0001_create.sql", "a")
    write(tmp_path, "README.md")

    assert load_migrations(package) == [Migration(1, "create", "a"), Migration(2, "more", "b")]


def test_a_gap_between_migrations_is_a_mistake(package: str, tmp_path: Path) -> None:
    """A forgotten step must not be passed over."""
    write(tmp_path, "0001_create.sql")
    write(tmp_path, "0003_later.sql")

    with pytest.raises(AssertionError):
        load_migrations(package)


STEPS = [Migration(1, "a", ""), Migration(2, "b", ""), Migration(3, "c", "")]


@pytest.mark.parametrize("applied", [0, 1, 3])
def test_what_was_applied_is_not_run_again(applied: int) -> None:
    """The steps after the applied ones are pending."""
    assert [step.number for step in pending(STEPS, applied, "the store")] == [
        number for number in (1, 2, 3) if number > applied
    ]


def test_a_schema_from_the_future_is_refused() -> None:
    """A newer program has migrated further than this one knows."""
    with pytest.raises(NewerFormat, match=r"the store .* step 4, this program knows 3"):
        pending(STEPS, 4, "the store")


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_the_shipped_files_can_be_loaded(backend: str) -> None:
    """Each database has statements, and a first migration that creates its tables."""
    package = f"headgate.backends.{backend}"

    assert all(load_statements(package).values())
    assert "create table" in load_migrations(package)[0].script.lower()
