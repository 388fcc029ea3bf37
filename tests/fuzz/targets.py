"""What is fuzzed without a server: readers of what clients write. Each takes any bytes, and raises
nothing but what its callers expect."""

import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pyiceberg.manifest import ManifestFile

from headgate.access.objects import ObjectType
from headgate.catalog.full_names import read_full_name, write_full_name
from headgate.catalog.metadata_files import unzipped
from headgate.errors import HeadgateError, IllegalObject, InvalidInput
from headgate.model import locations, table_metadata
from headgate.model.names import check_levels
from headgate.model.physical import path_segment, physical_name
from headgate.planning.avro_columns import columns
from headgate.planning.manifests import entries, manifest_list
from headgate.planning.reachable import Walk
from headgate.planning.table import Snapshot, parse
from headgate.storage import places
from tests.planning.bombs import LISTS, avro, list_bomb
from tests.planning.tables import MetadataTable, bounds, data_file


class OneFile:
    """A store in which every file is the same."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, _location: str) -> bytes:
        return self._data


class Target(NamedTuple):
    """A reader, and some input that it understands."""

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]


def read_columns(data: bytes) -> None:
    """Paths and sizes, as purges read them: whatever is wrong, it is an exception."""
    for fields in ((100, 104), (500, 501, 504)):
        try:
            for found in columns(data, *fields):
                assert len({len(column) for column in found}) == 1
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  of any kind: a walk tells it
            continue


def read_rows(data: bytes) -> None:
    """Manifest lists and entries, as scans read them."""
    manifest = _manifest()
    for read in (
        lambda: manifest_list(OneFile(data), Snapshot(1, manifest_list="list")),
        lambda: list(entries(manifest, data)),
    ):
        try:
            read()
        except HeadgateError:
            continue


def read_metadata(data: bytes) -> None:
    """The metadata of a table, plain or packed, by all that read it."""
    try:
        plain = unzipped(data, "/x/metadata.json")
    except HeadgateError:
        return
    for read in (table_metadata.parse, parse, _walk):
        try:
            read(plain)
        except HeadgateError:
            continue


def read_locations(data: bytes) -> None:
    """Two locations, compared in all ways: one that lies in another has a key that begins so."""
    one, _, other = data.decode(errors="surrogateescape").partition("\n")
    try:
        keys = [locations.index_key(location) for location in (one, other)]
        inside = locations.is_within(one, other)
    except InvalidInput:
        return
    assert inside == keys[0].startswith(keys[1])
    assert locations.overlaps(one, other) == locations.overlaps(other, one)
    assert locations.index_key(locations.indexed(keys[0])) == keys[0]
    if places.is_location(one) and places.is_location(other):
        assert places.place_within(places.parse(one), places.parse(other)) <= inside


def read_names(data: bytes) -> None:
    """Names of namespaces: what is written of good ones is read again as the same."""
    levels = tuple(data.decode(errors="surrogateescape").split("\n"))
    try:
        check_levels(levels)
    except InvalidInput:
        return
    assert "/" not in physical_name(levels)
    assert all(path_segment(level).isascii() for level in levels)
    written = write_full_name(ObjectType.SCHEMA, ("c", *levels), ":")
    try:
        read = read_full_name(ObjectType.SCHEMA, written)
    except IllegalObject:
        return
    assert (read.catalog, read.levels(":")) == ("c", levels)


def _walk(data: bytes) -> None:
    walk = Walk(data, OneFile(data))
    for kind in (walk.data, walk.manifests, walk.lists, walk.statistics):
        for _ in kind():
            pass


def _table(folder: str) -> MetadataTable:
    table = MetadataTable(Path(folder))
    rows = [data_file(f"a/{number}", **bounds(1, 2)) for number in range(2)]
    table.snapshot(1, [table.manifest(rows)])
    return table


@cache
def _manifest() -> ManifestFile:
    with tempfile.TemporaryDirectory() as folder:
        [manifest] = _table(folder).snapshots[1].manifests
    return manifest


def _avro_seeds() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        _table(folder)
        files = [path.read_bytes() for path in sorted(Path(folder).glob("*.avro"))]
    codecs = [list_bomb(3, codec) for codec in ("null", "deflate", "zstandard", "bzip2")]
    return [*files, *codecs, avro({**LISTS, "fields": []}, 1, b"")]


def _metadata_seeds() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        metadata = _table(folder).metadata()
    small = json.dumps({**json.loads(metadata), "snapshots": []}).encode()
    return [metadata, small, b"{}"]


def _location_seeds() -> list[bytes]:
    pairs = [
        "s3://b/a/t\ns3a://b/a",
        "file:///w/%20a/t\n/w",
        "abfss://c@x.dfs.core.windows.net/a\nabfs://c@x.dfs.core.windows.net/",
        "gs://b/x//y\ngs://b/x",
        "/a/../b\n/b",
    ]
    return [pair.encode() for pair in pairs]


def _name_seeds() -> list[bytes]:
    return [text.encode() for text in ("a", "a\nb", "my.schema\nsales", "é:ü", "a%2Fb\n.", "\x1f")]


TARGETS: dict[str, Target] = {
    "columns": Target(read_columns, _avro_seeds),
    "rows": Target(read_rows, _avro_seeds),
    "metadata": Target(read_metadata, _metadata_seeds),
    "locations": Target(read_locations, _location_seeds),
    "names": Target(read_names, _name_seeds),
}
