"""What a front says to requests that it does not even hand on."""

from headgate.errors import BadRequest, Forbidden, Overloaded, TooLarge


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


def too_large(limit: int) -> TooLarge:
    """Its body is longer than any that is read."""
    return TooLarge(
        "the request is too large",
        why=f"its body has more than the allowed {limit} bytes",
        fix="Send less at once",
    )
