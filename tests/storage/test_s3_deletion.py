"""Objects on a real S3 server, as a child process deletes them."""

import pytest

from headgate.errors import FileMissing, StorageUnavailable
from headgate.storage.deletions import may_go_on
from headgate.storage.files import StorageFiles
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles
from headgate.testing.object_stores import S3Server


def worker_files(server: S3Server, *roots: str) -> WorkerFiles:
    options = StorageOptions(s3=server.options(), allowed_endpoints=(server.url,))
    return WorkerFiles(options, roots)


async def test_objects_are_deleted_by_folder(
    files: StorageFiles, s3_server: S3Server, bucket: str
) -> None:
    """Odd names too; those that are not there are fine, and a sibling stays."""
    top = f"s3://{bucket}/t"
    folders = {top: ["a", "never-was"], f"{top}/p=ä +%20": ["b c", "d%2F"]}
    kept = f"s3://{bucket}/t2/a"
    for location in (f"{top}/a", *(f"{top}/p=ä +%20/{name}" for name in ("b c", "d%2F")), kept):
        await files.write(location, b"x")
    opened = worker_files(s3_server, top)()
    assert len(list(opened.list(top))) == 3

    done = opened.deletion().delete(folders, may_go_on)

    assert (done.deleted, done.missing, done.failed) == (4, [], [])
    assert list(opened.list(top)) == []
    assert opened.missing(f"{top}/a")
    assert not await files.missing(kept)


def test_what_is_missing_with_its_bucket_is_only_out_of_sight(
    s3_server: S3Server, bucket: str
) -> None:
    """A file may be gone; a bucket that is gone is told, or a purge would end with nothing done."""
    gone = "s3://no-such-bucket/t"
    opened = worker_files(s3_server, gone, f"s3://{bucket}/t")()

    with pytest.raises(FileMissing):
        opened.read(f"s3://{bucket}/t/x")
    opened.check_store(f"s3://{bucket}/t/x")
    for ask in (opened.check_store, lambda location: list(opened.list(location))):
        with pytest.raises(StorageUnavailable, match="404 Not Found"):
            ask(gone)
