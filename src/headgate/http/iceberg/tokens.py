"""OAuth2 tokens, as older Iceberg clients ask the catalog for them.

With simple authentication a client is whoever it says it is, and the token carries that name, so
that clients that insist on a token work. It is signed: names cannot be changed in it later.
"""

import base64
import binascii
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qs

from headgate.clock import Clock
from headgate.errors import NotAuthenticated
from headgate.http.request import ANONYMOUS, Request, Response, json_response

LIFETIME_SECONDS = 3_600
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105  a kind of token
_ALGORITHM = "HS256"
_NO_STORE = ("cache-control", "no-store")


class Tokens:
    """Issues tokens and reads them."""

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._secret = secret
        self._clock = clock

    def issue(self, name: str) -> str:
        """A token for a user of this name."""
        import jwt  # noqa: PLC0415  slow, and most servers never need it

        now = self._clock.wall_ms() // 1000
        claims = {"sub": name, "iat": now, "exp": now + LIFETIME_SECONDS, "iss": "headgate"}
        return jwt.encode(claims, self._secret, algorithm=_ALGORITHM)

    def read(self, token: str) -> "Holder | None":
        """Whose token it is, None if it was not issued here; refused if it has expired."""
        import jwt  # noqa: PLC0415  slow, and most servers never need it

        try:
            claims = jwt.decode(
                token,
                self._secret,
                algorithms=[_ALGORITHM],
                issuer="headgate",
                options={"verify_exp": False, "verify_iat": False, "require": ["sub", "exp"]},
            )
        except jwt.InvalidTokenError:
            return None
        if claims["exp"] <= self._clock.wall_ms() // 1000:
            raise NotAuthenticated("Not authorized: the token has expired", fix="Ask for a new one")
        return Holder(str(claims["sub"]), claims["exp"] * 1000)


class Holder(NamedTuple):
    """Whose token it is, and how long it is good."""

    name: str
    expires_ms: int


def simple_authentication(tokens: Tokens) -> Callable[[Request], str]:
    """Believe what a request says about its sender: a token of ours, or a user name."""

    def authenticate(request: Request) -> str:
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            holder = tokens.read(value.strip())
            if holder is None:
                return ANONYMOUS
            request.expires_ms = holder.expires_ms
            return holder.name
        if scheme.lower() == "basic":
            return _user(value) or ANONYMOUS
        return ANONYMOUS

    return authenticate


def issue_token(tokens: Tokens, request: Request) -> Response:
    """Answer a request for a token: client credentials, or a token in exchange for another."""
    form = {name: values[0] for name, values in _form(request.body).items()}
    grant = form.get("grant_type")
    if grant == "client_credentials":
        name = form.get("client_id", "") or _basic_user(request)
        if not name:
            return _refuse(401, "invalid_client", "client_id is missing")
    elif grant == EXCHANGE:
        try:
            holder = tokens.read(form.get("subject_token", ""))
        except NotAuthenticated as error:
            return _refuse(400, "invalid_grant", str(error))
        if holder is None:
            return _refuse(400, "invalid_grant", "subject_token was not issued here")
        name = holder.name
    elif grant is None:
        return _refuse(400, "invalid_request", "grant_type is missing")
    else:
        return _refuse(400, "unsupported_grant_type", "use client_credentials or token exchange")
    answer = {
        "access_token": tokens.issue(name),
        "token_type": "bearer",
        "expires_in": LIFETIME_SECONDS,
        "issued_token_type": ACCESS_TOKEN,
    }
    if "scope" in form:
        answer["scope"] = form["scope"]
    return json_response(200, answer, [_NO_STORE])


def _form(body: bytes) -> dict[str, list[str]]:
    try:
        return parse_qs(body.decode(), max_num_fields=50)
    except (UnicodeDecodeError, ValueError):
        return {}


def _basic_user(request: Request) -> str:
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    return _user(value) if scheme.lower() == "basic" else ""


def _user(encoded: str) -> str:
    try:
        return base64.b64decode(encoded.strip(), validate=True).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""


def _refuse(status: int, error: str, description: str) -> Response:
    return json_response(status, {"error": error, "error_description": description}, [_NO_STORE])
