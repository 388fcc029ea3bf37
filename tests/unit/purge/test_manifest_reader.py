"""Manifests that another process reads, while this one deletes what they name."""

import os
import pickle
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from headgate.errors import HeadgateError, Unavailable
from headgate.planning.files import open_files
from headgate.planning.reachable import Listed, Walk
from headgate.purge import manifest_reader
from headgate.purge.manifest_reader import Reader, content
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles
from tests.unit.purge.dropped import DroppedTable

FILES, MANIFESTS = 40, 8


@pytest.fixture(name="table")
def _table(tmp_path: Path) -> DroppedTable:
    return DroppedTable(tmp_path).with_many(FILES, MANIFESTS)


@pytest.fixture(name="factory")
def _factory(tmp_path: Path) -> bytes:
    return pickle.dumps(WorkerFiles(StorageOptions(), (str(tmp_path),)))


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_reader, "_cores", lambda: 2)


def walk_of(table: DroppedTable, factory: bytes) -> Walk:
    return Walk(table.root.read_bytes(), open_files(factory))


def children() -> list[psutil.Process]:
    return [one for one in psutil.Process().children() if "manifest_worker" in one.cmdline()[-1]]


@pytest.mark.parametrize("least", [1, FILES // 2, FILES, FILES + 1])
def test_the_same_files_are_found_whoever_reads(
    table: DroppedTable, factory: bytes, least: int
) -> None:
    """However many of them are read here."""
    wanted = sorted(path for found in walk_of(table, factory).data() for path in found.paths)

    walk = walk_of(table, factory)
    found = list(content(factory, walk, least))

    assert sorted(path for one in found for path in one.paths) == wanted
    assert len(wanted) == FILES
    assert all(len(one.paths) == len(one.sizes) for one in found)
    assert walk.listed == FILES
    assert walk.unread == []
    assert children() == []


def test_few_files_need_no_process(
    table: DroppedTable, factory: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take longer to start than to read them; and so it would on a single core."""
    monkeypatch.setattr(manifest_reader, "Reader", None)  # whoever starts one fails

    assert sum(len(one.paths) for one in content(factory, walk_of(table, factory))) == FILES
    monkeypatch.setattr(manifest_reader, "_cores", lambda: 1)
    assert sum(len(one.paths) for one in content(factory, walk_of(table, factory), 1)) == FILES


def test_data_files_that_belong_to_others_are_not_found(tmp_path: Path, factory: bytes) -> None:
    """`gc.enabled=false` says so."""
    table = DroppedTable(tmp_path, properties={"gc.enabled": "false"}).with_many(FILES)

    assert list(content(factory, walk_of(table, factory), 1)) == []


def test_what_cannot_be_read_is_told(table: DroppedTable, factory: bytes) -> None:
    """A manifest that is missing and one that is damaged, of those that the other process reads."""
    paths = [one.path for one in walk_of(table, factory).every_manifest()]
    Path(paths[-1]).unlink()
    Path(paths[-2]).write_bytes(b"Obj\x01 and then nothing")

    walk = walk_of(table, factory)
    found = list(content(factory, walk, 1))

    assert sum(len(one.paths) for one in found) == FILES - 2 * FILES // MANIFESTS
    unread = {one.path: bool(one.why) for one in walk.unread}
    assert unread == {paths[-1]: False, paths[-2]: True}


def test_a_reader_that_dies_is_an_error_and_no_shorter_table(
    table: DroppedTable, factory: bytes
) -> None:
    """The attempt fails, and is repeated."""
    manifests = list(walk_of(table, factory).every_manifest())
    with Reader(factory) as reader:
        assert next(reader.read(manifests[:1])).paths
        [process] = children()
        process.kill()
        process.wait()
        with pytest.raises(Unavailable, match="has ended"):
            list(reader.read(manifests))


def test_an_error_of_the_other_process_is_raised_here(factory: bytes) -> None:
    """What no reader understands is not taken for an empty manifest."""
    with Reader(b"no factory") as reader, pytest.raises(HeadgateError, match="failed"):
        list(reader.read([Listed("/nowhere")]))


def test_who_stops_early_leaves_no_process_behind(table: DroppedTable, factory: bytes) -> None:
    """As a purge does that lost its lease."""
    with closing(content(factory, walk_of(table, factory), 1)) as found:
        next(found)
        assert len(children()) == 1

    assert children() == []


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody can tell which."""
    monkeypatch.undo()
    assert 1 <= manifest_reader._cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert manifest_reader._cores() == (os.cpu_count() or 1)
