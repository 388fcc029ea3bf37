"""Arrays that are kept encoded, and the values they are made of."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import BadMetadata
from headgate.model.json_arrays import PIECES_MAX, VIEW_ABOVE_BYTES, JsonArray
from headgate.model.json_values import builtins, convert, members, with_member

VALUES = st.lists(st.integers() | st.text() | st.lists(st.none(), max_size=2), max_size=5)


def array(values: list[object]) -> JsonArray:
    return JsonArray.parse(json.dumps(values).encode(), "values")


def text(array: JsonArray) -> bytes:
    return b"".join(array.encoded())


@given(VALUES, VALUES)
def test_an_array_is_what_was_appended(first: list[object], more: list[object]) -> None:
    """Whatever it was read from."""
    grown = array(first)
    for value in more:
        grown = grown.appended(json.dumps(value).encode())
    elements = [json.loads(bytes(each)) for each in grown.elements()]

    assert json.loads(text(grown)) == elements == first + more
    assert bool(grown) == bool(elements)
    last = grown.last()
    assert (last is None) == (not elements)
    assert last is None or json.loads(bytes(last)) == elements[-1]


def test_many_appends_are_joined() -> None:
    """An array does not fall into ever more pieces."""
    grown = array([])
    for number in range(3 * PIECES_MAX):
        grown = grown.appended(b"%d" % number)

    assert json.loads(text(grown)) == list(range(3 * PIECES_MAX))
    assert len(list(grown.encoded())) <= 2 * PIECES_MAX + 3


def test_arrays_are_equal_by_their_bytes() -> None:
    """However they came about."""
    grown = JsonArray.of([b"1"]).appended(b"2")

    assert grown == JsonArray.parse(b"[1,2]", "values")
    assert hash(grown) == hash(JsonArray.of([b"1", b"2"]))
    assert grown != JsonArray.of([b"1", b"3"])
    assert grown != JsonArray.of([b"1"])
    assert grown != b"[1,2]"
    assert repr(grown) == "JsonArray(5 bytes)"


def test_a_long_array_is_not_copied() -> None:
    """It stays a part of the file that it was read from."""
    data = json.dumps(["x" * VIEW_ABOVE_BYTES]).encode()

    assert any(isinstance(piece, memoryview) for piece in JsonArray.parse(data, "x").encoded())
    assert text(JsonArray.parse(data, "x")) == data


@pytest.mark.parametrize("data", [b"{}", b"3", b'"["'])
def test_what_is_no_array_is_refused(data: bytes) -> None:
    """Its name is told."""
    with pytest.raises(BadMetadata, match="Cannot parse names"):
        JsonArray.parse(data, "names")


def test_one_member_is_set_and_others_stay_as_they_were() -> None:
    """Byte by byte, so that numbers keep their spelling."""
    assert with_member(b'{"a": 1.50,"b":2}', "b", 3) == b'{"a":1.50,"b":3}'
    assert with_member(b"{}", "b", None) == b'{"b":null}'


def test_values_are_read_encoded_or_not() -> None:
    """Errors say what was read and why it could not be."""
    assert builtins(b"[1]", "x") == builtins([1], "x") == [1]
    with pytest.raises(BadMetadata, match=r"^Cannot parse thing: expected `int`, got `str`$"):
        convert("x", int, "thing")
    with pytest.raises(BadMetadata, match=r"^Cannot parse thing: it is nested too deeply$"):
        members(b'{"a":' * 5_000, "thing")
