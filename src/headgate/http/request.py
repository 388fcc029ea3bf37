"""What a handler gets and gives: requests, responses, and JSON bodies in both directions."""

from collections.abc import Awaitable, Callable, Hashable, Iterable, MutableMapping, Sequence
from enum import Enum
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote_plus

import msgspec

from headgate.catalog.calls import ANYBODY, Caller
from headgate.errors import BadRequest
from headgate.limits import QUERY_PARAMETERS_MAX

T = TypeVar("T")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class Ground(Protocol):
    """What an answer rests on besides its request."""

    async def holds(self) -> bool:
        """Whether it is as it was."""
        ...


class Stage(Enum):
    """What a request waits for."""

    AUTHENTICATION = "authentication"
    BODY = "body"
    HANDLER = "handler"
    """From here on, what a request changes may have happened."""


class Request(msgspec.Struct, eq=False):
    """One request, its body read. Nothing in it is decoded before somebody asks."""

    method: str
    path: str
    """As it came, percent-encoded."""
    params: dict[str, str] = {}
    """The segments that fill the route's template, still percent-encoded."""
    raw_query: str = ""
    headers: dict[str, str] = {}
    """By lower-case name; a header that came more than once is joined with commas."""
    body: bytes = b""
    id: str = ""
    address: str = ""
    """Of the peer that the connection came from: a proxy's, if there is one."""
    caller: Caller = ANYBODY
    """As its credentials say; what they prove is compared with the stored identities later."""
    expires_ms: int | None = None
    """Until when the caller is known to be who it is; None if that does not end."""
    stage: Stage = Stage.AUTHENTICATION
    is_fresh: bool = True
    """Whether the database is to be asked, also where pointers are polled."""
    ground: Ground | None = None
    """Of its answer, once somebody has read it."""
    _query: dict[str, list[str]] | None = None
    _encoded_query: dict[str, list[str]] | None = None

    def __repr__(self) -> str:
        return f"Request({self.method} {self.path})"  # headers and bodies have secrets

    @property
    def has_body(self) -> bool:
        """Whether its headers announce a body."""
        headers = self.headers
        return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers

    @property
    def principal(self) -> str:
        """The name of the caller."""
        return self.caller.name

    @property
    def query(self) -> dict[str, list[str]]:
        """The decoded values of each parameter, in the order they came; `+` is a space."""
        if self._query is None:
            self._query = {
                name: [_decoded(value) for value in values]
                for name, values in self.encoded_query.items()
            }
        return self._query

    @property
    def encoded_query(self) -> dict[str, list[str]]:
        """The same with values still percent-encoded: for those that are split before decoding."""
        if self._encoded_query is None:
            self._encoded_query = _split_query(self.raw_query)
        return self._encoded_query

    def first(self, name: str) -> str | None:
        """The first value of a query parameter, decoded."""
        if not self.raw_query:
            return None
        values = self.query.get(name)
        return values[0] if values else None

    def first_encoded(self, name: str) -> str | None:
        """The first value of a query parameter, still percent-encoded."""
        values = self.encoded_query.get(name)
        return values[0] if values else None


class Response(msgspec.Struct, eq=False):
    """An answer. A body that is compressed already says so in a header `content-encoding`."""

    status: int
    body: bytes | list[bytes] = b""
    headers: list[tuple[str, str]] = []
    key: Hashable | None = None
    """What the body is a function of, if it is worth keeping compressed. All routes share one
    space of keys, so one begins with the name of its kind."""


JSON_CONTENT = ("content-type", "application/json")
_encoder = msgspec.json.Encoder()


def json_response(status: int, value: object, headers: Iterable[tuple[str, str]] = ()) -> Response:
    """An answer with this value as JSON."""
    return Response(status, _encoder.encode(value), [JSON_CONTENT, *headers])


def decode(request: Request, cls: type[T]) -> T:
    """The body as a value of this type, or BadRequest that says what is wrong and where."""
    if not request.body:
        raise BadRequest(
            "Cannot read the request",
            why="it has no body",
            fix="Send a JSON document",
        )
    try:
        return msgspec.json.decode(request.body, type=cls)
    except RecursionError:
        why = "it is nested too deeply"
    except (msgspec.MsgspecError, ValueError, OverflowError) as error:
        why = str(error)
    raise BadRequest(
        "Cannot read the request",
        why=f"its body is not what {request.method} takes here: {why}",
        fix="Correct the JSON document",
    )


def flag(request: Request, name: str) -> bool:
    """A query parameter that is true or false, in any case; absent is false."""
    text = (request.first(name) or "false").lower()
    if text not in {"true", "false"}:
        raise BadRequest(f"Invalid {name}: {text[:80]}", why="it is no truth value", fix="Use true")
    return text == "true"


def request_of(scope: Message, id: str) -> Request:
    """The request, its body not yet read. What is not ASCII is refused, and logged escaped."""
    client = scope.get("client")
    return Request(
        scope["method"],
        scope["raw_path"].decode("ascii", "backslashreplace"),
        raw_query=scope["query_string"].decode("ascii", "backslashreplace"),
        headers=headers_by_name(scope["headers"]),
        id=id,
        address=client[0] if client else "",
    )


def headers_by_name(raw: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers as a dictionary; servers hand over names in lower case."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
    if len(headers) == len(raw):
        return headers
    joined: dict[str, list[str]] = {}
    for name, value in raw:
        joined.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return {name: ", ".join(values) for name, values in joined.items()}


def _split_query(raw: str) -> dict[str, list[str]]:
    pairs = raw.split("&", QUERY_PARAMETERS_MAX)
    if len(pairs) > QUERY_PARAMETERS_MAX:
        raise BadRequest(
            "Cannot read the request",
            why=f"its query has more than {QUERY_PARAMETERS_MAX} parameters",
            fix="Send fewer",
        )
    query: dict[str, list[str]] = {}
    for pair in pairs:
        if pair:
            name, _, value = pair.partition("=")
            query.setdefault(_decoded(name), []).append(value)
    return query


def _decoded(text: str) -> str:
    if "%" not in text and "+" not in text:
        return text
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        raise BadRequest(
            f"Cannot read the query value {text[:80]!r}",
            why="what it encodes is not UTF-8",
            fix="Encode text as UTF-8, then percent-encode the bytes",
        ) from None
