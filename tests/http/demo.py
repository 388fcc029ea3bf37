"""A small service that shows what the front and the server do, and the program that serves it."""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from headgate import errors
from headgate.cli import logs
from headgate.clock import SystemClock
from headgate.http.compression import compress_now
from headgate.http.front import Front, FrontOptions
from headgate.http.management.routes import management_surface
from headgate.http.management.services import Management
from headgate.http.measures import Measures
from headgate.http.openapi import openapi_document
from headgate.http.problems import ICEBERG
from headgate.http.request import JSON_CONTENT, Request, Response, decode, json_response
from headgate.http.router import Parameter, Route, Surface
from headgate.http.shared_measures import SharedMeasures
from headgate.server.connections import ConnectionWatch
from headgate.server.serving import serve

REQUESTS_MAX = 8
REQUEST_SECONDS_MAX = 1.0
PATIENT_SECONDS = 20.0
BODY_BYTES_MAX = 100_000


class Demo:
    """What the handlers work with."""

    def __init__(self) -> None:
        self.committed: list[str] = []
        self.broken = False

    async def check(self) -> None:
        if self.broken:
            raise errors.BackendUnavailable("the database is away", fix="Bring it back")


class Point(msgspec.Struct):
    x: int
    y: int = 0


async def echo(demo: Demo, request: Request) -> Response:
    said = {
        "method": request.method,
        "path": request.path,
        "params": request.params,
        "query": request.query,
        "headers": request.headers,
        "bytes": len(request.body),
        "pid": os.getpid(),
    }
    return json_response(200, said)


async def point(demo: Demo, request: Request) -> Response:
    return json_response(200, decode(request, Point))


async def slow(demo: Demo, request: Request) -> Response:
    await asyncio.sleep(float(request.params["seconds"]))
    return Response(204)


async def commit(demo: Demo, request: Request) -> Response:
    await asyncio.sleep(float(request.params["seconds"]))
    demo.committed.append(request.id)
    return Response(204)


async def committed(demo: Demo, request: Request) -> Response:
    return json_response(200, demo.committed)


async def big(demo: Demo, request: Request) -> Response:
    half = b"0123456789" * (int(request.params["bytes"]) // 20)
    return Response(200, [half, half], [("content-type", "text/plain")])


async def packed(demo: Demo, request: Request) -> Response:
    body = compress_now(b'"' + b"x" * 5000 + b'"', "gzip")
    return Response(200, body, [JSON_CONTENT, ("Content-Encoding", "gzip")])


async def fail(demo: Demo, request: Request) -> Response:
    raise getattr(errors, request.params["name"])("it failed", why="it was asked to", fix="Stop")


async def bug(demo: Demo, request: Request) -> Response:
    raise ZeroDivisionError("secret 42")


async def there(demo: Demo, request: Request) -> Response:
    if request.params["name"] != "yes":
        raise errors.TableNotFound("it is not there")
    return Response(204)


async def break_down(demo: Demo, request: Request) -> Response:
    demo.broken = True
    return Response(204)


ROUTES = (
    Route("GET", "/v1/echo/{name}", echo, "echo", parameters=(Parameter("q"),), response=dict),
    Route("POST", "/v1/echo/{name}", echo, "echoBody", response=dict),
    Route("POST", "/v1/points", point, "makePoint", request=Point, response=Point),
    Route("GET", "/v1/slow/{seconds}", slow, "slow", status=204),
    Route("POST", "/v1/commit/{seconds}", commit, "commit", status=204, writes=True),
    Route("GET", "/v1/committed", committed, "committed", response=list[str]),
    Route("GET", "/v1/big/{bytes}", big, "big", response=str, content="text/plain"),
    Route("GET", "/v1/packed", packed, "packed", response=str),
    Route("GET", "/v1/fail/{name}", fail, "fail", errors=(errors.TableNotFound,)),
    Route("GET", "/v1/bug", bug, "bug"),
    Route("HEAD", "/v1/there/{name}", there, "there", status=204, errors=(errors.TableNotFound,)),
    Route("POST", "/v1/break", break_down, "breakDown", status=204),
)

OPTIONS = FrontOptions(REQUESTS_MAX, REQUEST_SECONDS_MAX, BODY_BYTES_MAX)


def make_front(shared: Path | None = None, options: FrontOptions = OPTIONS) -> Front:
    clock = SystemClock()
    measures = Measures()

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        if os.environ.get("DEMO_OPENS_SLOWLY"):
            print("opening", flush=True)
            await asyncio.sleep(30)
        demo = Demo()
        sharing = SharedMeasures(measures, shared, clock)
        surface = Surface("/iceberg", ROUTES, demo, ICEBERG)
        document = openapi_document(surface, title="Demo", version="1")
        services = Management(
            demo.check,
            sharing,
            settings=[{"name": "port", "value": "8181"}],
            documents={"/iceberg/v1/openapi.json": msgspec.json.encode(document)},
        )
        async with sharing.kept():
            yield [surface, management_surface(services)]
        print("closed", flush=True)

    return Front(opening, clock, measures, seed=os.getpid(), options=options)


def load(shared: Path | None) -> Front:
    """The application of one process, logging as `headgate serve` does."""
    logs.set_up("info", "json", access=True)
    if os.environ.get("DEMO_CANNOT_OPEN"):
        raise errors.BadSetting("the demo cannot open", why="it was told so", fix="Do not tell")
    if os.environ.get("DEMO_LOOK_SECONDS"):
        return make_front(shared, FrontOptions(REQUESTS_MAX, PATIENT_SECONDS, BODY_BYTES_MAX))
    return make_front(shared)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    if seconds := os.environ.get("DEMO_LOOK_SECONDS"):
        ConnectionWatch.seconds = float(seconds)
    logging.basicConfig(level=logging.INFO)
    try:
        serve(
            load,
            host=given.host,
            port=given.port,
            processes=given.processes,
            ready=lambda url: print(f"headgate ready on {url}", flush=True),
            clock=SystemClock(),
        )
    except errors.HeadgateError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
