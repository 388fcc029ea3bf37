"""What Gravitino has and is not served yet: said so, and not taken for a mistyped path."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from headgate.clock import SystemClock
from headgate.http.front import Front
from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.gravitino.routes import ROUTES
from headgate.http.gravitino.unserved import IN_METALAKE, IN_SCHEMA, ON_OBJECT, unserved
from headgate.http.measures import Measures
from headgate.http.problems import ICEBERG, PLAIN
from headgate.http.router import Surface
from tests.unit.http.asgi import ask

METALAKE = "/api/metalakes/m"
PATHS = {
    **{f"{METALAKE}/{what}": what for what in IN_METALAKE},
    **{f"{METALAKE}/objects/table/c.s.t/{what}": what for what in ON_OBJECT},
    **{f"{METALAKE}/catalogs/c/schemas/s/{what}": what for what in IN_SCHEMA},
}


@pytest.mark.parametrize("below", ["", "/", "/x", "/x/versions/1/uri"])
def test_each_resource_is_known_by_its_path(below: str) -> None:
    """And all that is below it."""
    assert {path: unserved(f"{path}{below}") for path in PATHS} == PATHS


def test_what_is_served_is_not_among_them() -> None:
    """Whoever serves one takes it from the list."""
    assert [route.template for route in ROUTES if unserved(f"/api{route.template}")] == []


@pytest.mark.parametrize(
    "path",
    [f"{METALAKE}/tagsy", f"{METALAKE}/nothing", "/api/tags", "/iceberg/metalakes/m/tags"],
)
def test_other_paths_are_simply_unknown(path: str) -> None:
    """Nobody knows what they are about."""
    assert unserved(path) == ""
    assert ICEBERG.unserved(path) == PLAIN.unserved(path) == ""


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_the_answer_says_that_it_is_not_served_yet(method: str) -> None:
    """405 with the number of what is not supported; a path that nobody knows has no such answer."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        yield [Surface("/api", ROUTES, None, GRAVITINO)]

    async with Front(opening, SystemClock(), Measures(), seed=10) as front:
        answer = await ask(front, method, f"{METALAKE}/tags/red")
        unknown = await ask(front, method, f"{METALAKE}/nothing")

    assert answer.status == 405
    assert json.loads(answer.body) == {
        "code": 1006,
        "type": "UnsupportedOperationException",
        "message": f"{method} {METALAKE}/tags/red is not served yet: there are no tags here",
    }
    assert unknown.status == 404
    assert b"No route for request" in unknown.body
