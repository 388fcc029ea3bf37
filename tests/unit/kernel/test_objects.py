"""Stored objects: what is written is read, by older and newer programs too, or it is an error."""

import gc
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import BadName, CorruptRow, NewerFormat, TooLarge, WrongType
from headgate.kernel import objects
from headgate.kernel.kernel import KERNEL_TYPES
from headgate.kernel.objects import (
    ENVELOPE,
    Encoded,
    Foreign,
    ObjectType,
    ObjectTypes,
    Stored,
    expect,
    join,
    map_header,
    single,
    split,
)
from headgate.limits import COMPRESS_ABOVE_BYTES, ROW_BYTES_MAX, TYPE_NAME_CHARS_MAX

REALM = "r"
ID = 4711


class Older(Stored, frozen=True):
    """A table as an older program knows it."""

    name: str
    columns: list[str] = []


class Newer(Stored, frozen=True):
    """The same type in a newer program: it gained two fields."""

    name: str
    columns: list[str] = []
    owner: int = 0
    tags: dict[str, str] = {}


Wide: Any = msgspec.defstruct(
    "Wide", [(f"f{i}", int, i) for i in range(20)], bases=(Stored,), frozen=True
)


class Blob(Stored, frozen=True):
    data: bytes


OLDER = ObjectTypes([ObjectType("table", Older)])
NEWER = ObjectTypes([ObjectType("table", Newer), ObjectType("wide", Wide), ObjectType("b", Blob)])


def stored_again(types: ObjectTypes, encoded: Encoded) -> Encoded:
    """What a program writes back after it read this."""
    return types.encode(REALM, ID, types.decode(REALM, encoded))


def blob(size: int) -> Blob:
    return Blob(msgspec.json.encode(list(range(size)))[:size])


def flipped(encoded: Encoded, bit: int) -> Encoded:
    data = bytearray(encoded.data)
    data[bit // 8] ^= 1 << bit % 8
    return encoded._replace(data=bytes(data))


def test_an_object_is_read_as_it_was_written() -> None:
    """Values are equal, and the type's name and the id go with them."""
    table = Newer("t", ["a", "b"], 7, {"k": "v"})
    encoded = NEWER.encode(REALM, ID, table)

    assert encoded[:2] == (ID, "table")
    assert NEWER.decode(REALM, encoded) == table


def test_an_empty_unknown_takes_no_space() -> None:
    """An object of known fields is the plain map of them."""
    payload = NEWER.encode(REALM, ID, Newer("t")).data[ENVELOPE.size :]

    assert msgspec.msgpack.decode(payload) == {"name": "t", "columns": [], "owner": 0, "tags": {}}


def test_a_newer_program_reads_what_an_older_one_wrote() -> None:
    """Fields that were not there yet have their defaults."""
    value = NEWER.decode(REALM, OLDER.encode(REALM, ID, Older("t", ["a"])))

    assert value == Newer("t", ["a"], 0, {})


def test_fields_of_a_newer_program_survive_an_older_one() -> None:
    """The older program changes what it knows and writes back all it does not."""
    written = NEWER.encode(REALM, ID, Newer("t", ["a"], 7, {"k": "v"}))
    old = expect(OLDER.decode(REALM, written), Older, ID)
    changed = OLDER.encode(REALM, ID, msgspec.structs.replace(old, name="renamed"))

    assert (old.name, old.columns, set(old.unknown)) == ("t", ["a"], {"owner", "tags"})
    assert NEWER.decode(REALM, changed) == Newer("renamed", ["a"], 7, {"k": "v"})
    assert stored_again(OLDER, written) == written


def test_as_many_other_fields_are_found_by_their_names() -> None:
    """A type that lost one field and gained another has not more fields, and yet an unknown one."""

    class Before(Stored, frozen=True):
        a: int
        b: int = 0

    class After(Stored, frozen=True):
        a: int
        x: int = 7

    types = ObjectTypes([ObjectType("t", After)])
    written = ObjectTypes([ObjectType("t", Before)]).encode(REALM, ID, Before(1, 2))
    value = expect(types.decode(REALM, written), After, ID)

    assert (value.a, value.x, set(value.unknown)) == (1, 7, {"b"})
    assert msgspec.msgpack.decode(stored_again(types, written).data[ENVELOPE.size :]) == {
        "a": 1,
        "x": 7,
        "b": 2,
    }


def test_more_fields_than_a_short_map_holds_survive() -> None:
    """Above 15 fields the map's header is longer; both programs still agree."""
    wide = Wide(*range(100, 120), unknown={"extra": msgspec.Raw(b"\x01")})
    fields = {f"f{i}": msgspec.Raw(msgspec.msgpack.encode(i)) for i in range(30)}
    old = Older("t", unknown=fields)

    assert NEWER.decode(REALM, NEWER.encode(REALM, ID, wide)) == wide
    assert OLDER.decode(REALM, OLDER.encode(REALM, ID, old)) == old
    assert NEWER.decode(REALM, NEWER.encode(REALM, ID, Wide())) == Wide()


@given(
    st.dictionaries(
        st.text(max_size=8).filter(lambda name: name not in {"name", "columns", "?"}),
        st.none() | st.integers(-(2**63), 2**63) | st.binary() | st.lists(st.text(max_size=3)),
        max_size=40,
    )
)
def test_any_unknown_fields_survive(extra: dict[str, object]) -> None:
    """Whatever a newer program may have written, it reads again after an older one wrote."""
    payload = msgspec.msgpack.encode({**extra, "name": "t", "columns": []})
    encoded = OLDER.encode(REALM, ID, Foreign("table", payload))
    again = stored_again(OLDER, stored_again(OLDER, encoded))
    found = OLDER.decode(REALM, again)

    assert isinstance(found, Older)
    assert {name: msgspec.msgpack.decode(raw) for name, raw in found.unknown.items()} == extra


def test_a_map_with_a_long_header_is_read() -> None:
    """Other writers may use the long form for a small map."""
    short = msgspec.msgpack.encode({"name": "t", "new": 1})
    payload = b"\xdf" + (2).to_bytes(4, "big") + short[1:]
    found = OLDER.decode(REALM, OLDER.encode(REALM, ID, Foreign("table", payload)))

    assert found == Older("t", unknown={"new": msgspec.Raw(b"\x01")})
    assert map_header(payload) == (0, 0)


def test_types_of_a_newer_program_survive_an_older_one() -> None:
    """An unknown type is carried as it is and written back unchanged, compressed or not."""
    for size in (10, 2 * COMPRESS_ABOVE_BYTES):
        written = NEWER.encode(REALM, ID, blob(size))
        found = OLDER.decode(REALM, written)

        assert isinstance(found, Foreign)
        assert found.type == "b"
        assert stored_again(OLDER, written) == written


@pytest.mark.parametrize("name", ["a", "x-1", "z" * TYPE_NAME_CHARS_MAX])
def test_type_names_of_any_length_work(name: str) -> None:
    """One character is a name too, also for a program that does not know it."""
    encoded = ObjectTypes([ObjectType(name, Older)]).encode(REALM, ID, Older("t"))

    assert encoded.type == name
    assert NEWER.decode(REALM, encoded) == Foreign(name, encoded.data[ENVELOPE.size :])


@pytest.mark.parametrize("name", ["", "A", "1a", "-a", "a_b", "a\n", "z" * 33, "ä"])
def test_bad_type_names_are_refused(name: str) -> None:
    """A name that breaks its rule is refused when the program is put together."""
    with pytest.raises(BadName, match="is no type name"):
        ObjectTypes([ObjectType(name, Older)])


@pytest.mark.parametrize(
    "twice",
    [
        [ObjectType("a", Older), ObjectType("a", Newer)],
        [ObjectType("a", Older), ObjectType("b", Older)],
    ],
)
def test_names_and_types_are_registered_once(twice: list[ObjectType]) -> None:
    """Two types of one name, or two names of one type, are refused."""
    with pytest.raises(BadName, match="is registered already"):
        ObjectTypes(twice)


def test_a_program_knows_the_types_that_it_registered() -> None:
    """By their names, and no others."""
    types = ObjectTypes([ObjectType("v1", Older)])

    assert types.knows("v1")
    assert not types.knows("v2")


def test_an_unregistered_type_cannot_be_stored() -> None:
    """The error names the class."""
    with pytest.raises(BadName, match="Newer cannot be stored"):
        OLDER.encode(REALM, ID, Newer("t"))


def test_the_unknown_fields_come_last() -> None:
    """A type that encodes fields behind them, or not all, is a mistake found at once."""

    class Behind(Stored, frozen=True, kw_only=True):
        name: str

    class Omitting(Stored, frozen=True, omit_defaults=True):
        name: str = ""

    for name, cls in KERNEL_TYPES:
        fields = [one for one in cls.__struct_encode_fields__ if one != "digest"]
        assert fields[-1] == "?", name

    for cls in (Behind, Omitting):
        with pytest.raises(AssertionError):
            ObjectTypes([ObjectType("a", cls)])


@pytest.mark.parametrize("size", [0, 40, COMPRESS_ABOVE_BYTES + 1])
def test_a_flipped_bit_in_any_byte_is_found_out(size: int) -> None:
    """Each bit of small objects, and each byte of a compressed one, known type or not."""
    encoded = NEWER.encode(REALM, ID, blob(size))
    step = 1 if size < 100 else 11
    for bit in range(0, 8 * len(encoded.data), step):
        for types in (NEWER, OLDER):
            with pytest.raises((CorruptRow, NewerFormat)):
                types.decode(REALM, flipped(encoded, bit))


def test_a_flipped_bit_behind_the_format_is_called_corrupt() -> None:
    """Flags and checksum too: nobody is told to upgrade when the disk is broken."""
    encoded = NEWER.encode(REALM, ID, Newer("t"))
    for bit in range(8, 8 * len(encoded.data)):
        with pytest.raises(CorruptRow, match="checksum"):
            NEWER.decode(REALM, flipped(encoded, bit))


@pytest.mark.parametrize(
    ("realm", "changes"), [("s", {}), (REALM, {"id": ID + 1}), (REALM, {"type": "b"})]
)
def test_a_row_in_a_wrong_place_is_found_out(realm: str, changes: dict[str, object]) -> None:
    """Bytes of another realm, another id or another type do not pass as one's own."""
    encoded = NEWER.encode(REALM, ID, Newer("t"))

    with pytest.raises(CorruptRow, match="checksum"):
        NEWER.decode(realm, encoded._replace(**changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("length", range(ENVELOPE.size + 1))
def test_a_row_that_is_cut_short_is_corrupt(length: int) -> None:
    """Also when not even its header is left."""
    encoded = NEWER.encode(REALM, ID, Newer("t"))

    with pytest.raises(CorruptRow):
        NEWER.decode(REALM, encoded._replace(data=encoded.data[:length]))


@pytest.mark.parametrize("payload", [b"", b"\xc0", b"\x81\xa4name\x01", b"\x93\x01\x02\x03"])
def test_intact_bytes_that_are_no_such_object_are_corrupt(payload: bytes) -> None:
    """A payload that does not fit its type is refused with the reason."""
    encoded = NEWER.encode(REALM, ID, Foreign("table", payload))

    with pytest.raises(CorruptRow, match=r"object 4711 \(table\) of realm 'r'"):
        NEWER.decode(REALM, encoded)


def test_a_newer_format_is_named() -> None:
    """The reader is told to upgrade, and not that the row is broken."""
    encoded = NEWER.encode(REALM, ID, Newer("t"))

    with pytest.raises(NewerFormat, match="format 2, this program knows 1"):
        NEWER.decode(REALM, encoded._replace(data=b"\x02" + encoded.data[1:]))


def test_an_unknown_flag_is_a_newer_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that compresses in another way writes rows that this one must not guess at."""
    monkeypatch.setattr(objects, "PLAIN", 4)
    encoded = NEWER.encode(REALM, ID, Newer("t"))
    monkeypatch.undo()

    with pytest.raises(NewerFormat, match="flags 0x4"):
        NEWER.decode(REALM, encoded)


def test_large_objects_are_compressed() -> None:
    """At the threshold an object is stored plain, one byte above it compressed."""
    frame = len(objects.encode_fields(Blob(b"x" * 10_000))) - 10_000
    plain = NEWER.encode(REALM, ID, Blob(b"x" * (COMPRESS_ABOVE_BYTES - frame)))
    compressed = NEWER.encode(REALM, ID, Blob(b"x" * (COMPRESS_ABOVE_BYTES - frame + 1)))

    assert len(plain.data) == ENVELOPE.size + COMPRESS_ABOVE_BYTES
    assert len(compressed.data) < 100
    assert NEWER.decode(REALM, compressed) == Blob(b"x" * (COMPRESS_ABOVE_BYTES - frame + 1))


def test_an_object_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size and the limit are in the message."""
    monkeypatch.setattr(objects, "OBJECT_BYTES_MAX", 1_000)

    with pytest.raises(TooLarge, match=r"limit is 1,000"):
        NEWER.encode(REALM, ID, Blob(b"x" * 1_000))


@pytest.mark.parametrize("size", [1, ROW_BYTES_MAX, ROW_BYTES_MAX + 1, 3 * ROW_BYTES_MAX + 5])
def test_objects_are_split_into_rows_and_joined(size: int) -> None:
    """No row is over the limit, and their order does not matter."""
    encoded = Encoded(ID, "b", bytes(size))
    rows = split(REALM, encoded)

    assert [row.part for row in rows] == list(range(-(-size // ROW_BYTES_MAX)))
    assert all(row.parts == len(rows) and len(row.value) <= ROW_BYTES_MAX for row in rows)
    assert join(rows[::-1]) == encoded


def test_missing_and_mixed_parts_are_found_out() -> None:
    """A part that is absent, there twice, or of another object makes the object corrupt."""
    rows = split(REALM, Encoded(ID, "b", bytes(2 * ROW_BYTES_MAX + 1)))
    other = split(REALM, Encoded(ID, "b", bytes(ROW_BYTES_MAX + 1)))
    renamed = split(REALM, Encoded(ID, "a", bytes(2 * ROW_BYTES_MAX + 1)))
    broken = [
        rows[:2],
        rows[1:],
        [*rows, rows[1]],
        [rows[0], rows[1], rows[1]],
        [rows[0], other[1], rows[2]],
        [rows[0], renamed[1], rows[2]],
    ]

    for parts in broken:
        with pytest.raises(CorruptRow, match="do not fit together"):
            join(parts)


def test_parts_of_two_versions_of_an_object_are_found_out() -> None:
    """Rows that fit together by number are still covered by one checksum."""
    one, two = (
        split(REALM, OLDER.encode(REALM, ID, Foreign("b", Random(seed).randbytes(ROW_BYTES_MAX))))
        for seed in (1, 2)
    )
    mixed = join([one[0], two[1]])

    with pytest.raises(CorruptRow, match="checksum"):
        OLDER.decode(REALM, mixed)


def test_a_conditional_row_is_one_row() -> None:
    """The version is kept; what does not fit into one row is refused."""
    row = single(REALM, Encoded(ID, "b", bytes(ROW_BYTES_MAX)), 9)

    assert (row.part, row.parts, row.version) == (0, 1, 9)
    with pytest.raises(TooLarge, match="cannot be written conditionally"):
        single(REALM, Encoded(ID, "b", bytes(ROW_BYTES_MAX + 1)), 9)


@pytest.mark.parametrize("found", [Older("t"), Foreign("table", b"")])
def test_the_wrong_type_is_named(found: object) -> None:
    """The error says what was expected and what was found."""
    with pytest.raises(WrongType, match=r"4711 is not a Newer: the id belongs to a (Older|table)"):
        expect(found, Newer, ID)


def test_the_garbage_collector_looks_at_no_stored_object() -> None:
    """Caches hold very many of them, and a full collection would stop everybody."""
    read = NEWER.decode(REALM, NEWER.encode(REALM, ID, Newer("t", tags={"a": "b"})))

    assert not gc.is_tracked(read)
