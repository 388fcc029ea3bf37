"""Work on metadata that is too large for the event loop, done in other processes.

Bytes go there and come back in small pieces; what is decided here needs only a few facts.
"""

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from headgate.catalog.entities import Kind
from headgate.catalog.ports import MetadataWorkers
from headgate.catalog.versions import Facts, Terms, Version
from headgate.limits import REGISTRATIONS_PER_PRINCIPAL_MAX
from headgate.model.json_values import Json
from headgate.workers.pool import module
from headgate.workers.slots import Slots, shared
from headgate.workers.turns import Tenant

WORKER = module("headgate.catalog.metadata_worker")


class Task(msgspec.Struct, frozen=True):
    """What a worker process is told besides the bytes."""

    kind: Kind
    terms: Terms
    key: str = ""
    """Of the version that is there; empty if there is none."""
    file: str = ""
    """Of metadata that is registered."""
    location: str = ""
    """Of a new table or view."""


class Present(NamedTuple):
    """The version that is there: its key, and its bytes for a worker that does not know it."""

    key: str
    raw: bytes


_facts = msgspec.msgpack.Decoder(Facts)
_pack = msgspec.msgpack.Encoder().encode
_NOTHING_NEW = Terms(0, "", "")


def _described(task: Task) -> bytes:
    """A task without the bytes that it may have anyway."""
    before = task.terms.before
    if before is not None and before.metadata:
        terms = replace(task.terms, before=replace(before, metadata=b""))
        task = replace(task, terms=terms)
    return _pack(task)


class LargeMetadata:
    """The same as is done here for metadata of ordinary size."""

    def __init__(self, workers: MetadataWorkers) -> None:
        self._workers = workers
        self.registering = Slots(
            shared(REGISTRATIONS_PER_PRINCIPAL_MAX), "a metadata file to be read"
        )
        """Taken before a file of unknown size is read: what waits for a worker lies in memory."""

    async def register(
        self, kind: Kind, raw: bytes, file: str, terms: Terms, tenant: Tenant
    ) -> Version:
        """The version in a file that somebody else wrote."""
        task = Task(kind, terms, file=file)
        [facts] = await self._workers.run_all("register", _described(task), raw, tenant=tenant)
        return Version(kind, _facts.decode(facts), raw, key=terms.version_uuid)

    async def create(
        self, kind: Kind, request: bytes, location: str, terms: Terms, tenant: Tenant
    ) -> Version:
        """The first version of a table or view."""
        task = Task(kind, terms, location=location)
        described = _described(task)
        [facts, raw] = await self._workers.run_all("create", described, request, tenant=tenant)
        return Version(kind, _facts.decode(facts), raw, key=terms.version_uuid)

    async def commit(
        self,
        kind: Kind,
        present: Present | None,
        requirements: Json,
        updates: Json,
        terms: Terms,
        tenant: Tenant,
    ) -> Version | None:
        """The next version of a table or view; None if nothing changes."""
        task = Task(kind, terms, present.key if present else "")
        wanted = bytes(requirements), bytes(updates)
        answers = await self._on("commit", tenant, task, present, *wanted)
        if answers == [b""]:
            return None
        [facts, raw] = answers
        return Version(kind, _facts.decode(facts), raw, key=terms.version_uuid)

    async def refs(self, present: Present, tenant: Tenant) -> bytes:
        """A table's metadata with those snapshots only that a branch or tag names."""
        task = Task(Kind.TABLE, _NOTHING_NEW, present.key)
        [raw] = await self._on("refs", tenant, task, present)
        return raw

    async def outline(self, kind: Kind, present: Present, tenant: Tenant) -> bytes:
        """What a table or view is now, without its history."""
        task = Task(kind, _NOTHING_NEW, present.key)
        [outline] = await self._on("outline", tenant, task, present)
        return outline

    async def _on(
        self, job: str, tenant: Tenant, task: Task, present: Present | None, *arguments: bytes
    ) -> list[bytes]:
        """Ask first without the metadata: the last worker that was used may know it still."""
        described = _described(task)
        answers = await self._workers.run_all(job, described, *arguments, tenant=tenant)
        if answers or present is None:
            return answers
        whole = *arguments, present.raw
        return await self._workers.run_all(job, described, *whole, tenant=tenant)
