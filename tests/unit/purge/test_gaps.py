"""Tables that miss files: what it costs to know that these are still gone."""

import shutil
from pathlib import Path

import pytest

from headgate.purge import gaps
from headgate.purge.surveying import survey
from headgate.purge.surveyor import Surveyed
from tests.unit.purge.dropped import DroppedTable
from tests.unit.purge.surveys import Counted, look


def test_a_storage_is_asked_once_for_all_that_a_folder_misses(tmp_path: Path) -> None:
    """Whether it is there at all: a table may miss very many files."""
    table, files = DroppedTable(tmp_path).with_everything(), Counted(tmp_path)
    lists = sorted(table.metadata.glob("snap-*.avro"))
    for path in lists:
        path.unlink()

    assert set(look(table, files=files).unread) == set(map(str, lists))
    assert len(lists) > 1
    assert files.checks == 1


def test_tables_that_still_miss_the_same_are_not_read_again(tmp_path: Path) -> None:
    """They refer to what they did, unless they are doubted, or something is in its place."""
    table, files = DroppedTable(tmp_path).with_everything(), Counted(tmp_path)
    path, aside = table.metadata / "manifest-0.avro", tmp_path / "aside"
    path.rename(aside)
    first = look(table, table.metadata, files=files)
    files.names.clear()

    assert look(table, table.metadata, files=files) == first
    assert files.names == []
    survey(Surveyed(str(table.root), (str(table.metadata),), is_doubted=True), files)
    assert files.names
    files.names.clear()
    path.symlink_to(tmp_path)
    assert look(table, table.metadata, files=files).unread == first.unread
    assert files.names
    path.unlink()
    aside.rename(path)
    assert look(table, table.metadata, files=files).unread == ()


def test_a_storage_that_went_since_is_no_answer_either(tmp_path: Path) -> None:
    """All is gone then, not just what was."""
    table, files = DroppedTable(tmp_path / "disk").with_everything(), Counted(tmp_path / "disk")
    (table.metadata / "manifest-0.avro").unlink()
    assert look(table, files=files).unread
    shutil.move(tmp_path / "disk", tmp_path / "away")

    assert look(table, files=files).is_away


@pytest.mark.parametrize("limit", ["REFERENCE_GAPS_MAX", "REFERENCE_GAPS_TABLES_MAX"])
def test_only_so_much_is_known_of_what_tables_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    """Of others all is read again."""
    monkeypatch.setattr(gaps, limit, 1)
    names, files = ["a", "b"], Counted(tmp_path)
    tables = [DroppedTable(tmp_path, name=name).with_everything() for name in names]
    for table in tables:
        for path in list(table.metadata.glob("manifest-*.avro"))[:2]:
            path.unlink()
    first = [look(table, files=files) for table in tables]
    files.names.clear()

    assert [look(table, files=files) for table in tables] == first
    assert len(gaps._known) == (limit == "REFERENCE_GAPS_TABLES_MAX")
    assert files.names
