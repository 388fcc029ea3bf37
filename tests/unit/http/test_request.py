"""What handlers get: raw parts, decoded when asked for; bodies that are refused with a reason."""

import msgspec
import pytest

from headgate.errors import BadRequest
from headgate.http.request import Request, decode, headers_by_name, json_response


class Point(msgspec.Struct):
    x: int
    label: str = ""


def posted(body: bytes) -> Request:
    return Request("POST", "/points", body=body)


def test_a_query_is_decoded_with_plus_as_a_space() -> None:
    """Java clients write a space as `+`, others as `%20`."""
    request = Request("GET", "/", raw_query="parent=a+b%20c%2Bd&x=1&x=2")

    assert request.query == {"parent": ["a b c+d"], "x": ["1", "2"]}


def test_an_empty_value_differs_from_an_absent_one() -> None:
    """`pageToken=` starts a pagination, and its absence does not."""
    request = Request("GET", "/", raw_query="pageToken=&flag")

    assert [request.first(name) for name in ("pageToken", "flag", "none")] == ["", "", None]


def test_a_value_can_be_had_before_it_is_decoded() -> None:
    """What is split at commas is split before an encoded comma becomes one."""
    request = Request("GET", "/", raw_query="referenced%2Dby=a%2Cb,c")

    assert request.first_encoded("referenced-by") == "a%2Cb,c"
    assert request.first("referenced-by") == "a,b,c"
    assert request.first_encoded("other") is None


def test_a_request_without_a_query_has_no_parameters() -> None:
    """Nothing is read out of nothing."""
    assert Request("GET", "/").query == {}


def test_a_query_that_is_not_utf_8_is_refused() -> None:
    """Replacing bytes would turn one name into another."""
    with pytest.raises(BadRequest, match="not UTF-8"):
        _ = Request("GET", "/", raw_query="a=%ff").query


def test_a_query_of_too_many_parameters_is_refused() -> None:
    """Nobody makes the server sort a thousand parameters."""
    with pytest.raises(BadRequest, match="more than 100 parameters"):
        _ = Request("GET", "/", raw_query="&".join("a=1" for _ in range(101))).query


def test_a_body_becomes_a_value_of_the_wanted_type() -> None:
    """Decoding checks types and fills defaults in."""
    assert decode(posted(b'{"x":3}'), Point) == Point(3)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "no body"),
        (b"{", "truncated"),
        (b'{"x":"3"}', r"got `str` - at `\$\.x`"),
        (b'{"label":"a"}', "missing required field `x`"),
        (b"[]", "got `array`"),
        (b'{"x":1,"label":"\xff"}', "utf-8"),
        (b'{"x":1,"more":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"x":' + b"9" * 10_000 + b"}", "out of range"),
        (b'{"x":1,"label":"\\ud800"}', "not what POST takes"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_with_what_and_where(body: bytes, why: str) -> None:
    """Rubbish is the client's mistake, never an internal error."""
    with pytest.raises(BadRequest, match=f"(?i){why}"):
        decode(posted(body), Point)


def test_a_header_that_came_twice_is_joined() -> None:
    """As HTTP has it: the order of the values is kept."""
    headers = headers_by_name([(b"accept", b"a"), (b"host", b"h"), (b"accept", b"b")])

    assert headers == {"accept": "a, b", "host": "h"}


def test_a_json_response_says_what_it_is() -> None:
    """Headers given are added to the content type."""
    response = json_response(200, Point(1, "a"), [("etag", "7")])

    assert response.body == b'{"x":1,"label":"a"}'
    assert response.headers == [("content-type", "application/json"), ("etag", "7")]
