"""Probes: does the process live, and can it serve."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec

from headgate.errors import HeadgateError
from headgate.http.management.services import Management
from headgate.http.request import Request, Response, json_response
from headgate.limits import READY_SECONDS

logger = logging.getLogger(__name__)


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a probe is told."""

    status: str
    """`up` or `down`."""
    problem: str = ""
    """What is wrong when it is down."""


async def live(_services: Management, _request: Request) -> Response:
    """The process answers: that is all."""
    return json_response(200, Health("up"))


async def ready(services: Management, _request: Request) -> Response:
    """The server can do what every request needs."""
    problem = await problem_of(services.check)
    if problem:
        return json_response(503, Health("down", problem))
    return json_response(200, Health("up"))


async def problem_of(check: Callable[[], Awaitable[object]]) -> str:
    """What is wrong with the server, by what this check does; empty if nothing is."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await check()
    except TimeoutError:
        return f"the database did not answer within {READY_SECONDS:g} s"
    except HeadgateError as error:
        return str(error)
    except Exception:
        logger.exception("the server cannot tell whether it is ready")
        return "an unexpected error, which the log shows"
    return ""
