"""Routes of a server that only reads: those that write refuse to."""

from collections.abc import Sequence

import msgspec

from headgate.errors import Forbidden
from headgate.http.request import Request, Response
from headgate.http.router import Route


def refusing_writes(routes: Sequence[Route]) -> Sequence[Route]:
    """These routes; those that write refuse everybody."""
    return tuple(map(_refusing, routes))


def _refusing(route: Route) -> Route:
    return msgspec.structs.replace(route, handler=_refuse) if route.writes else route


async def _refuse(_service: object, _request: Request) -> Response:
    raise Forbidden(
        "Not allowed: this server only reads",
        why="it was started with --read-only",
        fix="Ask another server of the same store",
    )
