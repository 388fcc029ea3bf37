"""Some columns of Avro files, compared with pyiceberg's whole rows."""

import random
import zlib
from pathlib import Path
from typing import Any, Literal

import pytest
from pyiceberg.avro.decoder import new_decoder
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestFile, write_manifest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    UUIDType,
)

from headgate.planning import avro_columns
from headgate.planning.avro_columns import Columns, columns
from headgate.planning.manifests import entries
from tests.planning.tables import MetadataTable, bounds, data_file, entry

PATH, SIZE, RECORDS, SORT_ORDER, COUNTS_ID = 100, 104, 103, 140, 4711
STATISTICS: dict[str, Any] = {
    "column_sizes": {1: 10, 2: 3_000_000_000},
    "value_counts": {1: 10},
    "null_value_counts": {},
    "split_offsets": [4, 1 << 40],
    "key_metadata": b"key",
    "sort_order_id": 3,
    **bounds(-5, 1 << 60),
}


def whole(data: bytes, *fields: int) -> Columns:
    """All rows of a file at once."""
    found: Columns = [[] for _ in fields]
    for some in columns(data, *fields):
        for column, values in zip(found, some, strict=True):
            column.extend(values)
    return found


def read(manifest: ManifestFile) -> bytes:
    return Path(manifest.manifest_path).read_bytes()


def expected(manifest: ManifestFile) -> list[list[Any]]:
    rows = [entry.file for entry in entries(manifest, read(manifest))]
    return [[row.file_path for row in rows], [row.file_size_in_bytes for row in rows]]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_paths_and_sizes_are_those_of_whole_rows(tmp_path: Path, version: Literal[1, 2, 3]) -> None:
    """In all formats, with and without statistics."""
    table = MetadataTable(tmp_path, version=version)
    rows = [
        data_file(f"a/{number} ü", file_size_in_bytes=number * 1_000_003, **fields)
        for number, fields in enumerate([{}, STATISTICS] * 700)
    ]
    manifest = table.manifest(rows)

    assert whole(read(manifest), PATH, SIZE) == expected(manifest)


VALUES: list[tuple[IcebergType, Any]] = [
    (BooleanType(), True),
    (LongType(), -(1 << 60)),
    (FloatType(), 1.5),
    (DoubleType(), 1.5),
    (DateType(), 19_000),
    (TimestampType(), 1 << 50),
    (StringType(), "text"),
    (BinaryType(), b"bytes"),
    (FixedType(7), b"7 bytes"),
    (DecimalType(20, 2), None),
    (UUIDType(), None),
    (UUIDType(), None),
]


def test_partitions_of_any_type_are_jumped_over(tmp_path: Path) -> None:
    """Each value is as long as its type says; types with a name may come by name again."""
    schema = Schema(
        *(NestedField(number, f"c{number}", type) for number, (type, _) in enumerate(VALUES, 1))
    )
    spec = PartitionSpec(
        *(
            PartitionField(number, 1_000 + number, IdentityTransform(), f"p{number}")
            for number in range(1, len(VALUES) + 1)
        )
    )
    table = MetadataTable(tmp_path, schema=schema, specs=(spec,))
    given = [value for _, value in VALUES]
    manifest = table.manifest(
        [
            data_file("a", partition=given),
            data_file("b", partition=[None] * len(VALUES)),
            data_file("c", partition=given),
        ]
    )

    assert whole(read(manifest), PATH) == [["a", "b", "c"]]


@pytest.mark.parametrize("codec", ["null", "deflate", "zstandard", "bzip2"])
def test_every_codec_is_read_also_in_small_blocks(
    tmp_path: Path, codec: Literal["null", "deflate", "zstandard", "bzip2"]
) -> None:
    """A writer may make a block for each entry, or one for thousands."""
    table = MetadataTable(tmp_path)
    output = PyArrowFileIO().new_output(str(tmp_path / "m.avro"))
    with write_manifest(2, table.specs[0], table.schema, output, 1, codec) as writer:
        for number in range(2_500):
            row = data_file(f"a/{number}", file_size_in_bytes=number)
            writer.add_entry(table_entry(row))

    data = (tmp_path / "m.avro").read_bytes()

    assert [len(some[0]) for some in columns(data, PATH, SIZE)] == [1_000, 1_000, 500]
    assert whole(data, PATH, SIZE) == [
        [f"a/{number}" for number in range(2_500)],
        list(range(2_500)),
    ]


def table_entry(row: Any) -> Any:
    return entry(row, snapshot_id=1, sequence_number=1)


def test_values_that_may_be_absent_are_none(tmp_path: Path) -> None:
    """Null in a row, or a column that the file does not have; the first one has to be there."""
    manifest = MetadataTable(tmp_path).manifest([data_file("a"), data_file("b", sort_order_id=3)])
    data = read(manifest)

    assert whole(data, PATH, SORT_ORDER, COUNTS_ID) == [["a", "b"], [None, 3], [None, None]]
    with pytest.raises(ValueError, match="has no field 4711"):
        whole(data, COUNTS_ID)


def test_a_file_that_is_cut_is_no_shorter_file(tmp_path: Path) -> None:
    """Wherever it is cut: files that it names would be forgotten."""
    table = MetadataTable(tmp_path)
    output = PyArrowFileIO().new_output(str(tmp_path / "m.avro"))
    with write_manifest(2, table.specs[0], table.schema, output, 1, "null") as writer:
        for number in range(3):
            writer.add_entry(table_entry(data_file(f"a/{number}")))
    data = (tmp_path / "m.avro").read_bytes()
    sync = data[-16:]
    ends = {at + 16 for at in range(len(data)) if data[at : at + 16] == sync}

    for size in range(len(data)):
        if size not in ends:  # only a list that knows its length can tell
            with pytest.raises(Exception):  # noqa: B017  whatever a decoder says
                whole(data[:size], PATH)


def test_a_block_with_another_content_than_it_says_is_an_error(tmp_path: Path) -> None:
    """One row more or less, or another mark at its end."""
    manifest = MetadataTable(tmp_path).manifest([data_file("a"), data_file("b")])
    data = bytearray(read(manifest))
    at = data.index(data[-16:]) + 16
    assert data[at] == 4  # two rows

    for position, value in ((at, 2), (at, 6), (len(data) - 1, data[-1] ^ 1), (0, 0)):
        changed = bytes(data[:position]) + bytes([value]) + bytes(data[position + 1 :])
        with pytest.raises(Exception):  # noqa: B017
            whole(changed, PATH)


def test_rubbish_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    """Lengths and counts may say anything; pyiceberg's decoder would follow them anywhere."""
    table = MetadataTable(tmp_path)
    manifest = table.manifest([data_file(f"a/{number}", **STATISTICS) for number in range(20)])
    chance = random.Random(4711)
    plain = recompressed(read(manifest))
    outcomes: set[str] = set()

    for _ in range(3_000):
        changed = bytearray(plain)
        for _ in range(chance.choice([1, 1, 3])):
            changed[chance.randrange(len(plain))] = chance.randrange(256)
        try:
            whole(bytes(changed), PATH)
            outcomes.add("read")
        except Exception as error:  # noqa: BLE001
            outcomes.add(type(error).__name__)

    assert outcomes >= {"read", "EOFError", "KeyError", "ValueError", "UnicodeDecodeError"}


def recompressed(data: bytes) -> bytes:
    """The same file with one block that is not compressed: what is changed in it counts."""
    sync = data[-16:]
    at = data.index(sync) + 16
    decoder = new_decoder(data[at:])
    count, block = decoder.read_int(), zlib.decompress(decoder.read_bytes(), -15)
    header = data[:at].replace(b"\x0edeflate", b"\x08null")
    return header + varint(count) + varint(len(block)) + block + sync


def varint(number: int) -> bytes:
    number *= 2
    written = b""
    while number > 0x7F:
        written += bytes([number & 0x7F | 0x80])
        number >>= 7
    return written + bytes([number])


def test_blocks_of_an_array_may_say_their_size() -> None:
    """Avro allows it, and some writers do it."""
    skip = avro_columns.Schema((1,)).skip({"type": "array", "items": "string"})
    sized, plain = b"\x01\x06\x04ab", b"\x04\x02c\x02d"  # one item in 3 bytes, then two items
    block = sized + plain + b"\x00"
    decoder = new_decoder(block + b"!")

    skip(decoder, block)

    assert decoder.read(1) == b"!"


def test_other_types_of_avro_are_jumped_over() -> None:
    """Manifests have none of these today."""
    schema = avro_columns.Schema((1,))
    types: list[tuple[Any, bytes]] = [
        ({"type": "map", "values": "long"}, b"\x02\x02k\x08\x00"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, b"\x02"),
        ({"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]}, b"\x02"),
        ("R", b"\x02"),
        (["string", "long"], b"\x02\x08"),
        ({"type": "array", "items": {"type": "array", "items": "double"}}, b"\x02\x02" + bytes(10)),
    ]

    for type, written in types:
        decoder = new_decoder(written + b"!")
        schema.skip(type)(decoder, written)
        assert decoder.read(1) == b"!", type
