"""Files of a dropped table that are not in its own places: what a child does about them."""

from pathlib import Path

import pytest

from headgate.model.locations import index_key
from headgate.purge.ledger import LeftFiles
from headgate.purge.steps import DATA, LEAVES, ROOTS
from tests.planning.tables import data_file
from tests.unit.purge.dropped import DroppedTable, files_below, purge, run


def test_in_a_whole_catalog_what_lies_outside_is_left_to_the_parent(tmp_path: Path) -> None:
    """Below a root, but nobody took the place for the table: it is told, and not deleted."""
    table = DroppedTable(tmp_path).with_everything()
    there = files_below(tmp_path)

    leaves = run(table.task(LEAVES, own=(str(table.metadata),), whole_catalog=True))
    roots = run(table.task(ROOTS, own=(str(table.data),), whole_catalog=True))

    assert leaves.failed == roots.failed == []
    assert files_below(tmp_path) == there
    told = {Path(path).relative_to(tmp_path).as_posix() for path in leaves.outside + roots.outside}
    assert told == there
    assert roots.outside[-1] == str(table.root)
    assert leaves.gone == roots.gone == 0


@pytest.mark.parametrize("whole_catalog", [False, True])
def test_nothing_is_touched_outside_of_the_roots_or_where_others_are(
    tmp_path: Path, *, whole_catalog: bool
) -> None:
    """Metadata can be made to name any file: neither deleted nor failed, but counted and listed."""
    table = DroppedTable(tmp_path / "w")
    other = DroppedTable(tmp_path / "w", name="other").with_everything()
    elsewhere = DroppedTable(tmp_path / "elsewhere").with_everything()
    names = [str(other.data / "a.parquet"), str(elsewhere.data / "a.parquet")]
    names += [f"{table.data}/../../other/data/a.parquet", f"{table.data}/%2e%2e/a", "s3://b/a"]
    names += ["", "a", f"{table.data}/\x01", f"{table.data}/{'x' * 5000}"]
    manifest = table.table.manifest([table.row("a.parquet"), *map(data_file, names)])
    table.table.snapshot(1, [manifest])
    table.root.write_bytes(table.table.metadata())
    theirs = files_below(other.folder), files_below(elsewhere.folder)

    outcome = purge(table, foreign=(index_key(str(other.folder)),), whole_catalog=whole_catalog)

    assert (files_below(other.folder), files_below(elsewhere.folder)) == theirs
    assert not table.folder.exists()
    assert outcome.failed == []
    assert outcome.outside == []
    assert outcome.sums[DATA].left_outside == LeftFiles(len(names), tuple(names))


def test_what_lies_outside_of_its_own_places_stays(tmp_path: Path) -> None:
    """Of every kind, also where nobody else has it: it is counted, listed, and does not fail.
    What is not the table's is not read, so what only that leads to is not known."""
    table = DroppedTable(tmp_path).with_everything()
    there = files_below(tmp_path)
    known = {path for path in there if "manifest-" not in path}

    leaves = run(table.task(LEAVES, own=(str(table.metadata),)))
    roots = run(table.task(ROOTS, own=(str(table.data),)))

    assert leaves.failed == roots.failed == []
    assert leaves.outside == roots.outside == []
    assert files_below(tmp_path) == there
    assert leaves.gone == roots.gone == 0
    left = [one.left_outside for one in (leaves.sums | roots.sums).values()]
    listed = {Path(path).relative_to(tmp_path).as_posix() for one in left for path in one.paths}
    assert listed == known
    assert sum(one.count for one in left) == len(known)


def test_what_belongs_to_others_in_the_middle_of_a_table_stays(tmp_path: Path) -> None:
    """That it is still there when all is verified is as it should be."""
    table = DroppedTable(tmp_path).with_everything()

    outcome = purge(table, foreign=(index_key(str(table.data / "p=1")),))

    assert outcome.failed == []
    assert files_below(tmp_path) == {"ns/t/data/p=1/b.parquet"}
