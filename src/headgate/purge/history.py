"""The history of purge jobs: what ended lately in any metalake."""

from collections.abc import AsyncIterator

from headgate.catalog.purging import PURGED, TASKS, LiveJob, job_key
from headgate.catalog.territories import HAVE_CATALOGS
from headgate.catalog.walks import unhurried
from headgate.errors import MetalakeNotFound, NotFound
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import DROPPED, Realm
from headgate.kernel.records import PointerKey
from headgate.purge.finishing import FinishedJob, decode_finished
from headgate.purge.jobs import JobRow

Ended = tuple[LiveJob, JobRow]


async def finished_jobs(kernel: Kernel, before: int, metalake: str = "") -> AsyncIterator[Ended]:
    """The jobs that ended and whose ids are below this one, metalake by metalake, oldest first."""
    for realm in await _realms(kernel):
        if metalake in {"", name_of(realm)}:
            try:
                entries = (await _head(kernel, realm)).index(PURGED).scan(b"", job_key(before))
                async for key, value in unhurried(entries):
                    yield _ended(realm, key, decode_finished(value))
            except NotFound:
                continue  # it is purged at this moment


async def finished_job(kernel: Kernel, id: int) -> Ended | None:
    """The job of this id, if it ended lately."""
    key = job_key(id)
    for realm in await _realms(kernel):
        try:
            value = await (await _head(kernel, realm)).index(PURGED).get(key)
        except NotFound:
            continue  # it is purged at this moment
        if value is not None:
            return _ended(realm, key, decode_finished(value))
    return None


async def check_metalake(kernel: Kernel, name: str) -> None:
    """Refuse a metalake that is not there, and was not a while ago."""
    if name not in map(name_of, await _realms(kernel)):
        raise MetalakeNotFound(
            f"Metalake does not exist: {name}", fix="`headgate realm list` shows those that do"
        )


def name_of(realm: Realm) -> str:
    """What a metalake is called, or was called when it was dropped."""
    return realm.properties.get(DROPPED, realm.name)


async def _realms(kernel: Kernel) -> list[Realm]:
    return [realm for realm in await kernel.realms.list() if realm.state in HAVE_CATALOGS]


async def _head(kernel: Kernel, realm: Realm) -> HeadView:
    [value] = await kernel.pointers.read([PointerKey(realm.id, TASKS)])
    return await open_head(kernel.store, realm.id, value)


def _ended(realm: Realm, key: bytes, one: FinishedJob) -> Ended:
    id = int.from_bytes(key, "big")
    live = LiveJob(realm.id, name_of(realm), one.catalog, one.catalog_name, id, one.job, ())
    return live, one.row
