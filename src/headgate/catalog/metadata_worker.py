"""A worker process that works on large metadata: bytes and small facts in, the same out.

It remembers what it parsed and made last: the next commit to the same table sends no metadata.
"""

import ctypes
from collections import OrderedDict
from collections.abc import Iterator

import msgspec

from headgate.catalog.entities import Kind
from headgate.catalog.large_metadata import Task
from headgate.catalog.versions import (
    Metadata,
    NewTable,
    changed_table,
    encode,
    first_table,
    known_facts,
    new_facts,
    verified,
)
from headgate.errors import BadRequest, TableNotFound
from headgate.limits import METADATA_REMEMBERED_BYTES_MAX, WORKER_HELD_BYTES_MAX
from headgate.model import table_metadata, view_metadata, view_requirements, view_updates
from headgate.model.json_values import Object, decode
from headgate.model.table_actions import decode_updates
from headgate.model.table_metadata import TableMetadata
from headgate.model.table_outlines import table_outline, view_outline
from headgate.model.table_requirements import decode_requirements, is_create
from headgate.model.view_creation import new_view
from headgate.model.view_metadata import ViewMetadata
from headgate.workers.serving import Job, live

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's mallopt


class Memory:
    """Parsed metadata by the key of its version."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._known: OrderedDict[str, tuple[Metadata, int]] = OrderedDict()

    def find(self, key: str) -> Metadata | None:
        """The metadata of this version, if it is remembered."""
        return self._known[key][0] if key in self._known else None

    def keep(self, key: str, metadata: Metadata, size: int) -> None:
        """Remember metadata of this many bytes, and forget the oldest if that is too much."""
        self._known[key] = metadata, size
        self._known.move_to_end(key)
        while len(self._known) > 1 and sum(size for _, size in self._known.values()) > (
            self._bytes_max
        ):
            self._known.popitem(last=False)


_memory = Memory(METADATA_REMEMBERED_BYTES_MAX)
_task = msgspec.msgpack.Decoder(Task)
_pack = msgspec.msgpack.Encoder().encode


def register(description: bytes, raw: bytes) -> Iterator[bytes]:
    """The facts of metadata that somebody else wrote."""
    task = _task.decode(description)
    metadata = verified(task.kind, raw)
    _memory.keep(task.terms.version_uuid, metadata, len(raw))
    yield _pack(known_facts(metadata, task.file, task.terms.before))


def create(description: bytes, request: bytes) -> Iterator[bytes]:
    """The facts and the bytes of a new table or view."""
    task = _task.decode(description)
    yield from _made(task, _new(task, request), None)


def commit(description: bytes, requirements: bytes, updates: bytes, *raw: bytes) -> Iterator[bytes]:
    """The facts and the bytes of a changed table or view.

    One empty answer if nothing changes, and none at all if the metadata must be sent along.
    """
    task = _task.decode(description)
    old = _present(task, *raw) if task.key else None
    if task.key and old is None:
        return
    new = _changed(task, old, requirements, updates)
    if new is old:
        yield b""
    else:
        yield from _made(task, new, old)


def refs(description: bytes, *raw: bytes) -> Iterator[bytes]:
    """Metadata with those snapshots only that are named; no answer as in a commit."""
    table = _present(_task.decode(description), *raw)
    if isinstance(table, TableMetadata):
        yield table_metadata.encode_refs(table)


def outline(description: bytes, *raw: bytes) -> Iterator[bytes]:
    """What a table or view is now, without its history; no answer as in a commit."""
    metadata = _present(_task.decode(description), *raw)
    if isinstance(metadata, TableMetadata):
        yield _pack(table_outline(metadata))
    elif metadata is not None:
        yield _pack(view_outline(metadata))


def _present(task: Task, *raw: bytes) -> Metadata | None:
    """The metadata of the version that a task is about, None if it must be sent along."""
    found = _memory.find(task.key)
    if found is None and raw:
        [data] = raw
        parse = table_metadata.parse if task.kind is Kind.TABLE else view_metadata.parse
        found = parse(data)
        _memory.keep(task.key, found, len(data))
    return found


def _new(task: Task, request: bytes) -> Metadata:
    terms = task.terms
    if task.kind is Kind.VIEW:
        wanted = decode(request, Object, "the request", BadRequest)
        return new_view(wanted, location=task.location, uuid=terms.uuid, now_ms=terms.now_ms)
    return first_table(decode(request, NewTable, "the request", BadRequest), task.location, terms)


def _changed(task: Task, old: Metadata | None, requirements: bytes, updates: bytes) -> Metadata:
    if isinstance(old, ViewMetadata):
        required = decode(requirements, list[Object], "requirements", BadRequest)
        view_requirements.check(old, required)
        wanted = decode(updates, list[Object], "updates", BadRequest)
        return view_updates.apply(old, wanted, now_ms=task.terms.now_ms)
    asserted = decode_requirements(requirements)
    if old is None and not is_create(asserted):
        raise TableNotFound("There is no table to change")
    return changed_table(old, asserted, decode_updates(updates), task.terms)


def _made(task: Task, metadata: Metadata, old: Metadata | None) -> Iterator[bytes]:
    raw = encode(metadata)
    _memory.keep(task.terms.version_uuid, metadata, len(raw))
    yield _pack(new_facts(metadata, task.terms, old))
    yield raw


JOBS: dict[bytes, Job] = {
    b"register": register,
    b"create": create,
    b"commit": commit,
    b"refs": refs,
    b"outline": outline,
}


def hold_memory() -> None:
    """Keep freed memory for the next metadata: to get new pages takes longer than all else here.

    Only glibc gives it back at once; other systems have no such call. It goes with the process.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    if tune is not None:
        tune(M_TRIM_THRESHOLD, WORKER_HELD_BYTES_MAX)
        tune(M_MMAP_THRESHOLD, WORKER_HELD_BYTES_MAX)


if __name__ == "__main__":
    hold_memory()
    live(JOBS)
