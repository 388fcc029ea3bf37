"""The routes of this surface."""

from collections.abc import Iterable

import msgspec

from headgate import __version__
from headgate.access.rules import READ_SETTINGS
from headgate.errors import BadRequest
from headgate.http.management import health
from headgate.http.management.health import Health
from headgate.http.management.services import Management
from headgate.http.measures import prometheus_text
from headgate.http.problems import PLAIN
from headgate.http.request import JSON_CONTENT, Request, Response, json_response
from headgate.http.router import CredentialUse, Route, Surface

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class SettingList(msgspec.Struct, frozen=True):
    """All settings, as they are in force."""

    settings: list[dict[str, str]]


def management_surface(services: Management) -> Surface:
    """The routes of this surface, with the documents that these services hold."""
    return Surface("", [*ROUTES, *document_routes(services.documents)], services, PLAIN)


def document_routes(paths: Iterable[str]) -> list[Route]:
    """A route for each OpenAPI document."""
    return [
        Route(
            "GET",
            path,
            document,
            f"document:{path}",
            "An OpenAPI document",
            ("management",),
            credentials=CredentialUse.UNREAD,
        )
        for path in paths
    ]


async def metrics(services: Management, _request: Request) -> Response:
    """The numbers of all processes of this server."""
    await services.refresh()
    text = prometheus_text(services.measures.samples())
    return Response(200, text.encode(), [("content-type", PROMETHEUS)])


async def settings(services: Management, request: Request) -> Response:
    """The settings in force."""
    await services.admit(request, READ_SETTINGS)
    return json_response(200, SettingList([dict(setting) for setting in services.settings]))


async def index(_services: Management, _request: Request) -> Response:
    """What is where, for whoever looks at the server itself."""
    paths = {"iceberg": "/iceberg", "gravitino": "/api", "health": "/health"}
    return json_response(200, {"headgate": __version__, **paths})


async def astray(_services: Management, _request: Request) -> Response:
    """A client of Iceberg that was given the server's address as its own."""
    raise BadRequest(
        "This is not Iceberg's protocol yet",
        why="it begins below /iceberg",
        fix="Add /iceberg to the client's uri",
    )


async def document(services: Management, request: Request) -> Response:
    """The OpenAPI document that is served at this path."""
    path = request.path.rstrip("/")
    return Response(200, services.documents[path], [JSON_CONTENT], key=("document", path))


_PROBES = ("probes",)
_OWN = ("management",)

ROUTES = (
    Route(
        "GET",
        "/",
        index,
        "index",
        "What is where",
        _OWN,
        response=dict[str, str],
        credentials=CredentialUse.UNREAD,
    ),
    Route(
        "GET",
        "/v1/config",
        astray,
        "astray",
        "Says where Iceberg's protocol is",
        _OWN,
        response=dict[str, str],
        credentials=CredentialUse.UNREAD,
    ),
    Route(
        "GET",
        "/health",
        health.ready,
        "health",
        "Whether the server can serve",
        _PROBES,
        response=Health,
        answers={503: Health},
        credentials=CredentialUse.UNREAD,
        probe=True,
    ),
    Route(
        "GET",
        "/health/live",
        health.live,
        "live",
        "Whether the process answers",
        _PROBES,
        response=Health,
        credentials=CredentialUse.UNREAD,
        probe=True,
    ),
    Route(
        "GET",
        "/health/ready",
        health.ready,
        "ready",
        "Whether the server can serve",
        _PROBES,
        response=Health,
        answers={503: Health},
        credentials=CredentialUse.UNREAD,
        probe=True,
    ),
    Route(
        "GET",
        "/metrics",
        metrics,
        "metrics",
        "Numbers for Prometheus",
        _PROBES,
        response=str,
        content=PROMETHEUS,
        credentials=CredentialUse.UNREAD,
        probe=True,
    ),
    Route(
        "GET",
        "/management/v1/settings",
        settings,
        "listSettings",
        "Settings as they are in force",
        _OWN,
        rule=READ_SETTINGS,
        response=SettingList,
    ),
)
