"""A server over HTTP, as pipelines ask it."""

import json
import pickle
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from headgate import errors
from headgate.errors import (
    AlreadyExists,
    BadSetting,
    CatalogNotFound,
    Conflict,
    Forbidden,
    HeadgateError,
    LeaseLost,
    NotAuthenticated,
    NotFound,
    OutcomeUnknown,
    Overloaded,
    TableNotFound,
    Unavailable,
)
from headgate.pipelines import sending
from headgate.pipelines.names import TableName, quoted
from headgate.pipelines.sending import failure
from headgate.pipelines.server import Credential, Server
from headgate.testing.private_server import free_port

CONFIG = {"overrides": {"prefix": "lake.main", "namespace-separator": "%3A"}, "defaults": {}}
Answers = dict[str, Any]


class Scripted(ThreadingHTTPServer):
    """Answers each request with what is noted for it; a list is answered one by one."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: Answers = {}
        self.asked: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that is cut on purpose is no news."""


class Handler(BaseHTTPRequestHandler):
    server: Scripted

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65_537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        noted = self.server
        noted.asked.append((self.command, self.path))
        noted.headers.append({name.lower(): text for name, text in self.headers.items()})
        noted.bodies.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        answer = noted.answers[self.path]
        if isinstance(answer, list):
            answer = answer.pop(0)
        if answer is None:
            self.close_connection = True
            return
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(name="scripted")
def _scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.setattr(sending, "PIPELINE_PAUSE_SECONDS_MIN", 0.001)
    with Scripted() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        server.answers["/iceberg/v1/config?warehouse=main"] = CONFIG
        yield server
        server.shutdown()


def problem(status: int, type: str, message: str = "words") -> tuple[int, Any]:
    return status, {"error": {"message": message, "type": type, "code": status}}


def test_who_asks_is_told_in_a_header(scripted: Scripted) -> None:
    """A token, a password, or nobody; what lies in ~/.netrc is not looked at."""
    scripted.answers["/x?a=b+c"] = {"ok": 1}

    for server in (
        Server(scripted.url, token="t", user="u"),
        Server(scripted.url, user="u", password="p"),
        Server(scripted.url),
    ):
        assert server.get("/x", a="b c") == {"ok": 1}

    told = [headers.get("authorization") for headers in scripted.headers]
    assert told == ["Bearer t", "Basic dTpw", None]


def test_bodies_are_json(scripted: Scripted) -> None:
    """An empty answer is None."""
    scripted.answers |= {"/x": {"a": [1]}, "/y?n=1": (204, b"")}
    server = Server(scripted.url)

    assert server.post("/x", {"b": 2}) == {"a": [1]}
    assert server.put("/x") == {"a": [1]}
    assert server.delete("/y", n="1") is None
    assert scripted.bodies == [b'{"b":2}', b"", b""]


def test_it_can_be_pickled(scripted: Scripted) -> None:
    """With who asks, and without its connections; its text has no secret."""
    scripted.answers["/x"] = 1
    server = Server(scripted.url, token="secret", metalake="lake")
    server.get("/x")

    copy: Server = pickle.loads(pickle.dumps(server))

    assert copy.get("/x") == 1
    assert (copy.metalake, copy.authorization) == ("lake", "Bearer secret")
    assert "secret" not in repr(copy)


@pytest.mark.parametrize(
    "url", ["h:8181", "ftp://h", "http://", "http://u:p@h", "http://h:x", "http://h?a"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """Without showing it: a password may be in it."""
    with pytest.raises(BadSetting, match=r"^the address of the server cannot be used: it is not"):
        Server(url)


def test_the_address_for_iceberg_is_understood() -> None:
    """It is what people have at hand."""
    assert Server("http://h:1/iceberg/").url == "http://h:1"
    assert Server("http://h:1/").iceberg_url == "http://h:1/iceberg"


def test_lists_come_page_by_page_from_all_levels(scripted: Scripted) -> None:
    """Odd names are written so that the server reads them; what went meanwhile is left out."""
    base = "/iceberg/v1/lake.main/namespaces"
    page = "pageToken={}&pageSize=1000"
    scripted.answers |= {
        f"{base}?{page.format('')}": {"namespaces": [["a"]], "next-page-token": "n"},
        f"{base}?{page.format('n')}": {"namespaces": [["gone"]], "next-page-token": None},
        f"{base}?{page.format('')}&parent=a": {"namespaces": [["a", "b/ü"]]},
        f"{base}?{page.format('')}&parent=a%3Ab%2F%C3%BC": {"namespaces": []},
        f"{base}?{page.format('')}&parent=gone": problem(404, "NoSuchNamespaceException"),
        f"{base}/a/tables?{page.format('')}": {"identifiers": [{"name": "t"}]},
        f"{base}/a%3Ab%2F%C3%BC/tables?{page.format('')}": {"identifiers": [{"name": "x y"}]},
        f"{base}/gone/tables?{page.format('')}": problem(404, "NoSuchNamespaceException"),
    }

    found = list(Server(scripted.url).tables("main"))

    assert found == [TableName("main", ("a",), "t"), TableName("main", ("a", "b/ü"), "x y")]
    assert found[1].sql == "hg.`a`.`b/ü`.`x y`"
    assert str(found[0]) == "main.a.t"
    assert quoted("a`b") == "`a``b`"


def test_a_table_is_loaded_with_its_keys(scripted: Scripted) -> None:
    """Its metadata stays the bytes it was."""
    path = "/iceberg/v1/lake.main/namespaces/a/tables/t%20x?snapshots=refs"
    answer = b'{"metadata": {"format-version" : 2}, "metadata-location": "/m.json", '
    answer += b'"config": {"c": "1"}, '
    answer += b'"storage-credentials": [{"prefix": "s3://b", "config": {"k": "secret"}}]}'
    scripted.answers[path] = (200, answer)

    table = Server(scripted.url).load(TableName("main", ("a",), "t x"), "refs", credentials=True)

    assert table.metadata == b'{"format-version" : 2}'
    assert table.document() == {"format-version": 2}
    assert (table.metadata_location, table.config) == ("/m.json", {"c": "1"})
    assert table.credentials == (Credential("s3://b", {"k": "secret"}),)
    assert scripted.headers[-1]["x-iceberg-access-delegation"] == "vended-credentials"
    assert "secret" not in repr(table)


def test_catalogs_are_those_with_tables_of_iceberg(scripted: Scripted) -> None:
    """Of the metalake that the server takes by default."""
    scripted.answers |= {
        "/iceberg/v1/config": CONFIG,
        "/api/metalakes/lake/catalogs?details=true": {
            "catalogs": [
                {
                    "name": "m",
                    "provider": "lakehouse-iceberg",
                    "properties": {"headgate.location": "/w"},
                },
                {"name": "k", "provider": "kafka", "properties": {}},
            ]
        },
    }

    [only] = Server(scripted.url).catalogs()

    assert (only.name, only.location) == ("m", "/w")


def test_without_a_default_the_only_metalake_is_meant(scripted: Scripted) -> None:
    """And if there are several, one has to be named."""
    one, two = {"name": "a"}, {"name": "b"}
    scripted.answers |= {
        "/iceberg/v1/config": problem(404, "NoSuchWarehouseException"),
        "/api/metalakes": [{"metalakes": [one]}, {"metalakes": [one, two]}],
    }

    assert Server(scripted.url).metalake == "a"
    with pytest.raises(BadSetting, match=r"2 are there for you\. Name one with --metalake"):
        Server(scripted.url).metalake  # noqa: B018  it asks


def test_a_server_that_is_not_there_is_told_at_once() -> None:
    """Why, and where to look."""
    url = f"http://127.0.0.1:{free_port()}"

    with pytest.raises(Unavailable) as refused:
        Server(url).get("/x")

    assert str(refused.value) == (
        f"the server at {url} cannot be reached: [Errno 111] Connection refused. "
        "Check that it runs, and the address in --server"
    )


def test_a_server_that_is_busy_is_asked_again(scripted: Scripted) -> None:
    """Nothing was done, so nothing is done twice."""
    scripted.answers["/x"] = [problem(429, "Overloaded"), problem(503, "Unavailable"), {"ok": 1}]

    assert Server(scripted.url).post("/x", {}) == {"ok": 1}


def test_patience_ends(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then what the server said is told."""
    monkeypatch.setattr(sending, "PIPELINE_RETRY_SECONDS_MAX", 0.0)
    scripted.answers["/x"] = problem(429, "TooManyRequestsException", "too many")

    with pytest.raises(Overloaded, match=r"^too many$"):
        Server(scripted.url).get("/x")


def test_what_gets_no_better_is_not_asked_again(scripted: Scripted) -> None:
    """A lease that is lost is lost."""
    scripted.answers["/x"] = [problem(503, "LeaseLost")]

    with pytest.raises(LeaseLost):
        Server(scripted.url).post("/x")


def test_a_look_is_repeated_when_the_connection_breaks(scripted: Scripted) -> None:
    """A server that has answered before may be restarting."""
    scripted.answers["/x"] = [1, None, 2]
    server = Server(scripted.url)

    assert [server.get("/x"), server.get("/x")] == [1, 2]


def test_a_change_is_not_repeated_when_the_connection_breaks(scripted: Scripted) -> None:
    """It may have been made."""
    scripted.answers["/x"] = [1, None]
    server = Server(scripted.url)
    server.get("/x")

    with pytest.raises(OutcomeUnknown, match="did not answer a request to change something"):
        server.post("/x")


@pytest.mark.parametrize(
    ("status", "type", "kind"),
    [
        (401, "NotAuthorizedException", NotAuthenticated),
        (401, "NotAuthenticated", NotAuthenticated),
        (403, "ForbiddenException", Forbidden),
        (404, "NoSuchTableException", TableNotFound),
        (404, "NoSuchCatalogException", CatalogNotFound),
        (404, "Whatever", NotFound),
        (409, "AlreadyExistsException", AlreadyExists),
        (409, "RoleAlreadyExistsException", AlreadyExists),
        (409, "CommitFailedException", Conflict),
        (500, "InternalError", HeadgateError),
    ],
)
def test_refusals_keep_their_kind_and_words(
    status: int, type: str, kind: type[HeadgateError]
) -> None:
    """In each of the server's protocols."""
    body = json.dumps({"error": {"message": "said", "type": type}}).encode()
    gravitino = json.dumps({"code": 1, "type": type, "message": "said"}).encode()

    for told in (failure(status, body, "GET x"), failure(status, gravitino, "GET x")):
        assert told.__class__ is kind
        assert told.what == "said"
        assert ("HEADGATE_TOKEN" in told.fix) == (status == 401)


@pytest.mark.parametrize(
    ("message", "what", "fix"),
    [
        ("no: off. Turn it on", "no: off", "Turn it on"),
        ("no. So. `headgate x` does", "no. So", "`headgate x` does"),
        ("v1. and so on", "v1. and so on", ""),
        ("no. ", "no. ", ""),
    ],
)
def test_what_to_do_is_known_by_itself(message: str, what: str, fix: str) -> None:
    """The server says it at the end; for scripts it is a member of its own."""
    body = json.dumps({"error": {"message": message, "type": "Conflict"}}).encode()
    told = failure(409, body, "GET x")

    assert (told.what, told.fix) == (what, fix)


def test_another_program_on_that_port_is_noticed(scripted: Scripted) -> None:
    """Its answer means nothing to us."""
    scripted.answers["/x"] = (404, b"<html>")

    with pytest.raises(HeadgateError, match=r"the answer is not one of Headgate's\. Check the"):
        Server(scripted.url).get("/x")


def test_every_name_of_an_error_is_in_the_tree() -> None:
    """The tables have no other."""
    kinds = {*sending.KINDS.values(), *sending.STATUSES.values(), *sending.LASTING}

    assert all(getattr(errors, kind.__name__) is kind for kind in kinds)
