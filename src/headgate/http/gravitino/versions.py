"""Which version of the protocol a client wants: the header `Accept` may name one."""

import re

import msgspec

from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.problems import Problem
from headgate.http.request import Request, Response
from headgate.http.router import Handler, Route

SPOKEN = frozenset({"1", "2"})
"""The second one only adds to the first."""
_NAMED = re.compile(r"application/vnd\.gravitino\.v(\d+)\+json", re.IGNORECASE)
_NOT_SPOKEN = Problem(406, "UnsupportedOperationException", code=1006)


def versioned(route: Route) -> Route:
    """The same route, which refuses clients of other versions."""
    return msgspec.structs.replace(route, handler=_versioned(route.handler))


def _versioned(handler: Handler) -> Handler:
    async def handle(service: object, request: Request) -> Response:
        named = _NAMED.findall(request.headers.get("accept", ""))
        if named and SPOKEN.isdisjoint(named):
            text = f"Version {named[0][:20]} of the protocol is not spoken here. Use version 1"
            return GRAVITINO.say(_NOT_SPOKEN, text)
        return await handler(service, request)

    return handle
