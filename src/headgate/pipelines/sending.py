"""Requests to a server, tried again where that is safe; what fails is raised as ours."""

import threading
import weakref
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from headgate import __version__, errors
from headgate.clock import SystemClock
from headgate.errors import HeadgateError, NotAuthenticated, OutcomeUnknown, Unavailable
from headgate.pipelines.bounds import (
    PIPELINE_CONNECT_SECONDS,
    PIPELINE_CONNECTIONS_MAX,
    PIPELINE_PAUSE_SECONDS_MAX,
    PIPELINE_PAUSE_SECONDS_MIN,
    PIPELINE_REQUEST_SECONDS_MAX,
    PIPELINE_RETRY_SECONDS_MAX,
)

if TYPE_CHECKING:
    from requests import PreparedRequest, Response, Session
    from requests.exceptions import RequestException

KINDS: dict[str, type[HeadgateError]] = {
    "CommitFailedException": errors.Conflict,
    "CommitStateUnknownException": errors.OutcomeUnknown,
    "ForbiddenException": errors.Forbidden,
    "NamespaceNotEmptyException": errors.NamespaceNotEmpty,
    "NoSuchCatalogException": errors.CatalogNotFound,
    "NoSuchMetalakeException": errors.MetalakeNotFound,
    "NoSuchNamespaceException": errors.NamespaceNotFound,
    "NoSuchSchemaException": errors.NamespaceNotFound,
    "NoSuchTableException": errors.TableNotFound,
    "NoSuchViewException": errors.ViewNotFound,
    "NoSuchWarehouseException": errors.CatalogNotFound,
    "NotAuthorizedException": errors.NotAuthenticated,
    "ServiceUnavailableException": errors.Unavailable,
}
"""By the names that clients of Iceberg and of Gravitino know them by."""

STATUSES: dict[int, type[HeadgateError]] = {
    400: errors.BadRequest,
    401: errors.NotAuthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    405: errors.Unsupported,
    406: errors.Unsupported,
    409: errors.Conflict,
    410: errors.LogCut,
    413: errors.TooLarge,
    422: errors.Unprocessable,
    429: errors.Overloaded,
    503: errors.Unavailable,
}
LASTING = (errors.LeaseLost, errors.DatabaseFull, errors.DatabaseGone, errors.StoreRestored)
"""Not done, and no better when it is sent again."""
SAFE = frozenset({"GET", "HEAD"})
SIGN_IN = "Give a good token with HEADGATE_TOKEN, or HEADGATE_USER and HEADGATE_PASSWORD"


class _Outcome(NamedTuple):
    """What came of one try."""

    answer: "Response | None" = None
    error: HeadgateError | None = None
    pause_seconds: float = 0.0
    """That the server asks for before the next try."""


class Sender:
    """Connections to one server, made when they are needed, and closed when nobody has it any more.

    Any number of threads may send.
    """

    def __init__(self, url: str, authorization: str) -> None:
        self._url = url
        self._authorization = authorization
        self._session: Session | None = None
        self._clock = SystemClock()
        self._has_answered = False

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> "Response":
        """The answer to a request that succeeded; all others are raised.

        What was certainly not done is tried again for a while. A server that never answered is
        given up at once: it is more likely to be elsewhere than to be late.
        """
        asked = {
            "params": query or {},
            "data": None if body is None else msgspec.json.encode(body),
            "headers": {"Content-Type": "application/json", **(headers or {})},
        }
        end = self._clock.seconds() + PIPELINE_RETRY_SECONDS_MAX
        pause = PIPELINE_PAUSE_SECONDS_MIN
        while True:
            answer, error, asked_for = self._tried(method, path, asked)
            if answer is not None:
                return answer
            assert error is not None
            is_passing = isinstance(error, Unavailable) and not isinstance(error, LASTING)
            if not (is_passing and self._has_answered) or self._clock.seconds() >= end:
                raise error
            threading.Event().wait(min(max(pause, asked_for), PIPELINE_PAUSE_SECONDS_MAX))
            pause *= 2

    def _tried(self, method: str, path: str, asked: dict[str, Any]) -> _Outcome:
        from requests.exceptions import RequestException

        try:
            answer = self._opened().request(
                method,
                f"{self._url}{path}",
                timeout=(PIPELINE_CONNECT_SECONDS, PIPELINE_REQUEST_SECONDS_MAX),
                allow_redirects=False,
                **asked,
            )
        except RequestException as lost:
            return _Outcome(error=self._lost(method, lost))
        self._has_answered = True
        if answer.ok and not answer.is_redirect:
            return _Outcome(answer)
        error = failure(answer.status_code, answer.content, f"{method} {self._url}{path}")
        return _Outcome(None, error, _seconds(answer.headers.get("Retry-After", "")))

    def _lost(self, method: str, error: "RequestException") -> HeadgateError:
        """What to say of a request that was not answered."""
        from requests.exceptions import ConnectTimeout

        why = _reason(error)
        was_sent = "NewConnectionError" not in repr(error) and not isinstance(error, ConnectTimeout)
        if was_sent and method not in SAFE:
            return OutcomeUnknown(
                f"the server at {self._url} did not answer a request to change something", why=why
            )
        return Unavailable(
            f"the server at {self._url} cannot be reached",
            why=why,
            fix="Check that it runs, and the address in --server",
        )

    def _opened(self) -> "Session":
        if self._session is None:
            import requests
            from requests.adapters import HTTPAdapter

            session = requests.Session()
            # Without it requests would look for passwords in ~/.netrc.
            session.auth = partial(_signed, self._authorization)
            session.headers["User-Agent"] = f"headgate/{__version__}"
            adapter = HTTPAdapter(pool_maxsize=PIPELINE_CONNECTIONS_MAX)
            session.mount("http://", adapter)
            session.mount("https://", adapter)
            weakref.finalize(self, session.close)
            self._session = session
        return self._session


def _signed(authorization: str, request: "PreparedRequest") -> "PreparedRequest":
    if authorization:
        request.headers["Authorization"] = authorization
    return request


def failure(status: int, body: bytes, what: str) -> HeadgateError:
    """The error that an answer tells of, in the server's own words."""
    try:
        told = msgspec.json.decode(body)
        told = told.get("error", told)
        message, name = str(told["message"]), str(told.get("type", ""))
    except (msgspec.MsgspecError, AttributeError, KeyError, TypeError):
        return HeadgateError(
            f"{what} was answered with {status}",
            why="the answer is not one of Headgate's",
            fix="Check the address in --server",
        )
    kind = own_kind(name) or KINDS.get(name) or _by_status(status, name)
    if kind is NotAuthenticated:
        return kind(message, fix=SIGN_IN)
    what, fix = _divided(message)
    return kind(what, fix=fix)


def _divided(message: str) -> tuple[str, str]:
    """A message of the server, and what it ends with if that says what to do."""
    what, _, fix = message.rpartition(". ")
    return (what, fix) if what and fix and (fix[0].isupper() or fix[0] == "`") else (message, "")


def _by_status(status: int, name: str) -> type[HeadgateError]:
    """The class that a status means; of what exists each kind of object has a name of its own."""
    if name.endswith("AlreadyExistsException"):
        return errors.AlreadyExists
    return STATUSES.get(status, HeadgateError)


def own_kind(name: str) -> type[HeadgateError] | None:
    """The class of this name in our tree."""
    found = getattr(errors, name, None)
    return found if isinstance(found, type) and issubclass(found, HeadgateError) else None


def _seconds(text: str) -> float:
    return float(text) if text.isdigit() else 0.0


def _reason(error: Exception) -> str:
    """The innermost words of a failure of the network."""
    inner: BaseException = error
    while inner.args and isinstance(inner.args[0], BaseException):
        inner = inner.args[0]
    text = str(getattr(inner, "reason", None) or inner)
    return text.rpartition(": ")[2] or type(error).__name__
