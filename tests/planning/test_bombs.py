"""Avro files that would take all memory, all time, or memory of others: each is refused after a
bounded amount of work, by the reader of whole rows and by that of columns."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.manifest import ManifestFile

from headgate.errors import BadMetadata, HeadgateError, TooLarge
from headgate.limits import (
    AVRO_PATH_BYTES_MAX,
    AVRO_ROW_BYTES_MAX,
    AVRO_ROWS_MAX,
    AVRO_SCHEMA_BYTES_MAX,
    AVRO_UNPACKED_BYTES_MIN,
)
from headgate.planning import avro_blocks, avro_columns, manifests
from headgate.planning.avro_blocks import Blocks
from headgate.planning.manifests import entries, manifest_list
from headgate.planning.reachable import Walk
from headgate.planning.table import Snapshot, parse
from tests.planning.bombs import (
    ENTRIES,
    LIST_ROW_BYTES,
    LISTS,
    avro,
    laughing,
    list_bomb,
    nested,
    number,
    sized,
    with_fields,
)
from tests.planning.tables import MetadataTable, bounds, data_file

PATH = 500


class OneFile:
    """A store with one file."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, _location: str) -> bytes:
        return self._data


def listed(data: bytes) -> list[ManifestFile]:
    """The manifests of a list, as a scan reads them."""
    return manifest_list(OneFile(data), Snapshot(1, manifest_list="list"))


def paths(data: bytes) -> int:
    """How many paths a walk finds."""
    return sum(len(some[0]) for some in avro_columns.columns(data, PATH))


READERS = [listed, paths]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "zstandard"])
def test_what_is_not_too_much_is_read(read: Any, codec: str) -> None:
    """Rows of nothing but zeros are rows."""
    assert read(list_bomb(1_000, codec)) in ([*listed(list_bomb(1_000))], 1_000)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("codec", ["deflate", "bzip2", "zstandard"])
def test_more_than_may_come_out_of_a_file_does_not_come_out(
    monkeypatch: pytest.MonkeyPatch, read: Any, codec: str
) -> None:
    """Neither of one block nor of many, however well they are packed; no more is unpacked."""
    monkeypatch.setattr(avro_blocks, "AVRO_UNPACKED_BYTES_MIN", 1 << 20)
    monkeypatch.setattr(avro_blocks, "AVRO_EXPANSION_MAX", 1)
    unpacked: list[int] = []
    unpack = avro_blocks.UNPACKS[codec]

    def watched(packed: bytes, most: int) -> bytes:
        unpacked.append(len(block := unpack(packed, most)))
        return block

    monkeypatch.setitem(avro_blocks.UNPACKS, codec, watched)
    rows = 2 * (1 << 20) // LIST_ROW_BYTES
    one, many = list_bomb(rows, codec), list_bomb(rows // 10, codec, blocks=10)

    for bomb in (one, many):
        unpacked.clear()
        with pytest.raises(TooLarge, match="more comes out"):
            read(bomb)
        assert sum(unpacked) <= (1 << 20) + avro_blocks.UNPACKED_AT_ONCE_BYTES


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "zstandard"])
def test_a_small_file_has_a_small_allowance(codec: str) -> None:
    """The bounds as they are: kilobytes never become gigabytes, nor millions of rows."""
    with pytest.raises(TooLarge, match="more than 500,000 rows"):
        listed(list_bomb(500_001, codec))
    bomb = avro(LISTS, 1, bytes(AVRO_UNPACKED_BYTES_MIN + 1), codec)

    assert len(bomb) < AVRO_UNPACKED_BYTES_MIN // 500
    with pytest.raises(TooLarge, match="more comes out"):
        next(iter(Blocks(bomb)))


def test_a_snappy_block_that_says_to_be_huge_is_not_unpacked() -> None:
    """It says so at its beginning; whether the codec is installed does not matter."""
    said = bytes([0xFF, 0xFF, 0xFF, 0xFF, 0x0F])

    with pytest.raises(TooLarge, match="4,294,967,295 bytes"):
        avro_blocks._from_snappy(said + b"rest", 1 << 20)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("rows", [1_001, -1, -(1 << 62)])
def test_no_block_has_more_rows_than_bytes(read: Any, rows: int) -> None:
    """Nor fewer than none: a count alone costs nothing to write."""
    with pytest.raises((ValueError, BadMetadata), match="rows cannot be in 1000 bytes"):
        read(avro(LISTS, rows, bytes(1_000)))


def test_a_file_has_only_so_many_rows() -> None:
    """In all of its blocks together; what a block says is believed before it is unpacked."""
    assert sum(block.rows for block in Blocks(list_bomb(10, blocks=10), 100)) == 100

    for bomb in (list_bomb(10, blocks=11), avro(LISTS, 1 << 62, b"")):
        with pytest.raises(TooLarge, match="more than 100 rows"):
            list(Blocks(bomb, 100))


def test_a_list_of_very_many_manifests_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one of few manifests with very many summaries of partitions."""
    monkeypatch.setattr(manifests, "MANIFEST_LIST_PARTS_MAX", 100)
    summary = bytes([1, 0, 0, 0])  # no nulls, and nothing else is known
    row = bytes(LIST_ROW_BYTES - 2) + b"\x02"
    many = row + number(200) + summary * 200 + bytes(2)
    listed(list_bomb(100))

    for bomb in (list_bomb(101), avro(LISTS, 1, many)):
        with pytest.raises(TooLarge, match="more than 100 manifests"):
            listed(bomb)


def test_a_list_of_a_hundred_thousand_manifests_is_read() -> None:
    """Real tables have long lists."""
    block = sized(b"s3://bucket/warehouse/table/metadata/0123456789-m0.avro")
    row = block + bytes(LIST_ROW_BYTES - 1)

    assert len(listed(avro(LISTS, 100_000, row * 100_000, "zstandard"))) == 100_000


def test_a_manifest_of_very_many_entries_is_read(tmp_path: Path) -> None:
    """In one block, as pyiceberg and others may write it; what is found is told by and by."""
    table = MetadataTable(tmp_path)
    manifest = table.manifest([data_file("s3://b/t/data/file.parquet", **bounds(1, 2))])
    data = Path(manifest.manifest_path).read_bytes()
    [block] = Blocks(data)
    schema = Blocks(data).schema
    many = avro(schema, 300_000, block.data * 300_000, "deflate")

    sizes = [len(some[0]) for some in avro_columns.columns(many, 100, 104)]

    assert sizes == [1_000] * 300


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "nothing",
    [
        {"type": "record", "name": "N", "fields": []},
        {"type": "fixed", "name": "F", "size": 0},
        "null",
    ],
    ids=["record", "fixed", "null"],
)
def test_items_that_take_no_room_are_refused(read: Any, nothing: object) -> None:
    """A count of them of any size would take a few bytes, and for ever."""
    schema = with_fields({"type": "array", "items": nothing, "element-id": 9_999})
    row = bytes(LIST_ROW_BYTES) + number(1 << 60) + b"\x00"

    with pytest.raises((ValueError, KeyError, HeadgateError)):
        read(avro(schema, 1, row))


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("count", [1 << 60, -(1 << 60), 1 << 20])
def test_an_array_that_is_longer_than_its_block_is_refused(read: Any, count: int) -> None:
    """Of numbers, of pairs and of texts."""
    for items in ("long", "string"):
        schema = with_fields({"type": "array", "items": items, "element-id": 9_999})
        size = number(10) if count < 0 else b""
        row = bytes(LIST_ROW_BYTES) + number(count) + size + bytes(100)

        with pytest.raises((ValueError, EOFError, HeadgateError)):
            read(avro(schema, 1, row))


def test_a_length_never_leads_out_of_a_block(tmp_path: Path) -> None:
    """What lies behind it in memory may be of another tenant: nothing of it is ever told."""
    secret = b"secret of another tenant" * 1_000
    held = [bytes(secret) for _ in range(100)]
    manifest = MetadataTable(tmp_path).manifest([data_file("a/b")])
    data = Path(manifest.manifest_path).read_bytes()
    [block] = Blocks(data)
    at = block.data.index(sized(b"a/b"))

    for length in (4, 100, 30_000, 1 << 31, 1 << 62, -1, -(1 << 62)):
        longer = block.data[:at] + number(length) + block.data[at + 1 :]
        spoilt = avro(Blocks(data).schema, 1, longer)
        with pytest.raises(BadMetadata):
            list(entries(manifest, spoilt))
    assert len(held) == 100


def test_a_row_is_only_so_large() -> None:
    """Pyiceberg makes objects of all that is in a row, many times its size."""
    row = sized(bytes(AVRO_ROW_BYTES_MAX)) + bytes(LIST_ROW_BYTES - 1)

    with pytest.raises(TooLarge, match="a row of it has"):
        listed(avro(LISTS, 1, row, "deflate"))


@pytest.mark.parametrize("read", READERS)
def test_a_schema_is_only_so_deep_and_so_large(read: Any) -> None:
    """It is refused before anything follows it."""
    large = json.dumps({**LISTS, "doc": "x" * AVRO_SCHEMA_BYTES_MAX}).encode()

    for schema, why in ((nested(10_000), "nested too deeply"), (large, "too large")):
        with pytest.raises(TooLarge, match=why):
            read(avro(schema, 1, bytes(100)))


def test_brackets_in_texts_of_a_schema_are_no_nesting() -> None:
    """A description may have any number of them."""
    schema = {**LISTS, "doc": '[[[["\\' * 100}

    assert paths(avro(schema, 10, bytes(LIST_ROW_BYTES * 10))) == 10


@pytest.mark.parametrize("read", READERS)
def test_types_that_name_each_other_are_only_so_many(read: Any) -> None:
    """A schema of a kilobyte could have more parts than anybody can walk over."""
    with pytest.raises(HeadgateError):
        read(avro(laughing(60), 1, bytes(LIST_ROW_BYTES)))


def test_the_bounds_are_wide_enough_for_entries_of_ten_thousand_columns(tmp_path: Path) -> None:
    """Statistics of all of them are in one row."""
    columns = range(1, 10_001)
    numbers = dict.fromkeys(columns, 1 << 40)
    texts = dict.fromkeys(columns, b"sixteen letters.")
    row = data_file(
        "a",
        column_sizes=numbers,
        value_counts=numbers,
        null_value_counts=numbers,
        lower_bounds=texts,
        upper_bounds=texts,
    )
    manifest = MetadataTable(tmp_path).manifest([row])

    [found] = entries(manifest, Path(manifest.manifest_path).read_bytes())

    assert len(found.file.lower_bounds) == len(columns)
    assert AVRO_ROWS_MAX >= 1_000_000
    assert ENTRIES["name"] == "manifest_entry"


def test_a_path_is_only_so_long() -> None:
    """Some thousand of them are kept at once."""
    longest = sized(b"x" * AVRO_PATH_BYTES_MAX) + bytes(LIST_ROW_BYTES - 1)
    longer = sized(b"x" * (AVRO_PATH_BYTES_MAX + 1)) + bytes(LIST_ROW_BYTES - 1)

    assert paths(avro(LISTS, 1, longest)) == 1
    with pytest.raises(ValueError, match="too many for a path"):
        paths(avro(LISTS, 1, longer))


@pytest.mark.parametrize("read", [parse, lambda data: Walk(data, OneFile(b""))])
def test_metadata_has_only_so_many_parts(monkeypatch: pytest.MonkeyPatch, read: Any) -> None:
    """Three bytes of a file may become an object of a hundred."""
    monkeypatch.setattr("headgate.model.json_values.METADATA_PARTS_MAX", 100)
    read(b'{"snapshots": [%s]}' % b",".join([b"{}"] * 101).replace(b"{}", b'{"snapshot-id":1}'))

    with pytest.raises(TooLarge, match="it has 101 parts"):
        read(b'{"snapshots": [%s]}' % b",".join([b"{}"] * 102))


@pytest.mark.parametrize("read", [parse, lambda data: Walk(data, OneFile(b""))])
@pytest.mark.parametrize(
    "data",
    [b'{"x":' * 1_000_000, b"[" * 1_000_000, b'{"properties": {"x": "\xff"}}'],
    ids=["objects", "arrays", "letters"],
)
def test_metadata_that_is_no_metadata_is_refused(read: Any, data: bytes) -> None:
    """However deep it is nested, and whatever letters it has."""
    with pytest.raises(BadMetadata):
        read(data)
