"""Handlers about the server itself: its version, its settings, its health, and who is asking."""

from headgate import __version__
from headgate.catalog import outsiders
from headgate.errors import NotAuthenticated
from headgate.http.gravitino.service import Gravitino, address_of
from headgate.http.gravitino.shapes import Answer, Shape
from headgate.http.management.health import problem_of
from headgate.http.request import Request, Response, json_response
from headgate.http.router import CredentialUse, Route

SPOKEN_VERSION = "1.3.1"
"""Of Gravitino: a client refuses a server of an older version than its own."""
SHOWN_SERVER = "gravitino.authenticator.oauth.serverUri"
SHOWN_TOKEN_PATH = "gravitino.authenticator.oauth.tokenPath"  # noqa: S105  the name of a setting
"""Where clients get tokens: the path is below the server."""
SHOWN_ADMINS = "gravitino.authorization.serviceAdmins"
"""The consoles of Gravitino look for their user in it; other names are nobody's business."""
UP, DOWN = "UP", "DOWN"


class Version(Shape, frozen=True):
    """Which server of Gravitino's protocol this is like."""

    version: str
    compile_date: str
    git_commit: str


class VersionAnswer(Answer, frozen=True):
    """The version."""

    version: Version


class Me(Answer, frozen=True):
    """Who is asking, and whether it may do what only service admins may."""

    principal: str
    service_admin: bool


class Check(Shape, frozen=True):
    """One thing that has to work."""

    name: str
    status: str
    details: dict[str, str]


class Health(Answer, frozen=True):
    """Whether the server can serve."""

    status: str
    checks: list[Check]


async def get_version(_service: Gravitino, _request: Request) -> Response:
    """The version of the protocol; the program's own stands for the commit."""
    version = Version(
        version=SPOKEN_VERSION, compile_date="unknown", git_commit=f"headgate-{__version__}"
    )
    return json_response(200, VersionAnswer(version=version))


async def get_configs(service: Gravitino, request: Request) -> Response:
    """The settings that clients and consoles begin with."""
    configs = dict(service.configs)
    if SHOWN_TOKEN_PATH in configs:  # tokens are issued by this server itself
        configs[SHOWN_SERVER] = address_of(service, request)
    guard = service.lake.openings.guard
    if guard.is_on:
        caller = request.caller
        if caller.proof is not None:  # also of others than admins: a refusal tells nothing
            caller = await outsiders.confirm(service.lake, caller)
        configs[SHOWN_ADMINS] = caller.name if guard.is_admin(caller) else ""
    return json_response(200, configs)


async def who_am_i(service: Gravitino, request: Request) -> Response:
    """The name of who is asking."""
    caller = await outsiders.confirm(service.lake, request.caller)
    guard = service.lake.openings.guard
    is_admin = guard.is_on and guard.is_admin(caller)
    return json_response(200, Me(principal=caller.name, service_admin=is_admin))


async def live(_service: Gravitino, _request: Request) -> Response:
    """The process answers: that is all."""
    return json_response(200, Health(status=UP, checks=[_check("httpServer")]))


async def ready(service: Gravitino, _request: Request) -> Response:
    """The server can do what every request needs."""
    problem = await problem_of(service.check)
    checks = [_check("httpServer"), _check("entityStore", problem)]
    if problem:
        return json_response(503, Health(status=DOWN, checks=checks))
    return json_response(200, Health(status=UP, checks=checks))


async def say_goodbye(_service: Gravitino, _request: Request) -> Response:
    """Python's client says so when it is closed; there is nothing to close here."""
    return Response(204)


def _check(name: str, problem: str = "") -> Check:
    return Check(
        name=name, status=DOWN if problem else UP, details={"problem": problem} if problem else {}
    )


def _probe(template: str, operation: str, *, readiness: bool) -> Route:
    return Route(
        "GET",
        template,
        ready if readiness else live,
        operation,
        "Whether the server can serve" if readiness else "Whether the process answers",
        response=Health,
        answers={503: Health} if readiness else {},
        credentials=CredentialUse.UNREAD,
        probe=True,
    )


ROUTES = (
    Route(
        "GET",
        "/version",
        get_version,
        "getVersion",
        "The version of the protocol",
        response=VersionAnswer,
        credentials=CredentialUse.UNREAD,
    ),
    Route(
        "GET",
        "/authn/me",
        who_am_i,
        "whoAmI",
        "Who is asking",
        response=Me,
        errors=(NotAuthenticated,),
    ),
    _probe("/health", "gravitinoHealth", readiness=True),
    _probe("/health/live", "gravitinoLive", readiness=False),
    _probe("/health/ready", "gravitinoReady", readiness=True),
)

ROOT_ROUTES = (
    Route(
        "GET",
        "/configs",
        get_configs,
        "getConfigs",
        "What clients and consoles begin with",
        response=dict[str, object],
        credentials=CredentialUse.OFFERED,
    ),
    Route(
        "CLOSE",
        "/",
        say_goodbye,
        "close",
        "A client goes away",
        status=204,
        credentials=CredentialUse.UNREAD,
    ),
)
"""Those at the root of the server, and not below /api."""
