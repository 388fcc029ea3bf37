"""How purgers of third parties are called: where they run, what they are told, what they break."""

import asyncio
import gzip
import logging
import threading
from pathlib import Path

import msgspec
import pytest

from headgate.backends.memory import MemoryBackend
from headgate.catalog.events import EventBus
from headgate.catalog.purging import LiveJob, PurgeJob
from headgate.errors import Forbidden, Unavailable
from headgate.model.names import Identifier
from headgate.purge.purgers import PurgerContext, ThirdParty
from headgate.storage.gateway import StorageGateway
from headgate.storage.options import StorageOptions
from headgate.testing.manual_clock import ManualClock
from tests.unit.purge.partners import (
    Coroutines,
    Failing,
    FailingOnTheLoop,
    Plain,
    Promising,
    Stuck,
    Waiting,
)

T = Identifier(("shop",), "orders")
STORAGE = StorageGateway(StorageOptions(), ManualClock())


def context() -> PurgerContext:
    return PurgerContext(
        backend=MemoryBackend(),
        events=EventBus("host:1"),
        loop=asyncio.get_running_loop(),
    )


def live(folder: Path) -> LiveJob:
    """A job for a table in this folder that has a metadata file."""
    (folder / "m.json.gz").write_bytes(gzip.compress(b'{"format-version": 2}'))
    location = f"file://{folder}/m.json.gz"
    job = PurgeJob(T, location, created_ms=5, created_by="ann", request="r-1")
    return LiveJob("1", "default", 2, "main", 7, job, (f"file://{folder}",))


async def test_a_plain_purger_is_told_of_a_table_in_a_thread(tmp_path: Path) -> None:
    """It may wait there for files and databases, and can ask for the metadata."""
    purger = Plain()
    used = ThirdParty(purger, context(), STORAGE)
    await used.initialize({"file": "/a"})
    job = live(tmp_path)
    await used.purge(job)

    assert (used.name, purger.properties) == ("plain", {"file": "/a"})
    assert threading.get_ident() not in purger.threads
    assert purger.read == [b'{"format-version": 2}']
    [told] = purger.requests
    assert (told.metalake, told.catalog, told.identifier) == ("default", "main", T)
    assert (told.metadata_location, told.roots) == (job.job.metadata_location, job.roots)
    assert (told.principal, told.request, told.at_ms, told.job) == ("ann", "r-1", 5, 7)


async def test_a_coroutine_runs_on_the_loop(tmp_path: Path) -> None:
    """All methods may be coroutines, and wait for files themselves."""
    purger = Coroutines()
    used = ThirdParty(purger, context(), STORAGE)
    await used.initialize({})
    await used.purge(live(tmp_path))
    await used.close()

    assert set(purger.threads) == {threading.get_ident()}
    assert gzip.decompress(purger.read[0]) == b'{"format-version": 2}'
    assert purger.is_closed


async def test_what_a_plain_method_promises_is_waited_for(tmp_path: Path) -> None:
    """A method may answer with a coroutine without being one."""
    purger = Promising()
    await ThirdParty(purger, context(), STORAGE).purge(live(tmp_path))

    assert len(purger.requests) == 1


async def test_the_server_and_its_database_are_in_the_context(tmp_path: Path) -> None:
    """With the bus, on which a purger may tell of more."""
    purger, given = Plain(), context()
    await ThirdParty(purger, given, STORAGE).initialize({})

    assert purger.context.server == "host:1"
    assert purger.context.backend is given.backend
    assert purger.context.events is given.events


async def test_a_request_has_no_secrets(tmp_path: Path) -> None:
    """It says of the store what every client is told."""
    purger, given = Promising(), context()
    job = live(tmp_path)
    await ThirdParty(purger, given, STORAGE).purge(job)

    [told] = purger.requests
    assert told.storage == STORAGE.client_config(job.job.metadata_location)


async def test_only_files_of_the_catalog_can_be_reached(tmp_path: Path) -> None:
    """A purger that gets its files from the context cannot delete those of others."""
    purger, given = Promising(), context()
    (tmp_path / "catalog").mkdir()
    await ThirdParty(purger, given, STORAGE).purge(live(tmp_path / "catalog"))
    other = tmp_path / "other"
    other.write_bytes(b"")

    with pytest.raises(Forbidden):
        await given.files(purger.requests[0]).read(f"file://{other}")
    assert other.exists()


async def test_files_are_written_and_deleted_in_the_table_s_own_locations_only(
    tmp_path: Path,
) -> None:
    """Those of the catalog can be read; a purger that deletes them is told that it cannot."""
    purger, given = Promising(), context()
    own, other = tmp_path / "t", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        (folder / "a.parquet").write_bytes(b"data")
    job = live(tmp_path)
    job = job._replace(job=msgspec.structs.replace(job.job, reserved=(own.as_posix(),)))
    await ThirdParty(purger, given, STORAGE).purge(job)
    [request] = purger.requests
    files, theirs = given.files(request), f"{other}/a.parquet"
    odd = [theirs, f"{own}/../other/a.parquet", f"{own}2/a", "s3://b/a", ""]

    assert request.locations == (own.as_posix(),)
    assert await files.read(theirs) == b"data"
    failed = await files.delete([f"{own}/a.parquet", *odd])
    assert [path for path, _ in failed] == odd
    for refused in (f"{other}/new", f"{own}/../other/new"):
        with pytest.raises(Forbidden):
            await files.write(refused, b"x")
    for work in (files.prepare, files.remove_folders):
        with pytest.raises(Forbidden):
            await work(other.as_posix())
    await files.write(f"{own}/b", b"x")
    await files.delete([f"{own}/b"])
    await files.remove_folders(own.as_posix())
    assert not own.exists()
    assert [one.name for one in other.iterdir()] == ["a.parquet"]
    assert not hasattr(given, "storage")


@pytest.mark.parametrize("purger", [Failing(), FailingOnTheLoop()], ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (RuntimeError("no\nway"), "RuntimeError: no way"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError(), "CancelledError"),
        (StopIteration(), "RuntimeError: coroutine raised StopIteration"),
    ],
    ids=lambda one: type(one).__name__,
)
async def test_whatever_a_purger_raises_is_a_failure_of_the_job(
    tmp_path: Path, purger: Failing, error: BaseException, why: str
) -> None:
    """It ends neither the server nor whoever called; it is tried again later."""
    purger.error = error
    with pytest.raises(Unavailable) as caught:
        await ThirdParty(purger, context(), STORAGE).purge(live(tmp_path))

    assert (caught.value.what, caught.value.why) == (f"purger {purger.name!r} failed", why)


async def test_where_a_purger_failed_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever wrote it needs the traceback."""
    with pytest.raises(Unavailable):
        await ThirdParty(Failing(), context(), STORAGE).purge(live(tmp_path))

    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "partners.py" in (record.exc_text or "")


async def test_whoever_called_can_stop_waiting(tmp_path: Path) -> None:
    """The thread goes on, since nothing can stop it, and disturbs nobody."""
    purger = Stuck()
    waiting = asyncio.create_task(ThirdParty(purger, context(), STORAGE).purge(live(tmp_path)))
    await asyncio.to_thread(purger.began.wait)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    [thread] = [one for one in threading.enumerate() if one.name == "purger"]
    assert thread.daemon
    purger.go_on.set()
    await asyncio.to_thread(thread.join)
    assert len(purger.requests) == 1


async def test_a_purger_that_cannot_be_closed_is_left(caplog: pytest.LogCaptureFixture) -> None:
    """The log says why, and the server stops."""
    purger = Failing()
    await ThirdParty(purger, context(), STORAGE).close()

    assert purger.is_closed
    assert [record.getMessage() for record in caplog.records] == [
        "purger 'failing' could not be closed"
    ]


async def test_a_coroutine_that_waits_like_a_thread_is_told(tmp_path: Path) -> None:
    """It would wait for itself for ever, and the server with it."""
    used = ThirdParty(Waiting(), context(), STORAGE)
    await used.initialize({})
    with pytest.raises(Unavailable, match="`wait` is for plain methods: a coroutine awaits"):
        await used.purge(live(tmp_path))
