"""Which route answers a path: tables of routes, compiled into one tree of raw path segments.

A path is split first and decoded later, by the handler: `%2F` inside of a name is no separator.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from headgate.access.rules import Rule
from headgate.catalog.calls import Caller
from headgate.errors import HeadgateError, NotAuthenticated
from headgate.http.problems import Dialect
from headgate.http.request import Request, Response
from headgate.limits import PATH_KNOWN_CHARS_MAX, PATHS_KNOWN_MAX, SHORT_BODY_BYTES_MAX

Handler = Callable[[Any, Request], Awaitable[Response]]
"""Called with the services of its surface."""
Authenticate = Callable[[Request], Awaitable[Caller]]
"""Returns the caller that the headers of a request name, or raises `NotAuthenticated`."""
Refused = Callable[[Request, NotAuthenticated], None]
"""Records that a request was refused because its caller is not authenticated."""


class CredentialUse(Enum):
    """What is made of the credentials of a request before its handler is called."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    """A request without any is anonymous."""
    OFFERED = "offered"
    """The same; one that cannot be read or has expired counts as none."""
    UNREAD = "unread"
    """The answer does not depend on the caller, or the handler reads them itself."""


class Parameter(msgspec.Struct, frozen=True):
    """A query parameter or a header, for the OpenAPI document."""

    name: str
    type: Any = str
    place: str = "query"
    required: bool = False
    description: str = ""


class Route(msgspec.Struct, frozen=True, eq=False):
    """One operation: what it answers to, who answers, and what people may know about it."""

    method: str
    template: str
    """A path with parameters for whole segments: `/v1/{prefix}/namespaces`."""
    handler: Handler
    operation: str
    """Its name in documents and logs: `loadTable`."""
    summary: str = ""
    tags: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    """Besides those of the template."""
    request: Any = None
    """The type of the body, for documents."""
    response: Any = None
    """The type of the answer, for documents."""
    content: str = "application/json"
    """The content type of the answer."""
    request_content: str = "application/json"
    body_bytes_max: int = SHORT_BODY_BYTES_MAX
    """What is larger is refused before it is read whole: decoding it would hold up all others."""
    status: int = 200
    """Of a success."""
    other_statuses: tuple[int, ...] = ()
    """Of other answers that are no errors and have no body, as 304."""
    answers: Mapping[int, Any] = {}
    """The types of answers of other statuses that are not the dialect's errors, for documents."""
    errors: tuple[type[HeadgateError], ...] = ()
    """What can go wrong here besides what can go wrong everywhere."""
    rule: Rule | None = None
    """What it asks of its caller; None if anybody may."""
    writes: bool = False
    """Changes something: when its time is up, nobody knows whether it did."""
    stands: bool = False
    """Its answers are functions of the request and its ground, unless they have a header
    `cache-control`; files may vanish meanwhile."""
    credentials: CredentialUse = CredentialUse.REQUIRED
    probe: bool = False
    """Asks about the server itself: is let in when nobody else is, and not logged."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the template's parameters."""
        return tuple(part[1:-1] for part in self.template.split("/") if part[:1] == "{")


def unrecorded(_request: Request, _error: NotAuthenticated) -> None:
    """Record nothing of a refused login."""


class Surface(NamedTuple):
    """One protocol: where it is, its routes, what they work with, and how it says no."""

    prefix: str
    """Before every template; empty or `/name`."""
    routes: Sequence[Route]
    services: Any
    dialect: Dialect
    authenticate: Authenticate | None = None
    """None if callers are not told apart."""
    refused: Refused = unrecorded


class Match(NamedTuple):
    """A route that answers, and what it needs."""

    route: Route
    params: dict[str, str]
    surface: Surface

    async def authenticate(self, request: Request) -> None:
        """Set the caller of a request, if its route asks for one."""
        use = self.route.credentials
        if self.surface.authenticate is None or use is CredentialUse.UNREAD:
            return
        is_optional = use is not CredentialUse.REQUIRED
        if is_optional and "authorization" not in request.headers:
            return
        try:
            request.caller = await self.surface.authenticate(request)
        except NotAuthenticated:
            if use is not CredentialUse.OFFERED:
                raise


class Unmatched(NamedTuple):
    """Nobody answers, or only to other methods."""

    allowed: tuple[str, ...]
    """Methods that this path has; none if there is no such path."""
    dialect: Dialect


class _Target(NamedTuple):
    route: Route
    names: tuple[str, ...]
    surface: Surface


class _Node:
    __slots__ = ("children", "parameter", "targets")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.targets: dict[str, _Target] = {}


class Router:
    """Finds the route for a method and a raw path. Plain segments win over parameters."""

    def __init__(self, surfaces: Iterable[Surface]) -> None:
        self.surfaces = sorted(surfaces, key=lambda surface: -len(surface.prefix))
        self._root = _Node()
        self._known: dict[tuple[str, str], Match] = {}
        """What was asked for before; nobody changes a match."""
        for surface in self.surfaces:
            for route in surface.routes:
                self._add(surface, route)

    def match(self, method: str, path: str) -> Match | Unmatched:
        """The route for this path; one slash at its end is ignored."""
        known = self._known.get((method, path))
        if known is not None:
            return known
        found = self._match(method, path)
        if isinstance(found, Match) and len(path) <= PATH_KNOWN_CHARS_MAX:
            if len(self._known) >= PATHS_KNOWN_MAX:
                self._known.clear()
            self._known[method, path] = found
        return found

    def _match(self, method: str, path: str) -> Match | Unmatched:
        parts = path.split("/")
        if len(parts) > 2 and not parts[-1]:
            parts.pop()
        values: list[str] = []
        node = _descend(self._root, parts, values)
        if node is None:
            values.clear()
            node = _find(self._root, parts, 1, values)
        if node is None:
            return Unmatched((), self.dialect_of(path))
        target = node.targets.get(method)
        if target is None and method == "HEAD":
            target = node.targets.get("GET")
        if target is None:
            return Unmatched(tuple(node.targets), self.dialect_of(path))
        route, names, surface = target
        return Match(route, dict(zip(names, values, strict=True)), surface)

    def dialect_of(self, path: str) -> Dialect:
        """Of the surface that this path would belong to; the last one has the shortest prefix."""
        for surface in self.surfaces:
            if path.startswith(f"{surface.prefix}/"):
                return surface.dialect
        return self.surfaces[-1].dialect

    def _add(self, surface: Surface, route: Route) -> None:
        node = self._root
        for part in (surface.prefix + route.template).split("/")[1:]:
            if part[:1] == "{":
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.children.setdefault(part, _Node())
        assert route.method not in node.targets, f"two routes for {route.method} {route.template}"
        node.targets[route.method] = _Target(route, route.names, surface)


def _descend(node: _Node, parts: list[str], values: list[str]) -> _Node | None:
    """What `_find` finds without ever turning back: nearly always, in half the time."""
    for part in parts[1:]:
        child = node.children.get(part)
        if child is None:
            child = node.parameter
            if child is None or not part:
                return None
            values.append(part)
        node = child
    return node if node.targets else None


def _find(node: _Node, parts: list[str], at: int, values: list[str]) -> _Node | None:
    """The node of these segments with all of `parts` used; parameters are added to `values`."""
    if at == len(parts):
        return node if node.targets else None
    part = parts[at]
    child = node.children.get(part)
    if child is not None:
        found = _find(child, parts, at + 1, values)
        if found is not None:
            return found
    child = node.parameter
    if child is None or not part:
        return None
    values.append(part)
    found = _find(child, parts, at + 1, values)
    if found is None:
        values.pop()
    return found
