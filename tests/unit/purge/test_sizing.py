"""Whether a table is large, as its metadata tells."""

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.errors import BadMetadata, FileMissing
from headgate.planning.files import LocalFiles
from headgate.purge import sizing
from headgate.purge.sizing import Sizes, has_files, sizes, told_files
from tests.unit.purge.dropped import DroppedTable


def metadata(*summaries: dict[str, str] | None) -> bytes:
    """Of a table with a snapshot for each summary."""
    snapshots: list[dict[str, Any]] = [
        {"snapshot-id": number, **({} if summary is None else {"summary": summary})}
        for number, summary in enumerate(summaries)
    ]
    return json.dumps({"snapshots": snapshots}).encode()


def test_snapshots_tell_how_many_files_there_are() -> None:
    """Those of the largest, and those that later ones removed."""
    first = {"operation": "append", "total-data-files": "10", "total-delete-files": "2"}
    later = {
        "operation": "overwrite",
        "total-data-files": "7",
        "total-delete-files": "0",
        "deleted-data-files": "4",
        "removed-delete-files": "2",
    }

    assert told_files(metadata(first)) == 12
    assert told_files(metadata(first, later)) == 18
    assert told_files(b"{}") == 0


@pytest.mark.parametrize(
    "summary", [None, {"operation": "append"}, {"total-data-files": "many"}, {}]
)
def test_snapshots_may_not_tell_it(summary: dict[str, str] | None) -> None:
    """Summaries are optional, and so is what is in them."""
    assert told_files(metadata({"total-data-files": "1"}, summary)) is None


def test_metadata_that_is_none_is_refused() -> None:
    """It is damaged, whatever a child does next."""
    with pytest.raises(BadMetadata):
        told_files(b"{")


def test_lists_of_manifests_are_read_if_snapshots_do_not_tell(tmp_path: Path) -> None:
    """No more of them than are needed to know."""
    table = DroppedTable(tmp_path).with_many(6, manifests=3)
    files = LocalFiles()

    assert has_files(str(table.root), 6, files)
    assert not has_files(str(table.root), 7, files)


def test_files_are_counted_by_kind(tmp_path: Path) -> None:
    """As lists of manifests say; none of them is opened."""
    table = DroppedTable(tmp_path).with_everything()

    assert sizes(str(table.root), LocalFiles()) == Sizes(6, 3, 2, 5)


def test_a_file_that_many_manifests_name_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If snapshots say how many there are."""
    table = DroppedTable(tmp_path).with_everything()
    monkeypatch.setattr(sizing, "told_files", lambda _: 4)

    assert sizes(str(table.root), LocalFiles()).data == 4


def test_data_that_stays_is_not_counted(tmp_path: Path) -> None:
    """A table that does not collect garbage keeps its data."""
    table = DroppedTable(tmp_path, properties={"gc.enabled": "false"}).with_everything()

    assert sizes(str(table.root), LocalFiles()).data == 0


def test_a_table_without_metadata_has_no_size(tmp_path: Path) -> None:
    """Whoever asks decides what that means."""
    with pytest.raises(FileMissing):
        has_files(str(tmp_path / "none.json"), 1, LocalFiles())
