"""Reading manifest lists and manifests of every format version with pyiceberg's Avro reader."""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import tee
from typing import Any, Literal

from pyiceberg.avro.resolver import resolve_reader
from pyiceberg.io import InputFile, InputStream
from pyiceberg.manifest import (
    MANIFEST_ENTRY_SCHEMAS,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    PartitionFieldSummary,
)
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from headgate.errors import BadMetadata, HeadgateError, TooLarge, Unsupported
from headgate.limits import (
    MANIFEST_LIST_PARTS_MAX,
    MANIFEST_LISTS_KNOWN_MAX,
    MANIFEST_SCHEMAS_KNOWN_MAX,
    MANIFESTS_LISTED_MAX,
)
from headgate.planning.avro_blocks import Blocks, check_schema, too_large
from headgate.planning.avro_rows import WholeReader
from headgate.planning.files import OpenFiles
from headgate.planning.files import read_ahead as files_read_ahead
from headgate.planning.table import Snapshot

FORMAT: Literal[3] = (
    3  # its schema reads the manifests of all versions: what is missing has a default
)
# Positions of the fields that pyiceberg's DataFile has no names for.
FILE_FORMAT = 2
FIRST_ROW_ID, REFERENCED_DATA_FILE, CONTENT_OFFSET, CONTENT_SIZE = 16, 17, 18, 19


class Loaded(InputFile):
    """A file that was read, in the form that pyiceberg's reader takes."""

    def __init__(self, location: str, data: bytes) -> None:
        super().__init__(location)
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def exists(self) -> bool:
        return True

    def open(self, *_positional: bool, **_named: bool) -> InputStream:
        return io.BytesIO(self._data)


@dataclass
class Entry:
    """A file in a manifest, with what it inherits from the manifest."""

    status: ManifestEntryStatus
    snapshot_id: int | None
    sequence_number: int
    file: DataFile

    @property
    def live(self) -> bool:
        return self.status != ManifestEntryStatus.DELETED


def manifest_list(files: OpenFiles, snapshot: Snapshot) -> list[ManifestFile]:
    """The manifests of a snapshot in their stored order."""
    if snapshot.manifest_list is None:
        return [_listed(files, snapshot, path) for path in snapshot.manifests or []]
    return _parsed_list(snapshot.manifest_list, files.read(snapshot.manifest_list))


@lru_cache(MANIFEST_LISTS_KNOWN_MAX)
def _parsed_list(path: str, data: bytes) -> list[ManifestFile]:
    """Remembered, because every plan task of a large table reads the same list again."""
    with _understood("manifest list", path):
        found: list[ManifestFile] = []
        parts = 0
        for row in _rows(Blocks(data, MANIFESTS_LISTED_MAX), Kind.MANIFESTS):
            found.append(row)
            parts += 1 + len(row.partitions or ())
            if parts > MANIFEST_LIST_PARTS_MAX:
                raise too_large(f"it has more than {MANIFEST_LIST_PARTS_MAX:,} manifests and parts")
        return found


def read_ahead(
    files: OpenFiles, manifests: Iterable[ManifestFile]
) -> Iterator[tuple[ManifestFile, Callable[[], bytes]]]:
    """Manifests with what gives their bytes, or raises why it cannot."""
    ones, others = tee(manifests)
    reads = files_read_ahead(files, (manifest.manifest_path for manifest in ones))
    return zip(others, reads, strict=True)


def entries(manifest: ManifestFile, data: bytes) -> Iterator[Entry]:
    """The entries of a manifest, those of deleted files too, in their stored order."""
    path = manifest.manifest_path
    with _understood("manifest", path):
        next_row_id = manifest[-1]
        for row in _rows(Blocks(data), Kind.ENTRIES):
            entry = _inherit(row, manifest)
            if entry.live and entry.file.content == DataFileContent.DATA:
                next_row_id = _number_rows(entry.file, next_row_id)
            yield entry


class Kind(Enum):
    """What the rows of a file are: their schema, and the classes of their parts by field id."""

    MANIFESTS = 1
    ENTRIES = 2


def _rows(blocks: Blocks, kind: Kind) -> Iterator[Any]:
    """The rows of a file."""
    return _reader(blocks.schema, kind).rows(blocks)


@lru_cache(MANIFEST_SCHEMAS_KNOWN_MAX)
def _reader(schema: bytes, kind: Kind) -> WholeReader[Any]:
    """Files of one table have one schema, so what follows from a schema is worked out once: it
    takes longer than to read a small manifest."""
    check_schema(schema)
    written = AvroSchemaConversion().avro_to_iceberg(json.loads(schema))
    if kind == Kind.MANIFESTS:
        reader = resolve_reader(
            written,
            MANIFEST_LIST_FILE_SCHEMAS[FORMAT],
            read_types={-1: ManifestFile, 508: PartitionFieldSummary},
            read_enums={517: ManifestContent},
        )
    else:
        reader = resolve_reader(
            written,
            MANIFEST_ENTRY_SCHEMAS[FORMAT],
            read_types={-1: ManifestEntry, 2: DataFile},
            read_enums={0: ManifestEntryStatus, 134: DataFileContent},
        )
    return WholeReader(reader)


def _inherit(row: ManifestEntry, manifest: ManifestFile) -> Entry:
    """Snapshot, sequence number and spec come from the manifest where the entry has none."""
    number = row.sequence_number
    if number is None:
        number = manifest.sequence_number or 0
    snapshot_id = row.snapshot_id
    if snapshot_id is None:
        snapshot_id = manifest.added_snapshot_id
    row.data_file.spec_id = manifest.partition_spec_id
    return Entry(row.status, snapshot_id, number, row.data_file)


def _number_rows(file: DataFile, next_row_id: int | None) -> int | None:
    """Give a file without row ids the next ones; without a start in the manifest there are none."""
    if next_row_id is None:
        file[FIRST_ROW_ID] = None
    elif file[FIRST_ROW_ID] is None:
        file[FIRST_ROW_ID] = next_row_id
        next_row_id += file.record_count
    return next_row_id


def _listed(files: OpenFiles, snapshot: Snapshot, path: str) -> ManifestFile:
    """A manifest of a snapshot that has no manifest list: only its own header knows its spec."""
    data = files.read(path)
    with _understood("manifest", path):
        meta = Blocks(data).header
        return ManifestFile.from_args(
            FORMAT,
            manifest_path=path,
            manifest_length=len(data),
            partition_spec_id=int(meta.get("partition-spec-id", 0)),
            content=ManifestContent.DATA,
            sequence_number=0,
            min_sequence_number=0,
            added_snapshot_id=snapshot.snapshot_id,
        )


@contextmanager
def _understood(what: str, path: str) -> Iterator[None]:
    try:
        yield
    except (TooLarge, Unsupported) as error:
        why = f"{error.what}: {error.why}" if error.why else error.what
        raise type(error)(f"Cannot read the {what} {path}", why=why, fix=error.fix) from error
    except (HeadgateError, GeneratorExit):
        raise
    except Exception as error:
        raise BadMetadata(
            f"Cannot read the {what} {path}", why=f"{type(error).__name__}: {error}"
        ) from error
