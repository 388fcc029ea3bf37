"""One deadline for all that a request waits for."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from headgate.catalog.calls import Caller
from headgate.http.front import Front, FrontOptions
from headgate.http.measures import Measures
from headgate.http.problems import ICEBERG
from headgate.http.request import Ground, Message, Request, Response
from headgate.http.router import Route, Surface
from headgate.testing.manual_clock import ManualClock
from tests.unit.http.asgi import Answer, ask

SECONDS = 0.01
"""Of the timer, which looks at the manual clock: how long it really takes does not matter."""
OPTIONS = FrontOptions(requests_max=1, request_seconds_max=SECONDS)


class World(NamedTuple):
    """A front whose callers, handlers and grounds wait when they are told to."""

    front: Front
    clock: ManualClock
    waiting: asyncio.Event
    """Set once something waits."""
    handled: list[str]

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds * 1000)

    def in_flight(self) -> object:
        return self.front._samples()["headgate_http_requests_in_flight"]


class Standing:
    """A ground that is looked at for ever, from the second time on."""

    def __init__(self, waiting: asyncio.Event) -> None:
        self._waiting = waiting

    async def holds(self) -> bool:
        self._waiting.set()
        return await asyncio.Future()


def routes(waiting: asyncio.Event, handled: list[str]) -> list[Route]:
    async def answer(_: None, request: Request) -> Response:
        handled.append(request.id)
        ground: Ground = Standing(waiting)
        request.ground = ground
        return Response(204)

    async def wait(_: None, request: Request) -> Response:
        handled.append(request.id)
        waiting.set()
        return await asyncio.Future()

    return [
        Route("GET", "/a", answer, "read", stands=True),
        Route("POST", "/a", answer, "write", writes=True),
        Route("GET", "/wait", wait, "slowRead"),
        Route("POST", "/wait", wait, "slowWrite", writes=True),
        Route("GET", "/probe", wait, "slowProbe", probe=True),
    ]


@asynccontextmanager
async def opened() -> AsyncIterator[World]:
    clock, waiting, handled = ManualClock(), asyncio.Event(), list[str]()

    async def authenticate(request: Request) -> Caller:
        if request.headers.get("authorization") == "slow":
            waiting.set()
            await asyncio.Future()
        return Caller("ann")

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        yield [Surface("/s", routes(waiting, handled), None, ICEBERG, authenticate)]

    async with Front(opening, clock, Measures(), seed=1, options=OPTIONS) as front:
        yield World(front, clock, waiting, handled)


async def late(
    world: World, method: str, path: str, *body: bytes, authorization: str = ""
) -> Answer:
    """The answer to a request that waits until its time is up, and not before."""
    asked = asyncio.create_task(ask(world.front, method, path, *body, authorization=authorization))
    await world.waiting.wait()
    world.waiting.clear()
    assert not asked.done()
    world.pass_time(SECONDS)
    return await asked


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_authentication_is_within_the_deadline_of_a_request(method: str) -> None:
    """A request whose caller is not authenticated in time has changed nothing, and may come
    again; the next one finds all places free."""
    async with opened() as world:
        answer = await late(world, method, "/s/a", authorization="slow")
        handled = list(world.handled)
        after = await ask(world.front, "POST", "/s/a", b"abc")

    error = json.loads(answer.body)["error"]
    assert (answer.status, error["type"]) == (503, "ServiceUnavailableException")
    assert "before its caller was authenticated" in error["message"]
    assert answer.headers["retry-after"] == "1"
    assert handled == []
    assert after.status == 204


async def test_a_request_that_is_late_with_its_body_unread_ends_its_connection() -> None:
    """What is not read would be taken for the next request."""
    async with opened() as world:
        answer = await late(world, "POST", "/s/a", b"abc", authorization="slow")

    assert (answer.status, answer.received, answer.headers["connection"]) == (503, 0, "close")


async def test_time_in_authentication_is_not_given_again_to_the_handler() -> None:
    """Both have one deadline; a place is free again after it."""
    go_on, waiting = asyncio.Event(), asyncio.Event()
    clock, handled = ManualClock(), list[str]()

    async def authenticate(_request: Request) -> Caller:
        waiting.set()
        await go_on.wait()
        return Caller("ann")

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        yield [Surface("/s", routes(waiting, handled), None, ICEBERG, authenticate)]

    async with Front(opening, clock, Measures(), seed=1, options=OPTIONS) as front:
        world = World(front, clock, waiting, handled)
        asked = asyncio.create_task(ask(front, "POST", "/s/wait"))
        await waiting.wait()
        waiting.clear()
        clock.advance(SECONDS * 900)
        go_on.set()
        await waiting.wait()
        during = world.in_flight()
        clock.advance(SECONDS * 100)
        answer = await asked

    assert (during, world.in_flight()) == (1, 0)
    assert (answer.status, len(handled)) == (500, 1)
    assert json.loads(answer.body)["error"]["type"] == "CommitStateUnknownException"


@pytest.mark.parametrize("path", ["/s/wait", "/s/probe"])
async def test_handlers_are_within_the_deadline(path: str) -> None:
    """Those of probes too, which take no place."""
    async with opened() as world:
        answer = await late(world, "GET", path)

    assert (answer.status, world.in_flight()) == (503, 0)


async def test_a_look_at_a_kept_answer_is_within_the_deadline() -> None:
    """The database may not answer."""
    async with opened() as world:
        first = await ask(world.front, "GET", "/s/a", authorization="")
        second = await late(world, "GET", "/s/a")

    assert (first.status, second.status) == (204, 503)


async def test_a_body_that_is_late_is_the_clients_fault() -> None:
    """As one that is given up earlier, it is answered with 408 and ends the connection."""
    sent: list[Message] = []
    async with opened() as world:

        async def receive() -> Message:
            world.waiting.set()
            return await asyncio.Future()

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "raw_path": b"/s/a", "query_string": b""}
        whole = {**scope, "headers": [(b"content-length", b"5")]}
        asked = asyncio.create_task(world.front(whole, receive, send))
        await world.waiting.wait()
        world.pass_time(SECONDS)
        await asked

    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert world.handled == []


async def test_stopping_ends_requests_that_wait_for_authentication() -> None:
    """A server that stops does not wait for a password or a provider."""
    async with opened() as world:
        asked = asyncio.create_task(ask(world.front, "GET", "/s/a", authorization="slow"))
        await world.waiting.wait()
        world.front.hurry()

        assert (await asked).status == 503
