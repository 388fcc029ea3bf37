"""What a table refers to outside of its own places, found on a disk."""

import json
import os
import pickle
import shutil
from copy import deepcopy
from pathlib import Path

import msgspec
import pytest

from headgate.model.locations import index_key
from headgate.purge import surveying, worker
from headgate.purge.surveying import Survey, shared_by, survey
from headgate.purge.surveyor import Outside, Referrer, Surveyed
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles
from tests.planning.tables import data_file
from tests.unit.purge.dropped import DroppedTable
from tests.unit.purge.surveys import Counted, look, referring, surveyed


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_table_that_keeps_to_itself_refers_to_nothing(tmp_path: Path, version: int) -> None:
    """Whatever kinds of files it has."""
    table = DroppedTable(tmp_path, version).with_everything()  # type: ignore[arg-type]

    found = look(table)

    assert found.is_nothing
    assert not found.touches((index_key(str(table.folder)),))
    assert found.unread == ()


def test_files_of_every_kind_are_found(tmp_path: Path) -> None:
    """Data in its folders, and what leads to it: manifests, lists, statistics, metadata."""
    table = DroppedTable(tmp_path).with_everything()

    data = look(table, table.metadata)
    metadata = look(table, table.data)

    assert set(data.folders) == {index_key(str(table.data)), index_key(str(table.data / "p=1"))}
    assert metadata.folders == (index_key(str(table.metadata)),)
    assert data.touches((index_key(str(table.folder)),))
    assert data.touches((index_key(str(table.data / "p=1" / "b.parquet")),))
    assert not data.touches((index_key(str(table.metadata)),))
    assert data.lies_in({index_key(str(table.data))})
    assert not data.lies_in({index_key(str(table.folder))})


def test_files_are_found_wherever_they_lie(tmp_path: Path) -> None:
    """Another catalog may have them; what is no location at all does not count."""
    elsewhere = tmp_path / "elsewhere"
    table = referring(tmp_path / "w", str(elsewhere / "a.parquet"), "s3a://b/d/a", "", "?")

    assert set(look(table).folders) == {index_key(str(elsewhere)), index_key("s3://b/d")}


def test_a_manifest_is_read_once(tmp_path: Path) -> None:
    """A new snapshot costs the manifest that came with it; the answer is the same."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    table = referring(tmp_path, str(other.data / "a.parquet"))
    files = Counted(tmp_path)

    first = look(table, files=files)
    read = len(files.manifests)
    second = look(table, files=files)
    added = table.table.manifest([table.row("more.parquet")], number=3, snapshot=3)
    table.table.snapshot(3, [added, *table.table.snapshots[2].manifests], parent=2)
    table.root.write_bytes(table.table.metadata())
    third = look(table, files=files)

    assert (read, len(files.manifests)) == (2, 3)
    assert first == second == third
    assert first.folders == (index_key(str(other.data)),)


def test_a_manifest_that_is_written_in_many_ways_is_read_once(tmp_path: Path) -> None:
    """By surveys and by walks; so is a list. Otherwise a small table would take very long."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    asked = [str(other.data / "a.parquet")]
    table = DroppedTable(tmp_path, name="b")
    manifest = table.table.manifest([data_file(path) for path in asked])
    path = manifest.manifest_path
    spelled = [path, f"file:{path}", f"file://{path}", path.replace("/ns/", "//ns///")]
    written = []
    for one in spelled:
        copied = deepcopy(manifest)
        copied[0] = one  # its path, which has no setter
        written.append(copied)
    table.table.snapshot(1, written)
    table.table.snapshot(2, written, parent=1)
    metadata = json.loads(table.table.metadata())
    lists = [snapshot["manifest-list"] for snapshot in metadata["snapshots"]]
    again = [{**metadata["snapshots"][0], "manifest-list": f"file:{one}"} for one in lists]
    metadata["snapshots"] += again
    table.root.write_text(json.dumps(metadata))
    files = Counted(tmp_path)

    found = look(table, files=files)
    surveyed_names, files.names = files.names, []
    told = shared_by([Referrer(surveyed(table), found.digest)], files, asked)

    once = sorted([table.root.name, "snap-1.avro", "snap-2.avro", Path(path).name])
    assert sorted(surveyed_names) == once
    assert sorted(files.names) == once
    assert told.paths == asked


def test_another_reference_is_another_digest(tmp_path: Path) -> None:
    """Also if it is to a file in the same folder."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    table = referring(tmp_path, str(other.data / "a.parquet"))
    before = look(table)
    added = table.table.manifest([data_file(str(other.data / "c.parquet"))], number=3, snapshot=3)
    table.table.snapshot(3, [added, *table.table.snapshots[2].manifests], parent=2)
    table.root.write_bytes(table.table.metadata())

    after = look(table)

    assert before.folders == after.folders
    assert before.digest != after.digest


def test_a_table_that_keeps_its_garbage_refers_to_it(tmp_path: Path) -> None:
    """It may not delete data, and reads it all the same."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    table = referring(tmp_path, str(other.data / "a.parquet"), properties={"gc.enabled": "false"})

    assert look(table).folders == (index_key(str(other.data)),)


def test_only_files_in_a_place_touch_it() -> None:
    """Not those beside it, nor in a folder far above it; but a file may be a place itself."""
    names = ("/w/b", "/w/b0/data", "/w/c/data", "/w/c0", "/x/y/z")
    outside = Outside(tuple(sorted(map(index_key, names))))
    places = ("/w/a", "/w/b", "/w/b/file", "/w/b0", "/w/c", "/w/c0/d/e", "/w/c1", "/x", "/y", "/")

    touched = [place for place in places if outside.touches((index_key(place),))]

    assert touched == ["/w/b", "/w/b/file", "/w/b0", "/w/c", "/x", "/"]
    assert outside.touches(tuple(map(index_key, places)))
    assert not Outside().touches((index_key("/w"),))


def test_a_table_of_a_thousand_partitions_of_another_touches_no_third(tmp_path: Path) -> None:
    """As `snapshot` and `add_files` of Spark make one. What is remembered of it is small."""
    source, third = tmp_path / "source", tmp_path / "third"
    paths = [f"{source}/data/p={number}/a.parquet" for number in range(1_000)]
    table = referring(tmp_path, *paths, f"{third}2/a.parquet")

    found = look(table)
    again = look(table)

    assert found == again
    assert found.folders == (index_key(f"{third}2"),)
    assert found.trees == (index_key(f"{source}/data"),)
    assert sorted(len(one.flat | one.trees) for one in surveying._known.values()) == [0, 2]
    assert found.touches((index_key(str(source)),))
    assert found.touches((index_key(f"{source}/data/p=7"),))
    assert found.lies_in({index_key(f"{source}/data/p=7")})
    assert not found.touches((index_key(str(third)), index_key(f"{source}2/data/p=7")))
    assert not found.lies_in({index_key(str(third)), index_key(str(source))})


def test_what_is_known_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while a table is read that has more manifests, and what it refers to is found."""
    monkeypatch.setattr(surveying, "REFERENCE_MANIFESTS_KNOWN_MAX", 1)
    table = DroppedTable(tmp_path).with_everything()
    files = Counted(tmp_path)
    one = Survey(surveyed(table, table.metadata), files)

    found = one.run()
    again = look(table, table.metadata, files=files)

    assert len(surveying._known) == len(one._manifests) == 1
    assert len(files.manifests) == 3 + 2
    assert found == again
    assert len(found.folders) == 2


@pytest.mark.parametrize("rubbish", [b"rubbish", b"", None])
@pytest.mark.parametrize("name", ["manifest-0.avro", "snap-2.avro", "00002.metadata.json"])
def test_what_is_gone_or_damaged_leads_to_nothing(
    tmp_path: Path, name: str, rubbish: bytes | None
) -> None:
    """Nobody can read what it leads to; it is told, and looked for the next time."""
    table = DroppedTable(tmp_path).with_everything()
    path = table.metadata / name
    content = path.read_bytes()
    if rubbish is None:
        path.unlink()
    else:
        path.write_bytes(rubbish)

    found = look(table, table.metadata)
    path.write_bytes(content)
    restored = look(table, table.metadata)

    assert found.unread == (str(path),)
    assert restored.unread == ()
    assert len(restored.folders) == 2
    assert found.digest != restored.digest


def test_a_manifest_that_went_away_is_noticed_where_it_is_followed(tmp_path: Path) -> None:
    """A survey trusts what it knows unless it is doubted; who needs the files reads once more."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    table = referring(tmp_path, str(other.data / "a.parquet"))
    files, asked = Counted(tmp_path), [str(other.data / "a.parquet")]
    first = look(table)
    own, took = sorted(table.metadata.glob("manifest-*.avro"))
    own.unlink()
    assert shared_by([Referrer(surveyed(table), first.digest)], files, asked).paths == asked
    took.unlink()
    doubted = Surveyed(str(table.root), (str(table.folder),), is_doubted=True)

    known = look(table)
    surveying._referred.clear()  # another child is asked
    stale = shared_by([Referrer(surveyed(table), first.digest)], files, asked)
    anew = survey(doubted, files)

    assert known == first
    assert stale.is_stale
    assert anew.is_nothing
    assert set(anew.unread) == {str(own), str(took)}


def test_files_are_told_that_a_table_refers_to(tmp_path: Path) -> None:
    """However they are written; others are not."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    table = referring(tmp_path, f"file:{other.data}/a.parquet", f"file://{other.data}/gone.parquet")
    found = look(table)
    referrers = [Referrer(surveyed(table), found.digest)]
    asked = [f"file://{other.data}/a.parquet", f"{other.data}/c.parquet", str(table.root)]

    told = shared_by(referrers, Counted(tmp_path), asked)

    assert (told.paths, told.is_stale) == (asked[:1], False)


@pytest.mark.parametrize(("most", "walks"), [(2, 1), (1, 3)])
def test_a_table_is_walked_over_once_for_many_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, walks: int
) -> None:
    """As long as its files are not too many to be remembered; the answers are the same."""
    monkeypatch.setattr(surveying, "WALK_SEEN_PATHS_MAX", most)
    other = DroppedTable(tmp_path, name="a").with_everything()
    asked = [str(other.data / name) for name in ("a.parquet", "b.parquet", "c.parquet")]
    table, files = referring(tmp_path, *asked[:2]), Counted(tmp_path)
    referrers = [Referrer(surveyed(table), look(table).digest)]
    surveying._known.clear()

    told = [shared_by(referrers, files, [path]).paths for path in asked]

    assert told == [[asked[0]], [asked[1]], []]
    assert files.names.count(table.root.name) == walks


def test_a_table_that_changed_is_stale(tmp_path: Path) -> None:
    """Its manifests went away with what led to them: nobody knows what it refers to now."""
    other = DroppedTable(tmp_path, name="a").with_everything()
    table = referring(tmp_path, str(other.data / "a.parquet"))
    referrers = [Referrer(surveyed(table), look(table).digest)]
    shutil.rmtree(table.metadata)

    told = shared_by(referrers, Counted(tmp_path), [str(other.data / "a.parquet")])

    assert told.is_stale


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="elsewhere the whole process steps back")
def test_reading_other_tables_leaves_the_cores_to_those_who_want_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first purge may read a whole catalog while a server answers beside it."""
    policies: list[int] = []

    def note(*_: object) -> Outside:
        policies.append(os.sched_getscheduler(0))
        return Outside()

    monkeypatch.setattr(worker, "look", note)
    monkeypatch.setattr(worker, "shared_by", note)
    files = pickle.dumps(WorkerFiles(StorageOptions(), (str(tmp_path),)))
    asked = [surveyed(DroppedTable(tmp_path))]
    tables, nothing = map(msgspec.msgpack.encode, (asked, []))

    assert list(worker.survey(files, tables, msgspec.msgpack.encode(1.0)))
    assert list(worker.shared(files, nothing, nothing))

    assert policies == [os.SCHED_IDLE, os.SCHED_IDLE]
