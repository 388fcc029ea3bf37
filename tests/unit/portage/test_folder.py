"""Exports in a folder: what is whole, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from headgate.errors import BadSetting, Corrupt, NewerFormat, NotFound
from headgate.portage import folder as folders
from headgate.portage.manifest import NAME, Manifest, RealmFacts, described, encode_manifest
from headgate.portage.moving import check_export
from headgate.portage.parquet import encoded
from headgate.portage.rows import Row, facts_of

ROWS = [Row("root", "names", b"%d" % n, b"value") for n in range(3)]


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """An export that is whole."""
    folder = tmp_path / "export"
    folders.prepare(folder)
    data = encoded(ROWS)
    file = described(0, data, len(ROWS))
    folders.store(folder, file.name, data)
    manifest = Manifest(1, "0", 5, RealmFacts("shop", "ACTIVE"), facts_of(ROWS), (file,))
    folders.complete(folder, manifest)
    return folder


def changed(folder: Path, change: Callable[[Manifest], Manifest]) -> None:
    """Let the manifest say something else."""
    manifest = change(folders.load_manifest(folder))
    (folder / NAME).write_bytes(encode_manifest(manifest))


def test_what_was_written_is_whole(folder: Path) -> None:
    """The manifest tells all that an import needs."""
    manifest = check_export(folder)

    assert manifest.realm == RealmFacts("shop", "ACTIVE")
    assert manifest.facts.rows == 3
    assert [path.name for path in sorted(folder.iterdir())] == [NAME, manifest.files[0].name]


def test_a_checkpoint_of_the_log_is_part_of_an_export(folder: Path, tmp_path: Path) -> None:
    """Programs that do not know it read the export as before; what a killed run left is removed."""
    manifest = check_export(folder)
    folders.complete(folder, manifest, b"signed\n")

    assert folders.load_checkpoint(folder) == b"signed\n"
    assert check_export(folder) == manifest
    killed = tmp_path / "killed"
    killed.mkdir()
    (killed / folders.CHECKPOINT).write_bytes(b"half")
    folders.prepare(killed)
    assert list(killed.iterdir()) == []
    with pytest.raises(NotFound, match="cannot be compared with a log"):
        folders.load_checkpoint(killed)


def test_only_their_owner_reads_files_of_an_export(folder: Path) -> None:
    """They hold what the store holds, keys in properties of catalogs too."""
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_an_export_without_its_manifest_is_none(folder: Path) -> None:
    """It is written last: whatever was killed before is half-written."""
    (folder / NAME).unlink()

    with pytest.raises(Corrupt, match=r"half-written.*no manifest\.json"):
        check_export(folder)


def test_an_export_that_is_nowhere_is_not_called_damaged(folder: Path) -> None:
    """There is no such folder, or it is a file."""
    with pytest.raises(NotFound, match=r"there is no export at .*elsewhere: there is no such"):
        check_export(folder / "elsewhere")
    with pytest.raises(NotFound, match="it is a file"):
        check_export(folder / NAME)


def test_a_file_that_is_missing_cut_or_changed_is_noticed(folder: Path) -> None:
    """By its name, its size and its digest."""
    [file] = folder.glob("rows-*")
    whole = file.read_bytes()
    for data, why in ((whole[:-1], "bytes, written were"), (b"x" + whole[1:], "digest")):
        file.write_bytes(data)
        with pytest.raises(Corrupt, match=f"half-written.*{why}"):
            check_export(folder)
    file.unlink()
    with pytest.raises(Corrupt, match=r"half-written.*is not there"):
        check_export(folder)


def test_counts_that_do_not_fit_are_noticed(folder: Path) -> None:
    """The rows themselves are counted."""
    facts = facts_of(ROWS[:2])
    changed(folder, lambda manifest: msgspec.structs.replace(manifest, facts=facts))

    with pytest.raises(Corrupt, match="2 rows with 0 objects were written, and 3"):
        check_export(folder)


def test_a_newer_format_is_refused(folder: Path) -> None:
    """Also if all else about it is unknown."""
    (folder / NAME).write_bytes(b'{"format": 2, "anything": "else"}')

    with pytest.raises(NewerFormat, match="format 2, this program knows 1"):
        check_export(folder)


@pytest.mark.parametrize("text", [b"", b"{", b'{"format": 1}', b"[]", b'{"format": "1"}'])
def test_a_damaged_manifest_is_refused(folder: Path, text: bytes) -> None:
    """Whatever is left of it."""
    (folder / NAME).write_bytes(text)

    with pytest.raises(Corrupt, match="damaged"):
        check_export(folder)


@pytest.mark.parametrize("name", ["../secret", "..", "", "rows\0", "manifest.json"])
def test_a_manifest_names_files_of_its_folder_only(folder: Path, name: str) -> None:
    """It may come from somebody else."""

    def outside(manifest: Manifest) -> Manifest:
        file = msgspec.structs.replace(manifest.files[0], name=name)
        return msgspec.structs.replace(manifest, files=(file,))

    changed(folder, outside)

    with pytest.raises(Corrupt, match="no name of a file"):
        check_export(folder)


def test_nothing_is_written_over_an_export(folder: Path) -> None:
    """Nor into a folder that has something else in it."""
    with pytest.raises(BadSetting, match="there is an export in it"):
        folders.prepare(folder)
    (folder / NAME).rename(folder / "notes.txt")
    with pytest.raises(BadSetting, match=r"notes\.txt is in it"):
        folders.prepare(folder)


def test_a_folder_that_is_named_like_a_part_is_refused(tmp_path: Path) -> None:
    """It is nothing that an export left, and nothing else is removed either."""
    part, folder = tmp_path / "rows-00000-ab.parquet", tmp_path / "rows-00001-ab.parquet"
    part.touch()
    folder.mkdir()

    with pytest.raises(BadSetting, match=r"rows-00001-ab\.parquet is in it, which is no file"):
        folders.prepare(tmp_path)
    assert part.exists()


def test_what_cannot_be_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "rows-00000-ab.parquet").touch()
    monkeypatch.setattr(Path, "unlink", refused)

    with pytest.raises(BadSetting, match=r"ab\.parquet cannot be removed: Permission denied"):
        folders.prepare(tmp_path)


def test_what_a_killed_export_left_is_removed(folder: Path) -> None:
    """Its folder can be used again."""
    (folder / NAME).unlink()
    (folder / f"{NAME}.17.partial").write_bytes(b"{")

    folders.prepare(folder)

    assert list(folder.iterdir()) == []


def test_files_of_tries_that_failed_do_not_stay(folder: Path) -> None:
    """An executor that died may have written one."""
    manifest = folders.load_manifest(folder)
    (folder / "rows-00009-0a0a0a.parquet").write_bytes(b"")
    folders.complete(folder, manifest)

    assert {path.name for path in folder.iterdir()} == {NAME, manifest.files[0].name}


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """There is a file instead."""
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(BadSetting, match="nothing can be exported"):
        folders.prepare(tmp_path / "file")
    with pytest.raises(NotFound, match="it is a file"):
        folders.load_manifest(tmp_path / "file")
