"""Which requests are authenticated, and when."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from headgate.catalog.calls import Caller
from headgate.clock import SystemClock
from headgate.errors import NotAuthenticated
from headgate.http.addresses import networks_of
from headgate.http.front import Front, FrontOptions
from headgate.http.measures import Measures
from headgate.http.problems import ICEBERG
from headgate.http.request import Request, Response
from headgate.http.router import CredentialUse, Route, Surface
from tests.unit.http.asgi import ask

ANY = FrontOptions()


class Service:
    """Handlers, and what they saw."""

    def __init__(self) -> None:
        self.requests: list[Request] = []


async def _note(service: Service, request: Request) -> Response:
    service.requests.append(request)
    return Response(204)


ROUTES = (
    Route("GET", "/required", _note, "required"),
    Route("POST", "/required", _note, "requiredBody"),
    Route("GET", "/optional", _note, "optional", credentials=CredentialUse.OPTIONAL),
    Route("GET", "/unread", _note, "unread", credentials=CredentialUse.UNREAD),
    Route("GET", "/probe", _note, "probe", credentials=CredentialUse.UNREAD, probe=True),
)


async def _refuse(_request: Request) -> Caller:
    raise NotAuthenticated("Not authorized")


@asynccontextmanager
async def refusing(
    options: FrontOptions = ANY,
) -> AsyncIterator[tuple[Front, Service]]:
    """A front that authenticates no request."""
    service = Service()

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        yield [Surface("/s", ROUTES, service, ICEBERG, _refuse)]

    async with Front(opening, SystemClock(), Measures(), seed=10, options=options) as front:
        yield front, service


async def test_a_request_is_authenticated_before_its_body_is_read() -> None:
    """Neither the body nor the handler of a refused request is touched."""
    async with refusing() as (front, service):
        refused = await ask(front, "POST", "/s/required", b"abc")
        probe = await ask(front, "GET", "/s/probe")

    assert (refused.status, refused.received) == (401, 0)
    assert probe.status == 204
    assert [request.path for request in service.requests] == ["/s/probe"]


async def test_routes_choose_what_credentials_are_for() -> None:
    """A route reads them never, if there are any, or always."""
    async with refusing() as (front, service):
        unread = await ask(front, "GET", "/s/unread", authorization="Bearer x")
        none = await ask(front, "GET", "/s/optional")
        wrong = await ask(front, "GET", "/s/optional", authorization="Bearer x")
        required = await ask(front, "GET", "/s/required")

    assert [one.status for one in (unread, none, wrong, required)] == [204, 204, 401, 401]
    assert [request.principal for request in service.requests] == ["anonymous", "anonymous"]


async def test_a_request_has_the_address_of_its_client() -> None:
    """The peer's, unless that is a proxy that is trusted to name another."""
    for proxies, address in (((), "10.0.0.1"), (networks_of(["10.0.0.1"], "proxies"), "192.0.2.7")):
        async with refusing(FrontOptions(proxies=proxies)) as (front, service):
            await ask(front, "GET", "/s/unread", client="10.0.0.1", x_forwarded_for="192.0.2.7")

        assert [request.address for request in service.requests] == [address]


async def test_a_request_takes_no_place_before_its_caller_is_authenticated() -> None:
    """However many wait for that, others are served."""
    service, go_on = Service(), asyncio.Event()

    async def slow(request: Request) -> Caller:
        if request.headers.get("authorization") == "Bearer unknown":
            await go_on.wait()
        return Caller("ann")

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        yield [Surface("/s", ROUTES, service, ICEBERG, slow)]

    options = FrontOptions(requests_max=1)
    async with Front(opening, SystemClock(), Measures(), seed=10, options=options) as front:
        strangers = [
            asyncio.create_task(ask(front, "GET", "/s/required", authorization="Bearer unknown"))
            for _ in range(50)
        ]
        await asyncio.sleep(0)
        known = [
            (await ask(front, "GET", "/s/required", authorization="Bearer known")).status,
            (await ask(front, "POST", "/s/required", b"abc", authorization="Bearer known")).status,
        ]
        waiting = [task.done() for task in strangers]
        go_on.set()
        await asyncio.gather(*strangers)

    assert known == [204, 204]
    assert waiting == [False] * 50


async def test_requests_of_one_principal_leave_places_for_others() -> None:
    """However many slow requests one principal has under way, others are served."""
    go_on = asyncio.Event()

    async def wait(_service: None, _request: Request) -> Response:
        await go_on.wait()
        return Response(204)

    async def named(request: Request) -> Caller:
        return Caller(request.headers["authorization"])

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        slow = Route("GET", "/slow", wait, "slow")
        yield [Surface("/s", (slow,), None, ICEBERG, named)]

    options = FrontOptions(requests_max=4)
    async with Front(opening, SystemClock(), Measures(), seed=10, options=options) as front:
        asked = [
            asyncio.create_task(ask(front, "GET", "/s/slow", authorization=name))
            for name in ("ann", "ann", "ann", "ann", "bob", "bob")
        ]
        while sum(task.done() for task in asked) < 2:
            await asyncio.sleep(0)
        go_on.set()
        statuses = [(await task).status for task in asked]

    assert statuses == [204, 204, 204, 429, 204, 429]
