"""Orphans: files that lie in a place, that nobody refers to, and that are old enough.

Runs on executors, on what is left of a listing without all that is referred to: that is little, so
only here each file is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from headgate.pipelines.zips import forget_zips
from headgate.storage.listing import Listing, Looked
from headgate.storage.places import is_location

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate.pipelines.orphans_places import Places
    from headgate.storage.worker_files import WorkerFiles

    Batches = Iterable[pa.RecordBatch]

PACKED = "orphans binary, young long, kept long"
"""Orphans as an Arrow stream, in the form of `schema`; how many files are too young, and how many
lie where all is kept."""


class Terms(NamedTuple):
    """What makes an orphan of a file that nobody refers to."""

    where: WorkerFiles
    places: Places
    before_ms: int
    """It was written before that."""


class Orphan(NamedTuple):
    """A file that nobody refers to."""

    key: str
    path: str
    size: int
    modified: int
    """Milliseconds since 1970."""
    place: str
    table: str


def schema() -> pa.Schema:
    """The form of a table of orphans."""
    import pyarrow as pa

    return pa.schema(
        [
            ("key", pa.string()),
            ("path", pa.string()),
            ("size", pa.int64()),
            ("modified", pa.timestamp("ms", "UTC")),
            ("place", pa.string()),
            ("table", pa.string()),
        ]
    )


def find(terms: Terms, batches: Batches) -> Iterator[pa.RecordBatch]:
    """From files that nobody refers to to orphans, packed."""
    forget_zips()
    finder = Finder(terms)
    for batch in batches:
        found = finder.find(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        yield pack(list(found), finder)


class Finder:
    """Looks at files one by one."""

    def __init__(self, terms: Terms) -> None:
        self._listing = Listing(terms.where)
        self._places = terms.places
        self._before_ms = terms.before_ms
        self.young = 0
        self.kept = 0

    def find(self, files: Iterator[tuple[str, int | None, int | None]]) -> Iterator[Orphan]:
        """The orphans among files: their keys, sizes and times."""
        for key, size, modified in files:
            owner = self._places.owner_of(key)
            path = "" if owner is None else self._places.location_of(key)
            if owner is None or owner.kept or not is_location(path):
                self.kept += 1
                continue
            if not size or modified is None:  # what is empty may stand for a folder
                looked = self._listing.look(path)
            else:
                looked = Looked(size, modified)
            if looked is None:
                continue  # it went meanwhile
            if looked.time_ms >= self._before_ms:
                self.young += 1
                continue
            yield Orphan(key, path, *looked, owner.place, owner.name)


def pack(orphans: list[Orphan], finder: Finder) -> pa.RecordBatch:
    """Orphans as one value: a driver passes it on without looking at each."""
    import pyarrow as pa

    form = schema()
    columns = list(zip(*orphans, strict=True)) or [()] * len(form)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, form, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=form)
    counts = [finder.young], [finder.kept]
    finder.young = finder.kept = 0
    return pa.RecordBatch.from_arrays(
        [pa.array([_stream(batch)], pa.binary()), *(pa.array(one, pa.int64()) for one in counts)],
        names=["orphans", "young", "kept"],
    )


def _stream(batch: pa.RecordBatch) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())
