"""A front whose readers may be late asks again before it refuses anything."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from headgate.errors import Forbidden, HeadgateError, NotAuthenticated, NotFound, RealmNotActive
from headgate.http.front import Front, FrontOptions
from headgate.http.measures import Measures
from headgate.http.problems import PLAIN
from headgate.http.request import Request, Response
from headgate.http.router import Route, Surface
from headgate.testing.manual_clock import ManualClock
from tests.unit.http.asgi import ask


class Service:
    """Refuses whoever does not ask the database, and then whoever a test says."""

    def __init__(self) -> None:
        self.asked: list[bool] = []
        self.late: HeadgateError | None = NotFound("it was not there")
        self.fresh: HeadgateError | None = None


async def _tell(service: Service, request: Request) -> Response:
    service.asked.append(request.is_fresh)
    error = service.fresh if request.is_fresh else service.late
    if error:
        raise error
    return Response(200, b"")


async def _say_no(service: Service, request: Request) -> Response:
    service.asked.append(request.is_fresh)
    return Response(200 if request.is_fresh else 404)


@asynccontextmanager
async def opened(service: Service, *, is_polling: bool) -> AsyncIterator[Front]:
    routes = [
        Route("GET", "/thing", _tell, "loadThing"),
        Route("POST", "/thing", _tell, "changeThing", writes=True),
        Route("POST", "/plan", _tell, "planThing"),
        Route("GET", "/counter", _tell, "countThing", writes=True),
        Route("GET", "/probe", _tell, "probe", probe=True),
        Route("HEAD", "/quiet", _say_no, "thingExists"),
    ]

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        yield [Surface("", routes, service, PLAIN)]

    options = FrontOptions(is_polling=is_polling)
    async with Front(opening, ManualClock(), Measures(), seed=1, options=options) as front:
        yield front


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
async def front(service: Service) -> AsyncIterator[Front]:
    async with opened(service, is_polling=True) as front:
        yield front


@pytest.mark.parametrize(
    "error",
    [
        NotFound("it was not there"),
        Forbidden("it was not allowed"),
        NotAuthenticated("it was not known"),
        RealmNotActive("it was switched off"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_who_would_be_refused_is_answered_by_what_is_so_now(
    front: Front, service: Service, error: HeadgateError
) -> None:
    """Polling is never late in giving."""
    service.late = error

    assert (await ask(front, "GET", "/thing")).status == 200
    assert service.asked == [False, True]


async def test_a_refusal_that_is_confirmed_is_answered(front: Front, service: Service) -> None:
    """In the words of the second time."""
    service.fresh = Forbidden("it is forbidden now")
    answer = await ask(front, "GET", "/thing")

    assert (answer.status, service.asked) == (403, [False, True])
    assert b"forbidden now" in answer.body


async def test_an_answer_without_words_is_confirmed_too(front: Front, service: Service) -> None:
    """Whether something exists is told by the status alone."""
    assert (await ask(front, "HEAD", "/quiet")).status == 200
    assert service.asked == [False, True]


async def test_a_good_answer_is_given_at_once(front: Front, service: Service) -> None:
    """Without asking again."""
    service.late = None

    assert (await ask(front, "GET", "/thing")).status == 200
    assert service.asked == [False]


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/thing"), ("POST", "/plan"), ("GET", "/counter")]
)
async def test_whatever_is_no_plain_read_asks_the_database_first(
    front: Front, service: Service, method: str, path: str
) -> None:
    """And is never done twice."""
    service.fresh = NotFound("it is not there")

    assert (await ask(front, method, path)).status == 404
    assert service.asked == [True]


async def test_a_read_with_a_body_asks_the_database_first(front: Front, service: Service) -> None:
    """A body can be read only once."""
    assert (await ask(front, "GET", "/thing", b"{}")).status == 200
    assert service.asked == [True]


async def test_a_server_that_does_not_poll_asks_once(service: Service) -> None:
    """What it says is so now."""
    service.fresh = NotFound("it is not there")
    async with opened(service, is_polling=False) as front:
        assert (await ask(front, "GET", "/thing")).status == 404
        assert (await ask(front, "GET", "/probe")).status == 404

    assert service.asked == [True, True]
