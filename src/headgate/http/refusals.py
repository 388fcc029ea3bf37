"""What a front says to requests that it does not even hand on."""

from headgate.errors import (
    BadRequest,
    Forbidden,
    HeadgateError,
    OutcomeUnknown,
    Overloaded,
    RequestTimedOut,
    TooLarge,
    Unavailable,
)
from headgate.http.request import Request, Response, Stage
from headgate.http.router import Unmatched


def too_many(count: int) -> Overloaded:
    """Others come first."""
    return Overloaded(
        "the server is busy", why=f"{count} requests are under way", fix="Try again later"
    )


def not_ascii() -> BadRequest:
    """Nobody knows what its characters are."""
    return BadRequest(
        "Cannot read the request",
        why="its path or query has characters that are not ASCII",
        fix="Encode text as UTF-8, then percent-encode the bytes",
    )


def wrong_host(host: str) -> Forbidden:
    """It names somebody else."""
    return Forbidden(
        f"the host {host[:200]!r} is not served here",
        why="the server listens on this machine only, and this is no name of it",
        fix="Use http://localhost and the port of the server",
    )


def other_origin(origin: str) -> Forbidden:
    """A browser was told to send it by somebody else."""
    return Forbidden(
        "requests from other web sites are not allowed",
        why=f"a browser sent this one for {origin[:200]!r}",
        fix="Ask the server itself, without a header Origin",
    )


def no_route(method: str, path: str) -> str:
    """Nobody answers there; perhaps a client was told what it adds itself."""
    hint = ""
    if "/v1/v1/" in path:
        hint = ": the client adds /v1 itself; end the uri with /iceberg"
    return f"No route for request: {method} {path[:200]}{hint}"


def not_served(method: str, path: str, what: str) -> str:
    """The protocol has it, and nobody answers there yet."""
    return f"{method} {path[:200]} is not served yet: there are no {what} here"


def unmatched(match: Unmatched, request: Request) -> Response:
    """The response where no route answers, or only to other methods."""
    dialect = match.dialect
    if not match.allowed:
        if what := dialect.unserved(request.path):
            said = not_served(request.method, request.path, what)
            return dialect.say(dialect.unknown_method, said)
        return dialect.say(dialect.unknown_path, no_route(request.method, request.path))
    allowed = ", ".join(sorted(match.allowed))
    response = dialect.say(
        dialect.unknown_method,
        f"No route for request: {request.method} {request.path[:200]}: "
        f"this path knows only {allowed}",
    )
    response.headers.append(("allow", allowed))
    return response


def too_large(limit: int) -> TooLarge:
    """Its body is longer than any that is read."""
    return TooLarge(
        "the request is too large",
        why=f"its body has more than the allowed {limit} bytes",
        fix="Send less at once",
    )


def late(operation: str, stage: Stage, *, writes: bool) -> HeadgateError:
    """The error of a request whose time was up at this stage; `writes` if its handler changes
    something."""
    what = f"{operation} was given up"
    if stage is Stage.BODY:
        return RequestTimedOut(what, why="its body did not arrive in time", fix="Send it at once")
    if stage is Stage.AUTHENTICATION:
        why = "its time was up before its caller was authenticated"
        return Unavailable(what, why=why, fix="Try again")
    if writes:
        return OutcomeUnknown(
            what, why="its time was up", fix="Read what it was to change before trying again"
        )
    return Unavailable(what, why="its time was up", fix="Try again")
