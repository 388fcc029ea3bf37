"""What a server itself deletes of a disk, and what it says of a disk that is not there."""

from pathlib import Path

import pytest

from headgate.errors import StorageUnavailable
from headgate.storage.files import StorageFiles
from headgate.storage.options import StorageOptions


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    folder = tmp_path / "warehouse"
    folder.mkdir()
    return folder


@pytest.fixture
def files(warehouse: Path) -> StorageFiles:
    return StorageFiles(StorageOptions(), (str(warehouse),))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_deleting_takes_the_checksum_along(files: StorageFiles, warehouse: Path) -> None:
    """Hadoop writes a twin beside each file; absent files are as good as deleted."""
    for name in ("v1.json", ".v1.json.crc", "v2.json"):
        (warehouse / name).write_bytes(b"x")

    kept = await files.delete([f"{warehouse}/v1.json", f"file://{warehouse}/never/was"])

    assert kept == []
    assert names(warehouse) == ["v2.json"]


async def test_what_cannot_be_deleted_is_reported(files: StorageFiles, warehouse: Path) -> None:
    """One bad location does not keep the others from being deleted."""
    (warehouse / "folder").mkdir()
    (warehouse / "v1.json").write_bytes(b"x")
    bad = [f"{warehouse}/folder", "/elsewhere/x", f"{warehouse}/../x", "s3://bucket/x"]

    kept = await files.delete([*bad, f"{warehouse}/v1.json"])

    assert {location for location, _ in kept} == set(bad)
    assert all(why for _, why in kept)
    assert names(warehouse) == ["folder"]


async def test_nothing_is_deleted_where_a_link_leads_to(
    files: StorageFiles, warehouse: Path
) -> None:
    """It may be the folder of another table, in the same warehouse."""
    (warehouse / "other").mkdir()
    (warehouse / "other" / "file").write_bytes(b"x")
    (warehouse / "link").symlink_to(warehouse / "other")
    location = f"{warehouse}/link/file"

    kept = await files.delete([location])

    assert kept == [(location, "a symbolic link leads from its folder to another one")]
    assert names(warehouse / "other") == ["file"]


async def test_a_root_without_anything_may_be_a_disk_that_is_not_there(
    files: StorageFiles, warehouse: Path
) -> None:
    """What is missing there is not gone; beside something else it is, if only a folder."""
    location = f"{warehouse}/t/v1.json"

    with pytest.raises(StorageUnavailable, match="warehouse is empty"):
        await files.check_store(location, may_be_empty=False)
    await files.check_store(location)
    (warehouse / "t").mkdir()
    await files.check_store(location, may_be_empty=False)
    (warehouse / "t").rmdir()
    warehouse.rmdir()
    with pytest.raises(StorageUnavailable, match="there is no folder"):
        await files.check_store(location)
