"""Deleting many files of a disk at once."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.errors import LeaseLost
from headgate.storage import local_deletion
from headgate.storage.deletions import Deleted, may_go_on
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import OpenedFiles, WorkerFiles


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    folder = tmp_path / "warehouse"
    folder.mkdir()
    return folder


@pytest.fixture
def files(warehouse: Path) -> OpenedFiles:
    return WorkerFiles(StorageOptions(), (str(warehouse),))()


def made(folder: Path, *names: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"x")
    return str(folder)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_files_are_deleted_by_folder(files: OpenedFiles, warehouse: Path, scheme: str) -> None:
    """What was not there is told, by the location that was asked for; others stay."""
    one = scheme + made(warehouse / "a", "1", "2", "3")
    other = scheme + made(warehouse / "b%20", "1")

    done = files.deletion().delete({one: ["1", "3", "4"], other: ["1"]}, may_go_on)

    assert done == Deleted(3, [f"{one}/4"], [])
    assert names(warehouse / "a") == {"2"}
    assert names(warehouse / "b%20") == set()


def test_a_name_that_is_too_long_for_a_checksum_is_deleted(
    files: OpenedFiles, warehouse: Path
) -> None:
    """Others in its folder have checksums; it cannot have one."""
    longest = "x" * 255
    folder = made(warehouse / "a", longest, "1", ".1.crc")

    done = files.deletion().delete({folder: [longest, "1"]}, may_go_on)

    assert done == Deleted(2, [], [])
    assert names(warehouse / "a") == set()


def test_no_link_leads_to_files_of_another_table(files: OpenedFiles, warehouse: Path) -> None:
    """Its folder is inside of the warehouse too, but it is not the one that was named."""
    made(warehouse / "other" / "data", "1")
    made(warehouse / "table")
    (warehouse / "table" / "link").symlink_to(warehouse / "other")
    why = "a symbolic link leads from its folder to another one"

    done = files.deletion().delete({f"{warehouse}/table/link/data": ["1"]}, may_go_on)

    assert done == Deleted(0, [], [(f"{warehouse}/table/link/data/1", why)])
    assert names(warehouse / "other" / "data") == {"1"}


def test_the_warehouse_itself_may_be_a_link(tmp_path: Path, warehouse: Path) -> None:
    """An operator may put it where a link leads to: what lies below is reached directly."""
    made(warehouse / "a", "1")
    (tmp_path / "link").symlink_to(warehouse)
    linked = WorkerFiles(StorageOptions(), (f"{tmp_path}/link",))()

    done = linked.deletion().delete({f"{tmp_path}/link/a": ["1"]}, may_go_on)

    assert done == Deleted(1, [], [])


def test_what_lies_in_no_folder_is_missing(files: OpenedFiles, warehouse: Path) -> None:
    """The folder is gone, or is a file, or nobody can name such a file."""
    made(warehouse, "file")
    there = made(warehouse / "a")

    done = files.deletion().delete(
        {f"{warehouse}/none": ["1"], f"{warehouse}/file": ["1"], there: ["x" * 300]}, may_go_on
    )

    assert (done.deleted, len(done.missing), done.failed) == (0, 3, [])


def test_checksums_are_looked_for_where_there_are_any(
    files: OpenedFiles, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder is looked at once, however many batches there are; a twin goes with its file."""
    looks: list[int] = []
    real = local_deletion._has_checksums

    def counting(opened: int) -> bool:
        looks.append(opened)
        return real(opened)

    monkeypatch.setattr(local_deletion, "_has_checksums", counting)
    with_twins = made(warehouse / "a", "1", ".1.crc", "2", "3", ".4.crc", ".5.crc")
    without = made(warehouse / "b", "1", "2")
    deletion = files.deletion()

    for name in ("1", "2", "4"):
        deletion.delete({with_twins: [name], without: [name]}, may_go_on)

    assert names(warehouse / "a") == {"3", ".5.crc"}
    assert len(looks) == 2


def test_a_folder_that_cannot_be_listed_may_have_checksums(
    files: OpenedFiles, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names can be deleted in it all the same."""
    folder = made(warehouse / "a", "1", ".1.crc")

    def refuse(_: int) -> Iterator[os.DirEntry[str]]:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(os, "scandir", refuse)
    assert files.deletion().delete({folder: ["1"]}, may_go_on).deleted == 1

    monkeypatch.undo()
    assert names(warehouse / "a") == set()


def test_what_cannot_be_deleted_is_told_with_the_reason(
    files: OpenedFiles, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder in the place of a file or of its checksum, a disk that refuses, a way out."""
    folder = made(warehouse / "a", "1", "2", "denied", ".x.crc")
    (warehouse / "a" / "folder").mkdir()
    (warehouse / "a" / ".2.crc").mkdir()
    outside = made(tmp_path / "outside", "secret")
    (warehouse / "link").symlink_to(outside)
    real = os.unlink

    def unlink(name: str, *, dir_fd: int) -> None:
        if name == "denied":
            raise PermissionError(errno.EACCES, "Permission denied")
        real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", unlink)
    done = files.deletion().delete(
        {
            folder: ["1", "2", "denied", "folder"],
            f"{warehouse}/link": ["secret"],
            outside: ["secret"],
        },
        may_go_on,
    )

    assert (done.deleted, done.missing) == (1, [])
    reasons = dict(done.failed)
    assert reasons.pop(f"{folder}/2") == reasons.pop(f"{folder}/folder") == "it is a folder"
    assert reasons.pop(f"{folder}/denied") == "Permission denied"
    assert set(reasons) == {f"{warehouse}/link/secret", f"{outside}/secret"}
    assert all("not lie in an allowed folder" in why for why in reasons.values())
    assert names(tmp_path / "outside") == {"secret"}


def test_a_link_instead_of_a_file_is_deleted_alone(files: OpenedFiles, warehouse: Path) -> None:
    """What it leads to stays."""
    folder = made(warehouse / "a", "kept")
    (warehouse / "a" / "link").symlink_to(warehouse / "a" / "kept")

    assert files.deletion().delete({folder: ["link"]}, may_go_on).deleted == 1

    assert names(warehouse / "a") == {"kept"}


def test_an_end_is_no_failure_of_a_file(files: OpenedFiles, warehouse: Path) -> None:
    """Who checks is heard, in the middle of a folder too."""
    folder = made(warehouse / "a", *map(str, range(300)))
    checks: list[int] = []

    def check() -> None:
        checks.append(1)
        if len(checks) == 3:
            raise LeaseLost("over")

    with pytest.raises(LeaseLost):
        files.deletion().delete({folder: [str(number) for number in range(300)]}, check)

    assert len(names(warehouse / "a")) == 100


def test_files_of_a_worker_are_listed_read_and_missed(files: OpenedFiles, warehouse: Path) -> None:
    """As the child that deletes asks for them, from any thread."""
    folder = made(warehouse / "a", *map(str, range(1_500)))

    assert sorted(files.list(folder)) == sorted(f"{folder}/{number}" for number in range(1_500))
    assert files.read(f"{folder}/1") == b"x"
    assert [files.missing(f"{folder}/{name}") for name in ("1", "none")] == [False, True]
