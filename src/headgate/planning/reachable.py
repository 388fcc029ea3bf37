"""Every file that a table's metadata leads to, leaf first. Runs in a worker.

Whoever deletes in this order can be interrupted anywhere and start again: what leads to a file is
there as long as the file is.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

import msgspec
from pyiceberg.manifest import ManifestFile

from headgate.errors import BadMetadata, FileMissing
from headgate.limits import WALK_BATCH_PATHS, WALK_SEEN_PATHS_MAX
from headgate.planning import manifests, table
from headgate.planning.batches import Batch, Kind
from headgate.planning.files import OpenFiles
from headgate.planning.table import Snapshot, Table


def reachable(files: OpenFiles, metadata: bytes, location: bytes) -> Iterator[bytes]:
    """Batches, encoded."""
    for batch in Walk(table.parse(metadata), files).batches(location.decode()):
        yield msgspec.msgpack.encode(batch)


class Seen:
    """Remembers which paths came by: all of the last ones, in bounded memory."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def is_new(self, path: str) -> bool:
        key = hash(path)
        if key in self._hashes:
            return False
        if len(self._hashes) >= WALK_SEEN_PATHS_MAX:
            self._hashes.clear()
        self._hashes.add(key)
        return True


class Walk:
    """One walk over a table's files. Manifest lists are read twice, so that few are remembered."""

    def __init__(self, parsed: Table, files: OpenFiles) -> None:
        self._table = parsed
        self._files = files
        self._unread: list[Batch] = []

    def batches(self, location: str) -> Iterator[Batch]:
        properties = self._table.properties or {}
        if properties.get("gc.enabled", "true").lower() != "false":
            yield from self._some(Kind.DATA, self._data())
        yield from self._some(Kind.MANIFEST, (found.manifest_path for found in self._manifests()))
        yield from self._some(Kind.MANIFEST_LIST, self._lists())
        yield from self._some(Kind.STATISTICS, self._statistics())
        log = self._table.metadata_log or []
        older = (entry.metadata_file for entry in log if entry.metadata_file != location)
        yield from self._some(Kind.OLD_METADATA, older)
        yield Batch(Kind.METADATA, [location])

    def _some(self, kind: Kind, paths: Iterable[str]) -> Iterator[Batch]:
        rest = iter(paths)
        while batch := list(islice(rest, WALK_BATCH_PATHS)):
            yield Batch(kind, batch)
            yield from self._reports()
        yield from self._reports()

    def _reports(self) -> Iterator[Batch]:
        while self._unread:
            yield self._unread.pop()

    def _data(self) -> Iterator[str]:
        seen = Seen()
        for manifest, read in manifests.read_ahead(self._files, self._manifests()):
            with self._reported(manifest.manifest_path):
                for path in manifests.paths(manifest, read()):
                    if seen.is_new(path):
                        yield path

    def _manifests(self) -> Iterator[ManifestFile]:
        seen = Seen()
        for snapshot in self._table.snapshots or []:
            for manifest in self._listed(snapshot):
                if seen.is_new(manifest.manifest_path):
                    yield manifest

    def _listed(self, snapshot: Snapshot) -> Iterator[ManifestFile]:
        with self._reported(snapshot.manifest_list or "a manifest of format 1"):
            yield from manifests.manifest_list(self._files, snapshot)

    def _lists(self) -> Iterator[str]:
        seen = Seen()
        for snapshot in self._table.snapshots or []:
            path = snapshot.manifest_list
            if path is not None and seen.is_new(path):
                yield path

    def _statistics(self) -> Iterator[str]:
        for files in (self._table.statistics, self._table.partition_statistics):
            for file in files or []:
                yield file.statistics_path

    @contextmanager
    def _reported(self, path: str) -> Iterator[None]:
        """Go on without what one file leads to; whoever walks is told."""
        try:
            yield
        except FileMissing:
            self._unread.append(Batch(Kind.MISSING, [path]))
        except BadMetadata:
            self._unread.append(Batch(Kind.DAMAGED, [path]))
