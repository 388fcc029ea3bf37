"""The front without a server."""

import asyncio
import json
import logging
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import pytest
import zstandard

from headgate import errors
from headgate.clock import SystemClock
from headgate.http.compression import compress_now
from headgate.http.front import Front, FrontOptions
from headgate.http.measures import Measures
from headgate.http.origins import hosts_of
from headgate.http.problems import ICEBERG, PLAIN
from headgate.http.request import Message, Request, Response
from headgate.http.router import Route, Surface
from tests.unit.http.asgi import ask

LIMITS = FrontOptions(requests_max=2, request_seconds_max=0.2, body_bytes_max=10)


class Service:
    """Handlers, and what they saw."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.open = 0

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/a/{name}", _note, "note"),
            Route("POST", "/a/{name}", _note, "noteBody"),
            Route("POST", "/short", _note, "noteShortBody", body_bytes_max=5),
            Route("GET", "/big/{key}", _big, "big"),
            Route("GET", "/wait", _wait, "wait"),
            Route("POST", "/wait", _wait, "waitCommit", writes=True),
            Route("GET", "/probe", _note, "probe", probe=True),
            Route("GET", "/fail/{name}", _fail, "fail"),
        ]


async def _note(service: Service, request: Request) -> Response:
    service.requests.append(request)
    return Response(200, [b"he", b"llo"], [("ETag", "1")])


async def _big(service: Service, request: Request) -> Response:
    key = request.params["key"]
    return Response(200, b"0123456789" * 500, key=("big", key) if key != "none" else None)


async def _wait(service: Service, request: Request) -> Response:
    await asyncio.sleep(30)
    return Response(204)


async def _fail(service: Service, request: Request) -> Response:
    raise getattr(errors, request.params["name"])("it failed")


@asynccontextmanager
async def opened(options: FrontOptions = LIMITS) -> AsyncIterator[tuple[Front, Service]]:
    service = Service()

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        service.open += 1
        yield [Surface("/s", service.routes(), service, ICEBERG), Surface("", (), None, PLAIN)]
        service.open -= 1

    async with Front(opening, SystemClock(), Measures(), seed=10, options=options) as front:
        yield front, service
    assert service.open == 0


@contextmanager
def access_lines() -> Iterator[list[logging.LogRecord]]:
    """What reaches the access log meanwhile."""
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    logger = logging.getLogger("headgate.access")
    handler = Keep()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield records
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


async def test_a_request_without_a_body_is_not_waited_for() -> None:
    """The trip into the server costs more than all else."""
    async with opened() as (front, service):
        nothing = await ask(front, "GET", "/s/a/x?q=1")
        zero = await ask(front, "POST", "/s/a/x", content_length="0")
        some = await ask(front, "POST", "/s/a/x", b"ab", b"c")

    assert [answer.received for answer in (nothing, zero, some)] == [0, 0, 2]
    assert [request.body for request in service.requests] == [b"", b"", b"abc"]
    assert service.requests[0].query == {"q": ["1"]}
    assert nothing.body == b"hello"
    assert nothing.headers == {
        "ETag": "1",
        "x-content-type-options": "nosniff",
        "server": "http",
        "x-request-id": "000000000000000a-1",
    }


async def test_a_body_over_the_limit_never_reaches_the_handler() -> None:
    """Reading stops after as much again, so that a client which has finished sees the answer."""
    async with opened() as (front, service):
        announced = await ask(front, "POST", "/s/a/x", b"x" * 11, content_length="11")
        chunked = await ask(front, "POST", "/s/a/x", *[b"x" * 6] * 9)

    assert (announced.status, chunked.status) == (400, 400)
    assert chunked.received == 4
    assert b"more than the allowed 10 bytes" in chunked.body
    assert service.requests == []


async def test_a_route_can_take_less_than_the_server() -> None:
    """The smaller of both limits holds, and the message names it."""
    async with opened() as (front, service):
        allowed = await ask(front, "POST", "/s/short", b"x" * 5)
        refused = await ask(front, "POST", "/s/short", *[b"x"] * 99)

    assert (allowed.status, refused.status) == (200, 400)
    assert refused.received == 11
    assert b"more than the allowed 5 bytes" in refused.body
    assert len(service.requests) == 1


async def test_what_was_compressed_is_not_compressed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Per key and coding, also for those who ask at the same time; without a key it is."""
    compressed: list[str] = []

    def counted(body: bytes, coding: str) -> bytes:
        compressed.append(coding)
        return compress_now(body, coding)

    monkeypatch.setattr("headgate.http.compression.compress_now", counted)
    async with opened() as (front, _):
        both = [ask(front, "GET", "/s/big/a", accept_encoding="gzip") for _ in range(2)]
        answers = await asyncio.gather(*both)
        answers.append(await ask(front, "GET", "/s/big/a", accept_encoding="gzip"))
        answers.append(await ask(front, "GET", "/s/big/a", accept_encoding="zstd"))
        answers.append(await ask(front, "GET", "/s/big/b", accept_encoding="gzip"))
        assert compressed == ["gzip", "zstd", "gzip"]
        for _ in range(2):
            answers.append(await ask(front, "GET", "/s/big/none", accept_encoding="gzip"))

    assert compressed == ["gzip", "zstd", "gzip", "gzip", "gzip"]
    assert {answer.headers["content-encoding"] for answer in answers} == {"gzip", "zstd"}
    for answer in answers:
        gzip = answer.headers["content-encoding"] == "gzip"
        plain = zlib.decompress(answer.body, 31) if gzip else zstandard.decompress(answer.body)
        assert plain == b"0123456789" * 500


@pytest.mark.parametrize("target", ["/s/a/é", "/s/a/x?q=é", "/é"])
async def test_a_target_that_is_not_ascii_is_refused(target: str) -> None:
    """Nobody can know how it is meant; it is logged with escapes."""
    with access_lines() as lines:
        async with opened() as (front, service):
            answer = await ask(front, "GET", target)

    assert answer.status == 400
    assert b"characters that are not ASCII" in answer.body
    assert service.requests == []
    assert lines[0].getMessage().isascii()


async def test_half_a_body_never_reaches_the_handler() -> None:
    """The client went away before it had said what it wanted."""
    async with opened() as (front, service):
        answer = await ask(front, "POST", "/s/a/x", b"x", cut=True)

    assert answer.status == 400
    assert service.requests == []


async def test_a_body_that_does_not_arrive_gives_its_place_back() -> None:
    """Long before the time of a request is up; what it was to do is not done."""
    sent: list[Message] = []

    async def receive() -> Message:
        if sent:
            raise AssertionError("it was answered")
        return await asyncio.Future()

    async def send(message: Message) -> None:
        sent.append(message)

    options = FrontOptions(requests_max=1, request_seconds_max=20, body_seconds_max=0.1)
    scope = {"type": "http", "method": "POST", "raw_path": b"/s/a/x", "query_string": b""}
    async with opened(options) as (front, service):
        await front({**scope, "headers": [(b"content-length", b"5")]}, receive, send)
        after = await ask(front, "POST", "/s/a/x", b"abc")

    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert json.loads(sent[1]["body"])["error"]["message"] == (
        "the body did not arrive: it was not complete after 0.1 s. Send it at once"
    )
    assert after.status == 200
    assert [request.body for request in service.requests] == [b"abc"]


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:3000", "null", ""])
async def test_what_another_web_site_sends_is_refused(method: str, origin: str) -> None:
    """A browser says for whom it sends; another port is another site."""
    async with opened() as (front, service):
        answer = await ask(front, method, "/s/a/x", host="localhost:8181", origin=origin)

    assert answer.status == 403
    assert b"requests from other web sites are not allowed" in answer.body
    assert service.requests == []


async def test_pages_of_the_server_itself_and_programs_are_served() -> None:
    """Programs name no origin; reading is harmless, since the answer is not shown to the page."""
    async with opened() as (front, _):
        own = await ask(front, "POST", "/s/a/x", host="h:1", origin="http://H:1")
        program = await ask(front, "POST", "/s/a/x", host="h:1")
        reading = await ask(front, "GET", "/s/a/x", host="h:1", origin="http://evil.example")

    assert [own.status, program.status, reading.status] == [200, 200, 200]


@pytest.mark.parametrize("path", ["/s/a/x", "/s/probe", "/nothing"])
async def test_a_host_that_is_not_the_server_s_is_refused(path: str) -> None:
    """Whoever's name was made to lead here learns nothing, not even from probes."""
    async with opened(FrontOptions(hosts=hosts_of("127.0.0.1"))) as (front, service):
        rebound = await ask(front, "GET", path, host="evil.example:8181")
        own = await ask(front, "GET", path, host="localhost:8181")

    assert rebound.status == 403
    assert b"the host 'evil.example:8181' is not served here" in rebound.body
    assert own.status != 403
    assert len(service.requests) == (path != "/nothing")


async def test_requests_over_the_limit_are_refused_before_their_body_is_read() -> None:
    """Nothing is done for them; probes are served."""
    async with opened() as (front, _):
        waiting = [asyncio.create_task(ask(front, "GET", "/s/wait")) for _ in range(2)]
        await asyncio.sleep(0.01)
        refused = await ask(front, "POST", "/s/a/x", b"abc")
        probe = await ask(front, "GET", "/s/probe")
        late = await asyncio.gather(*waiting)

    assert (refused.status, refused.received, refused.headers["retry-after"]) == (429, 0, "1")
    assert probe.status == 200
    assert [answer.status for answer in late] == [503, 503]


@pytest.mark.parametrize(
    ("method", "status", "type"),
    [("GET", 503, "ServiceUnavailableException"), ("POST", 500, "CommitStateUnknownException")],
)
async def test_time_is_up(method: str, status: int, type: str) -> None:
    """Of what changes something nobody knows whether it did."""
    async with opened() as (front, _):
        answer = await ask(front, method, "/s/wait")

    assert (answer.status, json.loads(answer.body)["error"]["type"]) == (status, type)


async def test_requests_can_be_hurried() -> None:
    """A server that has to stop ends them, and they are answered."""
    async with opened(FrontOptions()) as (front, _):
        waiting = asyncio.create_task(ask(front, "GET", "/s/wait"))
        await asyncio.sleep(0.01)
        front.hurry()

        assert (await waiting).status == 503


async def test_who_cancels_a_request_from_outside_is_obeyed() -> None:
    """Only the front's own cancellations become answers."""
    async with opened(FrontOptions()) as (front, _):
        waiting = asyncio.create_task(ask(front, "GET", "/s/wait"))
        await asyncio.sleep(0.01)
        waiting.cancel()

        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_the_server_s_own_failures_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """What the client did wrong is not: it is told."""
    async with opened() as (front, _):
        await ask(front, "GET", "/s/fail/TableNotFound")
        await ask(front, "GET", "/s/fail/BackendUnavailable")

    assert caplog.messages == ["fail failed: it failed"]


async def test_every_request_but_probes_is_logged() -> None:
    """Also one that nobody answers to."""
    with access_lines() as lines:
        async with opened() as (front, _):
            await ask(front, "GET", "/s/a/x")
            await ask(front, "GET", "/s/probe")
            await ask(front, "GET", "/nothing", x_request_id="mine")

    texts = [line.getMessage() for line in lines]
    assert texts[0].startswith("GET /s/a/x 200 ")
    assert texts[1].endswith(" route=unmatched principal=anonymous request=mine")
    assert len(texts) == 2


async def test_the_front_opens_and_closes_with_a_server() -> None:
    """Servers that know ASGI's lifespan need nothing else."""
    service = Service()
    sent: list[str] = []

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        service.open += 1
        yield [Surface("", service.routes(), service, PLAIN)]
        service.open -= 1

    async def receive() -> Message:
        return {"type": f"lifespan.{['startup', 'shutdown'][service.open]}"}

    async def send(message: Message) -> None:
        sent.append(f"{message['type']} {service.open}")

    await Front(opening, SystemClock(), Measures(), seed=1)({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete 1", "lifespan.shutdown.complete 0"]


async def test_what_cannot_be_opened_is_told_to_the_server() -> None:
    """It then ends, with the reason."""
    sent: list[Message] = []

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        if not sent:
            raise errors.BadSetting("no", why="never")
        yield []

    async def receive() -> Message:
        return {"type": "lifespan.startup"}

    async def send(message: Message) -> None:
        sent.append(message)

    await Front(opening, SystemClock(), Measures(), seed=1)({"type": "lifespan"}, receive, send)
    assert sent == [{"type": "lifespan.startup.failed", "message": "no: never"}]
