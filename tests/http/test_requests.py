"""Requests and answers over real connections."""

import re
import socket
import zlib
from urllib.parse import urlsplit

import httpx
import pytest
import zstandard

from tests.http.conftest import DemoServer, eventually
from tests.http.demo import BODY_BYTES_MAX


def exchange(server: DemoServer, sent: bytes, *, seconds: float = 5.0) -> bytes:
    """Everything that comes back on one connection until the server closes it, or is silent."""
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname, place.port)) as connection:
        connection.settimeout(seconds)
        connection.sendall(sent)
        received = b""
        try:
            while piece := connection.recv(65_536):
                received += piece
        except TimeoutError:
            pass
        return received


def head(path: str, *headers: str, method: str = "GET") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: x", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


@pytest.mark.parametrize("name", ["a%1Fb", "a%2Fb", "a+b", "a%20b", "%C3%A4", "%25", "%00", "a;b"])
def test_names_arrive_as_they_were_encoded(client: httpx.Client, name: str) -> None:
    """Neither client libraries nor servers may decode what the handler splits."""
    answer = client.get(httpx.URL(str(client.base_url) + f"/iceberg/v1/echo/{name}"))

    assert answer.json()["params"] == {"name": name}


def test_header_names_arrive_in_lower_case(server: DemoServer) -> None:
    """Handlers look headers up by one spelling."""
    answer = exchange(server, head("/iceberg/v1/echo/a", "X-THING: Value", "connection: close"))

    assert b'"x-thing":"Value"' in answer


def test_a_body_arrives_whole(client: httpx.Client) -> None:
    """Also when its length is not announced."""
    by_length = client.post("/iceberg/v1/echo/a", content=b"x" * 70_000)
    in_chunks = client.post("/iceberg/v1/echo/a", content=iter([b"x" * 40_000] * 2))

    assert by_length.json()["bytes"] == 70_000
    assert in_chunks.json()["bytes"] == 80_000


@pytest.mark.parametrize(
    "content",
    [b"x" * (BODY_BYTES_MAX + 1), [b"x" * 50_000] * 3],
    ids=["length", "chunks"],
)
def test_a_body_over_the_limit_is_refused(
    client: httpx.Client, content: bytes | list[bytes]
) -> None:
    """Iceberg clients show the message of a 400."""
    answer = client.post(
        "/iceberg/v1/echo/a", content=content if isinstance(content, bytes) else iter(content)
    )

    assert answer.status_code == 400
    assert "more than the allowed 100000 bytes" in answer.json()["error"]["message"]
    assert client.get("/iceberg/v1/echo/a").status_code == 200


def test_a_body_that_does_not_end_is_refused_when_time_is_up(server: DemoServer) -> None:
    """Nothing was done, so the client may try again, also if it wanted to commit."""
    sent = head("/iceberg/v1/commit/0", "content-length: 9", method="POST") + b"x"

    answer = exchange(server, sent)
    assert b" 408 " in answer
    assert b"retry-after: 1" in answer


def test_head_has_the_headers_of_get_and_no_body(server: DemoServer) -> None:
    """The connection stays usable: the next answer begins where this one ends."""
    sent = head("/iceberg/v1/big/1000", method="HEAD")
    sent += head("/iceberg/v1/there/no", method="HEAD")
    sent += head("/iceberg/v1/there/yes", "connection: close", method="HEAD")

    answer = exchange(server, sent)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"404", b"204"]
    assert b"content-length: 1000" in answer
    assert b"0123456789" not in answer
    assert b"error" not in answer


def test_requests_sent_ahead_are_answered_in_order(server: DemoServer) -> None:
    """A slow one holds up those behind it on the same connection, and only those."""
    sent = head("/iceberg/v1/slow/0.2") + head("/iceberg/v1/echo/second", "connection: close")

    answer = exchange(server, sent)
    assert answer.index(b" 204 ") < answer.index(b"second")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (head("/" + "a" * 70_000), b"414"),
        (head("/iceberg/v1/echo/a\x1fb"), b"400"),
        (head("/iceberg/v1/echo/\xc3\xa4", "connection: close"), b"400"),
        (head("/iceberg/v1/echo/a?q=\xc3\xa4", "connection: close"), b"400"),
        (head("/iceberg/v1/echo/a", "content-length: 3", "content-length: 4"), b"400"),
        (head("/", *(f"h{number}: v" for number in range(120))), b"431"),
        (b"\x16\x03\x01 TLS\r\n\r\n", b"400"),
    ],
    ids=[
        "long path",
        "control",
        "path not ASCII",
        "query not ASCII",
        "two lengths",
        "many headers",
        "no http",
    ],
)
def test_what_is_not_http_is_refused_before_it_reaches_us(
    server: DemoServer, sent: bytes, status: bytes
) -> None:
    """The server below answers these, and closes the connection."""
    assert exchange(server, sent).startswith(b"HTTP/1.1 " + status)


def test_a_request_id_is_kept_if_it_is_harmless(client: httpx.Client) -> None:
    """It joins the client's log to ours."""
    kept = client.get("/health", headers={"x-request-id": "abc-1.2:3"})
    refused = client.get("/health", headers={"x-request-id": 'evil" id'})
    made = client.get("/health")

    ids = [answer.headers["x-request-id"] for answer in (kept, refused, made)]
    assert ids[0] == "abc-1.2:3"
    assert re.fullmatch(r"[0-9a-f]{16}-[0-9a-f]+", ids[1])
    assert len(set(ids)) == 3


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip, deflate", "gzip"), ("zstd;q=1, gzip;q=0.5", "zstd"), ("identity", None), ("", None)],
)
@pytest.mark.parametrize("size", [2_000, 200_000])
def test_answers_are_compressed_for_those_who_ask(
    server: DemoServer, accepted: str, coding: str | None, size: int
) -> None:
    """Small ones at once, large ones beside the loop."""
    ask = head(f"/iceberg/v1/big/{size}", f"accept-encoding: {accepted}", "connection: close")
    headers, _, body = exchange(server, ask).partition(b"\r\n\r\n")

    assert b"vary: accept-encoding" in headers
    assert (f"content-encoding: {coding}".encode() in headers) == (coding is not None)
    if coding == "gzip":
        body = zlib.decompress(body, 31)
    elif coding == "zstd":
        body = zstandard.decompress(body)
    assert body == b"0123456789" * (size // 10)


def test_a_small_answer_is_not_compressed(client: httpx.Client) -> None:
    """It would only grow."""
    answer = client.get("/iceberg/v1/big/1000")

    assert "content-encoding" not in answer.headers


def test_a_body_that_is_compressed_already_is_sent_as_it_is(client: httpx.Client) -> None:
    """Handlers keep compressed answers."""
    answer = client.get("/iceberg/v1/packed")

    assert answer.headers["content-encoding"] == "gzip"
    assert answer.json() == "x" * 5000


def test_errors_have_the_form_of_their_protocol(client: httpx.Client) -> None:
    """Paths of Iceberg answer as Iceberg does, others as Headgate does."""
    known = client.get("/iceberg/v1/fail/TableNotFound")
    unknown = client.get("/iceberg/v1/nothing/here")
    other = client.get("/nothing")
    method = client.delete("/iceberg/v1/echo/a")

    assert known.json() == {
        "error": {
            "message": "it failed: it was asked to. Stop",
            "type": "NoSuchTableException",
            "code": 404,
        }
    }
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (400, "BadRequestException")
    assert (other.status_code, other.json()["error"]["type"]) == (404, "PathNotFound")
    assert (method.status_code, method.headers["allow"]) == (405, "GET, POST")


def test_an_unexpected_error_is_logged_and_not_shown(
    server: DemoServer, client: httpx.Client
) -> None:
    """Clients get the request's id; the log under that id has the traceback."""
    answer = client.get("/iceberg/v1/bug", headers={"x-request-id": "bug-1"})

    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "bug-1" in answer.json()["error"]["message"]
    assert eventually(
        lambda: any(
            line.get("request_id") == "bug-1" and "secret 42" in line.get("error", "")
            for line in server.lines()
        )
    )


def test_each_request_is_one_line_in_the_log(server: DemoServer, client: httpx.Client) -> None:
    """With what is needed to find it and to see what it cost. Probes are left out."""
    client.get("/iceberg/v1/echo/a%2Fb?q=1", headers={"x-request-id": "logged-1"})
    client.get("/health", headers={"x-request-id": "probe-1"})
    client.get("/iceberg/v1/echo/b", headers={"x-request-id": "logged-2"})

    ids = {"logged-1", "probe-1", "logged-2"}
    assert eventually(lambda: any(line.get("request_id") == "logged-2" for line in server.lines()))
    lines = [line for line in server.lines() if line.get("request_id") in ids]
    assert [line["request_id"] for line in lines] == ["logged-1", "logged-2"]
    line = lines[0]
    assert line["ms"] > 0
    assert {
        name: line[name] for name in line if name not in {"time", "message", "ms", "bytes"}
    } == {
        "level": "info",
        "logger": "headgate.access",
        "method": "GET",
        "path": "/iceberg/v1/echo/a%2Fb",
        "route": "/iceberg/v1/echo/{name}",
        "status": 200,
        "database_reads": 0,
        "request_id": "logged-1",
        "principal": "anonymous",
    }
