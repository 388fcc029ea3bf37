"""Answers that are given again, and when they are not."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import headgate.http
from headgate.catalog.calls import Caller
from headgate.errors import BackendUnavailable, NotFound
from headgate.http.authentication import active_roles
from headgate.http.front import Front
from headgate.http.iceberg import delegation
from headgate.http.measures import Measures
from headgate.http.problems import PLAIN
from headgate.http.request import Request, Response
from headgate.http.router import Route, Surface
from headgate.http.standing import READ_HEADERS, Answer, StandingAnswers
from headgate.limits import STANDING_BYTES_MAX, STANDING_SECONDS
from headgate.testing.manual_clock import ManualClock
from tests.unit.http.asgi import ask


class Rock:
    """A ground that a test can move."""

    def __init__(self) -> None:
        self.asked = 0
        self.moved = False
        self.broken = False

    async def holds(self) -> bool:
        self.asked += 1
        if self.broken:
            raise BackendUnavailable("the database cannot be read")
        return not self.moved


class Service:
    """A handler that counts its answers."""

    def __init__(self) -> None:
        self.ground = Rock()
        self.answers = 0
        self.headers: list[tuple[str, str]] = []
        self.error: NotFound | None = None
        self.expires_ms: int | None = None


async def _tell(service: Service, request: Request) -> Response:
    service.answers += 1
    request.ground = service.ground
    request.caller = Caller("ann")
    request.expires_ms = service.expires_ms
    if service.error:
        raise service.error
    return Response(200, b"%d" % service.answers, [("ETag", "1"), *service.headers])


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def front(service: Service, clock: ManualClock) -> AsyncIterator[Front]:
    routes = [
        Route("GET", "/stands/{name}", _tell, "stands", stands=True),
        Route("POST", "/stands/{name}", _tell, "writes", stands=True),
        Route("GET", "/falls/{name}", _tell, "falls"),
    ]

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        yield [Surface("", routes, service, PLAIN)]

    async with Front(opening, clock, Measures(), seed=1) as front:
        yield front


async def told(front: Front, target: str = "/stands/a", **headers: str) -> bytes:
    return (await ask(front, "GET", target, cut=False, **headers)).body


async def test_an_answer_is_given_again_while_its_ground_holds(
    front: Front, service: Service
) -> None:
    """The second request costs one look at the ground, and no work."""
    first = await ask(front, "GET", "/stands/a")
    again = await ask(front, "GET", "/stands/a")

    assert (first.body, again.body) == (b"1", b"1")
    assert first.headers.pop("x-request-id") != again.headers.pop("x-request-id")
    assert again.headers == first.headers
    assert (service.answers, service.ground.asked) == (1, 1)


async def test_an_answer_falls_with_its_ground(front: Front, service: Service) -> None:
    """What moved is seen by the next request."""
    await told(front)
    service.ground.moved = True
    assert await told(front) == b"2"

    service.ground = Rock()
    assert await told(front) == b"3"
    assert await told(front) == b"3"


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/stands/b", {}),
        ("/stands/a?x=1", {}),
        ("/stands/a", {"authorization": "Bearer other"}),
        ("/stands/a", {"if_none_match": "1"}),
        ("/stands/a", {"accept_encoding": "gzip"}),
        ("/stands/a", {"host": "other"}),
    ],
)
async def test_another_request_has_another_answer(
    front: Front, target: str, headers: dict[str, str]
) -> None:
    """Whatever differs might matter."""
    await told(front)

    assert await told(front, target, **headers) == b"2"
    assert await told(front) == b"1"


async def test_nothing_stands_for_ever(front: Front, clock: ManualClock) -> None:
    """Not even on firm ground."""
    await told(front)
    clock.advance(STANDING_SECONDS * 1000 + 1)

    assert await told(front) == b"2"


async def test_no_answer_outlives_the_token_it_was_given_for(
    front: Front, service: Service, clock: ManualClock
) -> None:
    """Who asks with a token that has expired is told so."""
    service.expires_ms = clock.wall_ms() + 500
    await told(front)
    clock.advance(499)
    assert await told(front) == b"1"
    clock.advance(2)
    assert await told(front) == b"2"


async def test_what_proxies_add_makes_no_other_answer(front: Front) -> None:
    """Only headers that handlers read matter; each request has an id of its own all the same."""
    first = await ask(front, "GET", "/stands/a", x_request_id="1", traceparent="x")
    again = await ask(front, "GET", "/stands/a", x_request_id="2", x_forwarded_for="me")

    assert (first.body, again.body) == (b"1", b"1")
    assert (first.headers["x-request-id"], again.headers["x-request-id"]) == ("1", "2")


async def test_what_stands_takes_a_limited_room(service: Service) -> None:
    """Long paths count, bodies of requests are not kept, and the oldest answer goes first."""
    standing = StandingAnswers(capacity_bytes=40_000)
    route = Route("GET", "/", _tell, "stands", stands=True)

    def scope(name: str, **headers: bytes) -> dict[str, object]:
        named = [(key.replace("_", "-").encode(), value) for key, value in headers.items()]
        return {"method": "GET", "raw_path": name.encode(), "query_string": b"", "headers": named}

    def answer(body: bytes = b"") -> Answer:
        return Answer("GET", "/", "ann", route, "/", 200, [], body, service.ground, 1.0)

    standing.keep(scope("/body", content_length=b"7"), answer(), 0.0)
    standing.keep(scope("/large"), answer(bytes(STANDING_BYTES_MAX)), 0.0)
    standing.keep(scope("/long", authorization=bytes(STANDING_BYTES_MAX)), answer(), 0.0)
    assert (standing.statistics.entries, standing.statistics.rejected) == (0, 3)

    for number in range(20):
        standing.keep(scope(f"/{number}".ljust(1_000)), answer(bytes(1_000)), 0.0)
        standing.keep(scope(f"/{number}".ljust(1_000)), answer(bytes(1_000)), 0.0)
    kept = standing.statistics
    assert (kept.entries, kept.bytes, kept.evictions) == (8, 40_000, 12)
    assert await standing.find(scope("/11".ljust(1_000)), 0.0) is None
    assert await standing.find(scope("/12".ljust(1_000)), 0.0) is not None


async def test_what_is_not_said_to_stand_does_not(front: Front, service: Service) -> None:
    """Other routes, other methods, private answers and errors are worked out each time."""
    for method, target in [("GET", "/falls/a"), ("POST", "/stands/a")]:
        before = service.answers
        await ask(front, method, target)
        await ask(front, method, target)
        assert service.answers == before + 2, target
    service.headers = [("Cache-Control", "private")]
    assert await told(front) != await told(front)
    service.headers = []
    service.error = NotFound("it is not there")
    assert (await ask(front, "GET", "/stands/a")).status == 404
    service.error = None
    assert (await ask(front, "GET", "/stands/a")).status == 200


async def test_a_ground_that_cannot_be_looked_at_does_not_hold(
    front: Front, service: Service
) -> None:
    """The handler then says what is wrong."""
    await told(front)
    service.ground.broken = True

    assert await told(front) == b"2"


def test_no_handler_reads_a_header_that_answers_are_not_told_apart_by() -> None:
    """Or an answer for one of its values would be given for another."""
    package = Path(headgate.http.__file__).parent
    folders = ("authentication", "gravitino", "iceberg")
    sources = [path.read_text() for one in folders for path in (package / one).glob("*.py")]
    named = {"DELEGATION": delegation.DELEGATION, "ACTIVE_ROLES": active_roles.ACTIVE_ROLES}
    read = {
        name if quote else named[name].lower()
        for source in sources
        for quote, name in re.findall(r'headers(?:\.get\(|\[)("?)([\w-]+)', source)
    }

    assert {"authorization", "if-none-match", *named.values()} <= read
    assert {name.encode() for name in read} <= READ_HEADERS
