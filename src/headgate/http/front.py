"""The ASGI application: from a request of the server to a handler, and back.

It does what every protocol needs: limits, request ids, compression, errors, measures, the log. A
request without a body is never waited for: that trip into the server costs more than all else here.
"""

import asyncio
import itertools
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Self, cast

import msgspec

from headgate.clock import Clock, present_ms
from headgate.errors import (
    HeadgateError,
    NotAuthenticated,
    RequestTimedOut,
)
from headgate.http import refusals
from headgate.http.access_log import AccessLog, Exchange
from headgate.http.addresses import Networks, client_address
from headgate.http.admission import Admission, Deadlines
from headgate.http.bodies import BodyReader
from headgate.http.cache_measures import cache_samples
from headgate.http.compression import (
    CompressedBodies,
    choose_coding,
    compress,
)
from headgate.http.database_reads import count_reads
from headgate.http.long_bodies import LongBody
from headgate.http.measures import Measures, Samples
from headgate.http.origins import allowed_host, same_origin
from headgate.http.request import (
    Message,
    Receive,
    Request,
    Response,
    Stage,
    request_of,
)
from headgate.http.router import CredentialUse, Match, Route, Router, Surface
from headgate.http.sending import Send, joined, send_answer
from headgate.http.standing import READING, Answer, StandingAnswers
from headgate.limits import (
    BODY_BYTES_MAX,
    BODY_SECONDS_MAX,
    COMPRESS_ANSWERS_ABOVE_BYTES,
    COMPRESSED_ANSWERS_BYTES,
    REQUEST_SECONDS_MAX,
    REQUESTS_MAX,
    STANDING_SECONDS,
)

UNMATCHED = "unmatched"
HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
CONFIRMED = frozenset({401, 403, 404, 409})
"""Refusals that may be of yesterday."""
CLOSE = ("connection", "close")
GOOD_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")

Opening = Callable[[], AbstractAsyncContextManager[Sequence[Surface]]]
"""Opens what the handlers work with, and closes it at the end."""

logger = logging.getLogger(__name__)


class FrontOptions(msgspec.Struct, frozen=True):
    """The limits of one process, and whom it answers."""

    requests_max: int = REQUESTS_MAX
    request_seconds_max: float = REQUEST_SECONDS_MAX
    body_bytes_max: int = BODY_BYTES_MAX
    """Of any request; routes have bounds of their own below it."""
    body_seconds_max: float = BODY_SECONDS_MAX
    hosts: frozenset[str] = frozenset()
    """The only ones that a request may name as its host, without ports; empty means any."""
    proxies: Networks = ()
    """That are believed where requests come from."""
    is_polling: bool = False
    """Whether what is read may be late: then nobody is refused before the database was asked."""


class Front:
    """All surfaces on one port. Open it as a context manager, or by ASGI's lifespan messages."""

    def __init__(
        self,
        opening: Opening,
        clock: Clock,
        measures: Measures,
        *,
        seed: int,
        options: FrontOptions = FrontOptions(),  # noqa: B008  frozen
    ) -> None:
        self._opening = opening
        self._clock = clock
        self._measures = measures
        self._request_ids = (f"{seed:016x}-{number:x}" for number in itertools.count(1))
        """Of this process: the seed makes them differ from those of others."""
        self._options = options
        self._respond = self._handle_late if options.is_polling else self._handle
        self._admission = Admission(options.requests_max)
        self._deadlines = Deadlines(options.request_seconds_max, clock)
        self._bodies = BodyReader(min(options.body_seconds_max, options.request_seconds_max), clock)
        self._log = AccessLog()
        self._compressed = CompressedBodies(COMPRESSED_ANSWERS_BYTES)
        self._standing = StandingAnswers()
        self.clients: set[tuple[str, str] | None] = set()
        """Host and port of each that has a request under way."""
        self._router = Router(())
        self._loop: asyncio.AbstractEventLoop | None = None
        """Kept, because asking for it is a system call before Python 3.12."""
        self._opened = AsyncExitStack()
        measures.add_source(self._samples)

    async def __aenter__(self) -> Self:
        surfaces = await self._opened.enter_async_context(self._opening())
        self._router = Router(surfaces)
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._deadlines.close()
        self._bodies.close()
        self._log.write()
        await self._opened.aclose()

    def _samples(self) -> Samples:
        return {
            "headgate_http_requests_in_flight": self._admission.count,
            "headgate_http_bodies_in_flight": self._bodies.count,
            "headgate_http_bodies_ended_total": self._bodies.ended,
            **cache_samples("compressed", self._compressed.statistics),
            **cache_samples("standing", self._standing.statistics),
        }

    def hurry(self) -> None:
        """End all requests under way now, because the server has no more time for them."""
        self._deadlines.stop()
        self._bodies.stop()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request, or open and close with the server."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        began = self._clock.seconds()
        reads = count_reads()
        client = scope.get("client")
        self.clients.add(client)
        try:
            id = self._request_id(scope["headers"])
            answer = await self._answer_in_time(scope, receive, id, began)
            await send_answer(answer, id, send)
        finally:
            self.clients.discard(client)
        seconds = self._clock.seconds() - began
        self._measures.count(answer.route, answer.template, answer.status, seconds, reads.count)
        if self._log.wanted and not (answer.route and answer.route.probe):
            self._log.add(Exchange(answer, id, self._clock.wall_ms(), seconds, reads.count))

    async def _answer_in_time(
        self, scope: Message, receive: Receive, id: str, began: float
    ) -> Answer:
        """Answer a request within its time, or say that its time was up."""
        task = cast("asyncio.Task[Any]", asyncio.current_task(self._loop))
        request: Request | None = None
        self._deadlines.enter(task, began)
        try:
            answer = await self._standing.find(scope, began)
            if answer is None:
                request = self._received(scope, id)
                answer = await self._answer(scope, request, receive)
                self._standing.keep(scope, answer, began)
            return answer
        except asyncio.CancelledError:
            if not self._deadlines.was_late(task):
                raise
            return self._late(request or self._received(scope, id))
        finally:
            self._deadlines.leave(task)

    def _received(self, scope: Message, id: str) -> Request:
        """The request, with the address of its client."""
        request = request_of(scope, id)
        if self._options.proxies:
            forwarded = request.headers.get("x-forwarded-for", "")
            request.address = client_address(request.address, forwarded, self._options.proxies)
        return request

    async def _answer(self, scope: Message, request: Request, receive: Receive) -> Answer:
        """Find out who answers, and what."""
        match = self._router.match(request.method, request.path)
        matched: Match | None = None
        refusal = self._refusal(scope, request)
        if refusal is not None:
            response = self._router.dialect_of(request.path).answer(refusal)
        elif isinstance(match, Match):
            matched, request.params = match, match.params
            response = await self._admit(match, request, receive)
        else:
            response = refusals.unmatched(match, request)
        return self._packed(matched, request, response, await self._ready(response, request))

    def _packed(
        self, match: Match | None, request: Request, response: Response, body: bytes | LongBody
    ) -> Answer:
        """A response with what the log, the measures and the cache need besides it."""
        route, template = None, UNMATCHED
        if match is not None:
            route, template = match.route, match.surface.prefix + match.route.template
        headers = tuple(
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers
        )
        return Answer(
            request.method,
            request.path,
            request.principal,
            route,
            template,
            response.status,
            headers,
            body,
            request.ground if route and _stands(route, response) else None,
            self._standing_seconds(request),
        )

    def _late(self, request: Request) -> Answer:
        """The answer to a request whose time was up."""
        found = self._router.match(request.method, request.path)
        match = found if isinstance(found, Match) else None
        operation, writes, dialect = UNMATCHED, False, self._router.dialect_of(request.path)
        if match is not None:
            operation, writes = match.route.operation, match.route.writes
            dialect = match.surface.dialect
        seconds = self._options.request_seconds_max
        logger.warning(
            "%s was given up after at most %g s", operation, seconds, extra=_about(request)
        )
        response = dialect.answer(refusals.late(operation, request.stage, writes=writes))
        if request.has_body and not request.body:
            response.headers.append(CLOSE)
        return self._packed(match, request, response, joined(response.body))

    def _standing_seconds(self, request: Request) -> float:
        """Not longer than whoever asks is known."""
        if request.expires_ms is None:
            return STANDING_SECONDS
        return min(STANDING_SECONDS, (request.expires_ms - present_ms(self._clock)) / 1000)

    def _refusal(self, scope: Message, request: Request) -> HeadgateError | None:
        """Why this is not even looked at, if so. Browsers send what any page tells them to."""
        headers = request.headers
        host = headers.get("host", "")
        if self._options.hosts and not allowed_host(host, self._options.hosts):
            return refusals.wrong_host(host)
        origin = headers.get("origin")
        if origin is not None and request.method not in HARMLESS and not same_origin(origin, host):
            return refusals.other_origin(origin)
        if scope["raw_path"].isascii() and scope["query_string"].isascii():
            return None
        return refusals.not_ascii()

    def _request_id(self, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """The client's own id if it can be put into a log as it is, else a new one."""
        for name, value in headers:
            if name == b"x-request-id" and GOOD_REQUEST_ID.fullmatch(value):
                return value.decode()
        return next(self._request_ids)

    async def _admit(self, match: Match, request: Request, receive: Receive) -> Response:
        """Serve a request within the limits, or say why not. Probes are always let in.

        A place is taken once the caller is authenticated and the body is there.
        """
        if match.route.probe:
            request.stage = Stage.HANDLER
            return await self._respond(match, request)
        admission = self._admission
        if admission.full:
            return self._too_many(match, request)
        refusal = await self._prepare(match, request, receive)
        if refusal is not None:
            return refusal
        principal = request.principal
        if admission.is_full_for(principal):
            return self._too_many(match, request)
        request.stage = Stage.HANDLER
        admission.enter(principal)
        try:
            return await self._respond(match, request)
        finally:
            admission.leave(principal)

    def _too_many(self, match: Match, request: Request) -> Response:
        """The response if there is no place for a request."""
        self._measures.refused += 1
        response = match.surface.dialect.answer(refusals.too_many(self._admission.count))
        if request.has_body and not request.body:  # what is not read would have to be
            response.headers.append(CLOSE)
        return response

    async def _prepare(self, match: Match, request: Request, receive: Receive) -> Response | None:
        """Authenticate the caller, then read the body; the response if either is refused."""
        try:
            await match.authenticate(request)
            if request.has_body:
                request.stage = Stage.BODY
                limit = min(self._options.body_bytes_max, match.route.body_bytes_max)
                is_known = match.route.credentials is CredentialUse.REQUIRED
                request.body = await self._bodies.read(request, receive, limit, is_known=is_known)
        except Exception as error:  # noqa: BLE001  whatever it is, it is answered
            return self._failed(match, request, error)
        return None

    async def _handle_late(self, match: Match, request: Request) -> Response:
        """Answer a read by what was polled; if that refuses it, by what the database says now."""
        is_read = request.method in READING and not match.route.writes
        request.is_fresh = not is_read or request.has_body
        response = await self._handle(match, request)
        if request.is_fresh or response.status not in CONFIRMED:
            return response
        request.is_fresh = True
        return await self._handle(match, request)

    async def _handle(self, match: Match, request: Request) -> Response:
        try:
            return await match.route.handler(match.surface.services, request)
        except Exception as error:  # noqa: BLE001  whatever it is, it is answered
            return self._failed(match, request, error)

    def _failed(self, match: Match, request: Request, error: Exception) -> Response:
        """The response to a request that failed like this; failures of the server are logged."""
        dialect, operation = match.surface.dialect, match.route.operation
        if isinstance(error, HeadgateError):
            if isinstance(error, NotAuthenticated) and request.is_fresh:
                match.surface.refused(request, error)
            response = dialect.answer(error)
            if isinstance(error, RequestTimedOut):
                response.headers.append(CLOSE)
            if response.status >= 500:
                logger.warning("%s failed: %s", operation, error, extra=_about(request))
            return response
        logger.error("%s failed unexpectedly", operation, exc_info=error, extra=_about(request))
        return dialect.say(
            dialect.unexpected,
            f"Headgate failed unexpectedly. Its log says more about request {request.id}",
        )

    async def _ready(self, response: Response, request: Request) -> bytes | LongBody:
        """The body as it is sent, compressed if that is asked for and worth it."""
        body = joined(response.body)
        if len(body) <= COMPRESS_ANSWERS_ABOVE_BYTES:
            return body
        if any(name.lower() == "content-encoding" for name, _ in response.headers):
            return body
        response.headers.append(("vary", "accept-encoding"))
        coding = choose_coding(request.headers.get("accept-encoding", ""))
        if coding is None:
            return body
        response.headers.append(("content-encoding", coding))
        if response.key is None:
            return await compress(body, coding)
        return await self._compressed.get(response.key, body, coding)

    async def _live(self, receive: Receive, send: Send) -> None:
        """ASGI's lifespan: opened and closed by messages."""
        await receive()
        try:
            await self.__aenter__()
        except Exception as error:  # noqa: BLE001  the server is told, whatever it is
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.__aexit__()
        await send({"type": "lifespan.shutdown.complete"})


def _stands(route: Route, response: Response) -> bool:
    if not route.stands or response.status >= 400:
        return False
    return all(name.lower() != "cache-control" for name, _ in response.headers)


def _about(request: Request) -> dict[str, object]:
    return {"fields": {"request_id": request.id, "method": request.method, "path": request.path}}
