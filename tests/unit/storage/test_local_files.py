"""Files on the local disk, through the port."""

import asyncio
import errno
import os
from pathlib import Path
from typing import Never

import pytest

from headgate.errors import (
    AlreadyExists,
    BadRequest,
    FileMissing,
    Forbidden,
    StorageUnavailable,
    TooLarge,
)
from headgate.limits import METADATA_FILE_BYTES_MAX
from headgate.storage import local_files
from headgate.storage.files import StorageFiles
from headgate.storage.options import StorageOptions
from headgate.storage.places import Place


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    folder = tmp_path / "warehouse"
    folder.mkdir()
    return folder


@pytest.fixture
def files(warehouse: Path) -> StorageFiles:
    return StorageFiles(StorageOptions(), [str(warehouse)])


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def name_of(file: int, top: Path) -> str:
    """The name of an open file: /proc would say so, but not on every system."""
    found = (
        path for path in (top, *top.rglob("*")) if os.path.samestat(path.stat(), os.fstat(file))
    )
    return next(found).name


async def test_a_folder_is_no_file(files: StorageFiles, warehouse: Path) -> None:
    """As when somebody registers the folder of a table."""
    (warehouse / "t").mkdir()

    with pytest.raises(FileMissing, match=r"/t: it is a folder\. Name a metadata file"):
        await files.read(f"{warehouse}/t")


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
async def test_a_file_is_read_as_it_was_written(
    files: StorageFiles, warehouse: Path, scheme: str
) -> None:
    """Folders are made, and pieces are joined."""
    location = f"{scheme}{warehouse}/a b/c%20d/v1.json"

    await files.write(location, [b"one", b"two"])

    assert await files.read(location) == b"onetwo"
    assert (warehouse / "a b/c%20d/v1.json").read_bytes() == b"onetwo"
    assert names(warehouse / "a b/c%20d") == ["v1.json"]


async def test_a_file_that_is_not_there_is_named(files: StorageFiles, warehouse: Path) -> None:
    """The text is the one that Iceberg's tests look for, with the location as it was given."""
    location = f"file://{warehouse}/no/v1.json"

    with pytest.raises(FileMissing) as caught:
        await files.read(location)

    assert str(caught.value) == f"Failed to open input stream for file: {location}"
    assert await files.missing(location)
    assert files.missing_now(location)


async def test_folders_may_be_as_deep_as_a_location_is_long(warehouse: Path) -> None:
    """Locations have up to 2,048 bytes."""
    files = StorageFiles(StorageOptions(local_sync=False), [str(warehouse)])
    location = f"{warehouse}/{'y/' * 1000}v1.json"

    await files.write(location, b"x")

    assert await files.read(location) == b"x"
    (warehouse / "stays").touch()
    Path(location).unlink()
    os.removedirs(Path(location).parent)  # who cleans up after tests cannot go as deep


async def test_a_file_that_is_too_large_is_not_read(files: StorageFiles, warehouse: Path) -> None:
    """Two gigabytes would be held in memory, and this one has only its size."""
    with (warehouse / "v1.json").open("wb") as file:
        file.truncate(2 << 30)

    with pytest.raises(TooLarge) as caught:
        await files.read(f"{warehouse}/v1.json")

    assert f"it has {2 << 30} bytes, and metadata at most {METADATA_FILE_BYTES_MAX}" in str(
        caught.value
    )


@pytest.mark.parametrize("folders", ["x" * 300, "y/" * 3000])
async def test_a_name_that_the_disk_cannot_hold_is_the_client_s_mistake(
    files: StorageFiles, warehouse: Path, folders: str
) -> None:
    """It can never work, so nobody is told to try again: one part too long, or all together."""
    location = f"{warehouse}/{folders}/v1.json"

    with pytest.raises(BadRequest, match="is longer than"):
        await files.write(location, b"x")
    with pytest.raises(BadRequest, match="is longer than"):
        await files.prepare(location)
    with pytest.raises(BadRequest, match="is longer than"):
        await files.read(location)
    assert names(warehouse) == []


async def test_a_file_is_never_overwritten(files: StorageFiles, warehouse: Path) -> None:
    """A second writer hears of it; one that brings the same bytes has already succeeded."""
    location = f"{warehouse}/v1.json"
    await files.write(location, b"first")

    await files.write(location, b"first")
    with pytest.raises(AlreadyExists):
        await files.write(location, b"second")

    assert await files.read(location) == b"first"
    assert names(warehouse) == ["v1.json"]


async def test_of_many_writers_one_wins(files: StorageFiles, warehouse: Path) -> None:
    """The file is one of those that were offered, whole, and all but one hear that they lost."""
    offers = [bytes([number]) * 100_000 for number in range(8)]

    results = await asyncio.gather(
        *(files.write(f"{warehouse}/v1.json", offer) for offer in offers), return_exceptions=True
    )

    winners = [offer for offer, result in zip(offers, results, strict=True) if result is None]
    assert winners == [(warehouse / "v1.json").read_bytes()]
    assert {type(result) for result in results} == {type(None), AlreadyExists}


async def test_a_file_that_cannot_be_written_whole_is_not_there(
    files: StorageFiles, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk leaves nothing behind; what the system says is passed on, with what to do."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(local_files, "sync_data", full)
    with pytest.raises(StorageUnavailable, match=r"no space left.*Check the disk"):
        await files.write(f"{warehouse}/v1.json", b"x")

    assert names(warehouse) == []


async def test_a_file_and_its_new_folders_are_on_the_disk_when_it_is_written(
    files: StorageFiles, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data first, then the name; each new folder through the one above it."""
    synced: list[str] = []

    def watch_data(file: int) -> None:
        synced.append(f"data of {name_of(file, warehouse)}")

    def watch_folder(file: int) -> None:
        synced.append(name_of(file, warehouse))

    monkeypatch.setattr(local_files, "sync_data", watch_data)
    monkeypatch.setattr(os, "fsync", watch_folder)
    await files.write(f"{warehouse}/a/b/v1.json", b"x")

    assert synced == ["warehouse", "a", "data of v1.json", "b"]


async def test_syncing_can_be_switched_off(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For warehouses that are made for a test."""
    synced: list[int] = []
    monkeypatch.setattr(local_files, "sync_data", synced.append)
    monkeypatch.setattr(os, "fsync", synced.append)

    await StorageFiles(StorageOptions(local_sync=False), [str(warehouse)]).write(
        f"{warehouse}/a/v1.json", b"x"
    )

    assert synced == []


async def test_all_files_below_a_prefix_are_listed(files: StorageFiles, warehouse: Path) -> None:
    """By whole segments, in the form in which the prefix was written."""
    for name in ("t1/a", "t1/b/c", "t10/d"):
        await files.write(f"{warehouse}/{name}", b"x")

    found = [location async for location in files.list(f"file://{warehouse}/t1")]

    assert sorted(found) == [f"file://{warehouse}/t1/a", f"file://{warehouse}/t1/b/c"]
    assert [location async for location in files.list(f"{warehouse}/none")] == []


@pytest.mark.parametrize("verb", ["read", "write", "list"])
async def test_nothing_outside_of_the_roots_is_touched(
    files: StorageFiles, warehouse: Path, tmp_path: Path, verb: str
) -> None:
    """Not by name, not by a name that begins alike, not through `..` and not through links."""
    outside = tmp_path / "warehouse2"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (warehouse / "link").symlink_to(outside)
    for location in (f"{outside}/secret", f"{warehouse}/link/secret", "/"):
        with pytest.raises(Forbidden):
            await use(files, verb, location)
    with pytest.raises(BadRequest):
        await use(files, verb, f"{warehouse}/../warehouse2/secret")

    assert await files.delete([f"{warehouse}/link/secret"]) != []
    assert names(outside) == ["secret"]


async def use(files: StorageFiles, verb: str, location: str) -> None:
    if verb == "read":
        await files.read(location)
    elif verb == "write":
        await files.write(location + "2", b"x")
    else:
        async for _ in files.list(location):
            pass


async def test_empty_folders_are_removed_and_nothing_else(tmp_path: Path) -> None:
    """Not what holds a file or a link, not a root, and nothing that a link leads to."""
    for folder in ("w/t/a/b", "w/t/full", "w/t/linked", "w/t/root/x", "w/other/empty", "out/empty"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "w/t/full/file").touch()
    (tmp_path / "w/t/linked/link").symlink_to(tmp_path / "out")
    (tmp_path / "w/link").symlink_to(tmp_path / "w/other")
    files = StorageFiles(StorageOptions(), [f"{tmp_path}/w", f"{tmp_path}/w/t/root"])
    for gone in ("w/t", "w/link", "out", "w/absent"):
        await files.remove_folders(f"{tmp_path}/{gone}")

    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert {path for path in left if path.startswith("w/t/")} == {
        *("w/t/full", "w/t/full/file", "w/t/linked", "w/t/linked/link", "w/t/root"),
    }
    assert {"w/other/empty", "out/empty"} < left
    await files.remove_folders("s3://bucket/has/no/folders")


async def test_a_link_instead_of_a_file_is_not_followed(
    files: StorageFiles, warehouse: Path, tmp_path: Path
) -> None:
    """Reading refuses it, writing finds something there, and deleting removes the link alone."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (warehouse / "v1.json").symlink_to(secret)

    with pytest.raises(Forbidden):
        await files.read(f"{warehouse}/v1.json")
    with pytest.raises(Forbidden):
        await files.write(f"{warehouse}/v1.json", b"x")
    assert await files.delete([f"{warehouse}/v1.json"]) == []

    assert secret.read_bytes() == b"secret"


async def test_the_root_itself_may_be_reached_through_a_link(tmp_path: Path) -> None:
    """An operator may put the warehouse where a link leads to."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "warehouse").symlink_to(tmp_path / "disk")
    files = StorageFiles(StorageOptions(), [f"{tmp_path}/warehouse"])

    await files.write(f"{tmp_path}/warehouse/t/v1.json", b"x")

    assert await files.read(f"{tmp_path}/disk/t/v1.json") == b"x"


async def test_what_is_no_plain_file_is_missing(files: StorageFiles, warehouse: Path) -> None:
    """A folder or a pipe holds no metadata, and opening a pipe does not wait for a writer."""
    (warehouse / "folder").mkdir()
    os.mkfifo(warehouse / "pipe")

    for name in ("folder", "pipe"):
        with pytest.raises(FileMissing):
            await files.read(f"{warehouse}/{name}")
        assert files.missing_now(f"{warehouse}/{name}")


def test_only_local_files_are_looked_at_without_waiting(files: StorageFiles) -> None:
    """An object store would need a round trip."""
    assert files.missing_now("s3://bucket/x") is None


async def test_a_folder_that_is_removed_while_a_file_is_written_is_made_again(
    files: StorageFiles, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A purge removes empty folders, also the one that a new table is about to use."""
    real = os.open
    removed: list[str] = []

    def removing(path: str, flags: int, *rest: int, dir_fd: int | None = None) -> int:
        if dir_fd is not None and not removed:
            (warehouse / "a").rmdir()
            removed.append(path)
        return real(path, flags, *rest, dir_fd=dir_fd)

    (warehouse / "a").mkdir()
    monkeypatch.setattr(os, "open", removing)
    await files.write(f"{warehouse}/a/v1.json", b"x")

    assert removed == ["v1.json"]
    assert (warehouse / "a" / "v1.json").read_bytes() == b"x"


async def test_a_file_where_a_folder_is_needed_is_named(
    files: StorageFiles, warehouse: Path
) -> None:
    """Nothing can be written below it, and nothing is there to be deleted."""
    (warehouse / "a").write_bytes(b"x")

    for below in ("a/v1.json", "a/b/v1.json"):
        with pytest.raises(BadRequest, match="a file lies where a folder is needed"):
            await files.write(f"{warehouse}/{below}", b"y")
        assert await files.delete([f"{warehouse}/{below}"]) == []
    assert (warehouse / "a").read_bytes() == b"x"


@pytest.mark.parametrize("do", ["read", "delete"])
async def test_a_folder_that_turns_into_a_link_leads_nowhere(
    files: StorageFiles, warehouse: Path, tmp_path: Path, do: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever happens after the folder was opened, the file is looked for in that folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "v1.json").write_bytes(b"secret")
    (warehouse / "a").mkdir()
    (warehouse / "a" / "v1.json").write_bytes(b"ours")
    real = local_files.LocalFiles._check

    def swapping(self: local_files.LocalFiles, path: Path, place: Place) -> None:
        real(self, path, place)
        (warehouse / "a").rename(warehouse / "b")
        (warehouse / "a").symlink_to(outside)

    monkeypatch.setattr(local_files.LocalFiles, "_check", swapping)
    if do == "read":
        assert await files.read(f"{warehouse}/a/v1.json") == b"ours"
    else:
        assert await files.delete([f"{warehouse}/a/v1.json"]) == []
        assert not (warehouse / "b" / "v1.json").exists()
    assert (outside / "v1.json").read_bytes() == b"secret"


async def test_a_folder_that_cannot_be_listed_is_not_taken_for_empty(
    files: StorageFiles, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not seen would not be deleted, and nobody would know."""
    (warehouse / "a").mkdir()

    def refuse(path: str) -> Never:
        raise PermissionError(errno.EACCES, "denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(StorageUnavailable, match="denied"):
        [one async for one in files.list(str(warehouse))]
