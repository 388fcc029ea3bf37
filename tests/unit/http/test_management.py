"""Probes, numbers, settings and documents."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.clock import SystemClock
from headgate.errors import BackendUnavailable
from headgate.http.front import Front
from headgate.http.management import health
from headgate.http.management.routes import management_surface
from headgate.http.management.services import Management, kernel_check
from headgate.http.measures import Measures
from headgate.http.router import Surface
from headgate.http.shared_measures import SharedMeasures
from headgate.kernel.kernel import Kernel
from headgate.wiring import entropy
from tests.unit.http.asgi import ask


async def fine() -> None:
    pass


async def away() -> None:
    raise BackendUnavailable("the database is away", fix="Bring it back")


async def silent() -> None:
    await asyncio.sleep(30)


async def broken() -> None:
    raise ZeroDivisionError("secret")


def front(check: Callable[[], Awaitable[object]] = fine) -> Front:
    measures = Measures()
    services = Management(
        check,
        SharedMeasures(measures, None, SystemClock()),
        settings=[{"name": "port", "value": "8181"}],
        documents={"/iceberg/v1/openapi.json": b"{}"},
    )

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        yield [management_surface(services)]

    return Front(opening, SystemClock(), measures, seed=1)


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (away, "the database is away. Bring it back"),
        (silent, "the database did not answer within 0.05 s"),
        (broken, "an unexpected error, which the log shows"),
    ],
)
async def test_a_server_that_cannot_serve_says_why(
    check: Callable[[], Awaitable[object]], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not ready; the process lives all the same."""
    monkeypatch.setattr(health, "READY_SECONDS", 0.05)
    async with front(check) as app:
        ready = await ask(app, "GET", "/health/ready")
        general = await ask(app, "GET", "/health")
        live = await ask(app, "GET", "/health/live")

    assert (ready.status, general.status, live.status) == (503, 503, 200)
    assert json.loads(ready.body) == {"status": "down", "problem": problem}


async def test_a_server_that_can_serve_is_ready() -> None:
    """All three probes agree."""
    async with front() as app:
        answers = [
            await ask(app, "GET", path) for path in ("/health", "/health/live", "/health/ready")
        ]

    assert {(answer.status, answer.body) for answer in answers} == {(200, b'{"status":"up"}')}


async def test_a_kernel_is_checked_by_what_every_request_does() -> None:
    """When the database fails, so does the check."""
    async with Kernel(MemoryBackend(), SystemClock(), entropy) as kernel:
        check = kernel_check(kernel)
        assert await check() is not None


async def test_numbers_settings_and_documents_are_served() -> None:
    """Each in the form its readers expect."""
    async with front() as app:
        metrics = await ask(app, "GET", "/metrics")
        settings = await ask(app, "GET", "/management/v1/settings")
        document = await ask(app, "GET", "/iceberg/v1/openapi.json/")

    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b"headgate_processes 1\n" in metrics.body
    assert json.loads(settings.body) == {"settings": [{"name": "port", "value": "8181"}]}
    assert (document.status, document.body) == (200, b"{}")
