"""Arrays that are kept encoded."""

import json

import pytest

from headgate.model.json_arrays import PIECE_BYTES_MIN, PIECES_MAX, JsonArray


@pytest.mark.parametrize("size", [1, PIECE_BYTES_MIN // 3, PIECE_BYTES_MIN + 1])
@pytest.mark.parametrize("start", [[], ["a"], ["a", "b"]])
def test_appends_are_all_there_and_few_pieces(size: int, start: list[str]) -> None:
    """Whatever the length of the elements: short ones grow together, long ones are joined."""
    array = JsonArray.parse(json.dumps(start).encode(), "array")
    wanted = [*start]
    for number in range(2 * PIECES_MAX + 3):
        wanted.append(f"{number}".rjust(size))
        array = array.appended(json.dumps(wanted[-1]).encode())
        assert len(list(array.encoded())) <= 2 * PIECES_MAX + 3

    assert json.loads(b"".join(array.encoded())) == wanted
    assert len(array) == len(wanted)
    assert array.last() == json.dumps(wanted[-1]).encode()


def test_the_length_is_carried_on() -> None:
    """It is right however an array came to be."""
    assert len(JsonArray()) == 0
    assert len(JsonArray.of([])) == 0
    assert len(JsonArray.of([b"1", b"2"]).appended(b"3")) == 3
    assert len(JsonArray.parse(b"[ ]", "array")) == 0
    counted = JsonArray.parse(b"[1, [2, 3]]", "array")
    assert len(counted) == 2
    assert len(counted.appended(b"4")) == 3
    assert [bytes(each) for each in counted.elements()] == [b"1", b"[2, 3]"]
