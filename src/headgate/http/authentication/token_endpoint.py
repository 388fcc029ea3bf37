"""The answer to a request for a token, as OAuth2 and older Iceberg clients want it."""

from collections.abc import Callable, Mapping
from typing import Literal, Protocol
from urllib.parse import parse_qs

import msgspec

from headgate.catalog.identities import Identities
from headgate.errors import NotAuthenticated
from headgate.http.authentication.basic_header import Credentials, basic_credentials
from headgate.http.authentication.own_tokens import Issued, OwnTokens
from headgate.http.authentication.simple_tokens import SimpleTokens
from headgate.http.request import Request, Response, json_response
from headgate.limits import TOKEN_SECONDS

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105  a kind of token
NO_STORE = ("cache-control", "no-store")


class TokenForm(msgspec.Struct, frozen=True):
    """A request for a token, as OAuth2 has it: a form, for documents."""

    grant_type: Literal["client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"]
    scope: str | None = None
    client_id: str | None = None
    client_secret: str | None = None
    subject_token: str | None = None
    subject_token_type: str | None = None


class TokenAnswer(msgspec.Struct, frozen=True):
    """A token, as OAuth2 has it, for documents."""

    access_token: str
    token_type: str
    expires_in: int
    issued_token_type: str
    scope: str | None = None


class OAuthError(msgspec.Struct, frozen=True):
    """A refusal, as OAuth2 has it."""

    error: str
    error_description: str


class Granter(Protocol):
    """Gives tokens, or says `NotAuthenticated`."""

    async def for_client(self, client: Credentials) -> Issued:
        """A token for a client."""
        ...

    async def for_token(self, token: str) -> Issued | None:
        """A newer token for one that is still good; None if it was not issued here."""
        ...


class SimpleGranter:
    """Believes whoever asks."""

    def __init__(self, tokens: SimpleTokens) -> None:
        self._tokens = tokens

    async def for_client(self, client: Credentials) -> Issued:
        return Issued(self._tokens.issue(client.name), TOKEN_SECONDS)

    async def for_token(self, token: str) -> Issued | None:
        holder = self._tokens.read(token)
        return Issued(self._tokens.issue(holder.name), TOKEN_SECONDS) if holder else None


class KeptGranter:
    """Gives tokens to clients that are kept, for their secrets."""

    def __init__(self, tokens: OwnTokens, identities: Identities) -> None:
        self._tokens = tokens
        self._identities = identities

    async def for_client(self, client: Credentials) -> Issued:
        return await self._tokens.issue(await self._identities.client(*client))

    async def for_token(self, token: str) -> Issued | None:
        held = await self._tokens.read(token)
        if held is None:
            return None
        await self._identities.confirmed_now(held.caller)
        return await self._tokens.exchange(held)


Note = Callable[[Request, str, str], None]
"""Records that a name was refused, and the reason."""


def unrecorded(_request: Request, _name: str, _reason: str) -> None:
    """Record nothing of a refused client."""


class TokenEndpoint:
    """Answers requests for tokens; without a granter there are none."""

    def __init__(self, granter: Granter | None, note: Note = unrecorded) -> None:
        self._granter = granter
        self._note = note

    async def answer(self, request: Request) -> Response:
        """A token for client credentials, or in exchange for another."""
        form = form_of(request.body)
        grant = form.get("grant_type")
        if self._granter is None:
            return refuse(400, "unauthorized_client", "this server issues no tokens")
        if grant == "client_credentials":
            return await self._for_client(self._granter, request, form)
        if grant == EXCHANGE:
            return await self._for_token(self._granter, request, form)
        if grant is None:
            return refuse(400, "invalid_request", "grant_type is missing")
        return refuse(400, "unsupported_grant_type", "use client_credentials or token exchange")

    async def _for_client(
        self, granter: Granter, request: Request, form: Mapping[str, str]
    ) -> Response:
        client = Credentials(form.get("client_id", ""), form.get("client_secret", ""))
        if not client.name:
            client = basic_credentials(request.headers.get("authorization", ""))
        if not client.name:
            return refuse(401, "invalid_client", "client_id is missing")
        try:
            return _granted(await granter.for_client(client), form)
        except NotAuthenticated as error:
            self._note(request, client.name, error.reason)
            return refuse(401, "invalid_client", str(error))

    async def _for_token(
        self, granter: Granter, request: Request, form: Mapping[str, str]
    ) -> Response:
        """Java's clients show their own credentials along with a token that has expired."""
        why, reason = "subject_token was not issued here", "token"
        try:
            issued = await granter.for_token(form.get("subject_token", ""))
        except NotAuthenticated as error:
            issued, why, reason = None, str(error), error.reason
        if issued is not None:
            return _granted(issued, form)
        if basic_credentials(request.headers.get("authorization", "")).name:
            return await self._for_client(granter, request, form)
        self._note(request, "", reason)
        return refuse(400, "invalid_grant", why)


def form_of(body: bytes) -> dict[str, str]:
    """The fields of a form; none if it is no form."""
    try:
        fields = parse_qs(body.decode(), max_num_fields=50)
    except (UnicodeDecodeError, ValueError):
        return {}
    return {name: values[0] for name, values in fields.items()}


def _granted(issued: Issued, form: Mapping[str, str]) -> Response:
    answer = {
        "access_token": issued.token,
        "token_type": "bearer",
        "expires_in": issued.seconds,
        "issued_token_type": ACCESS_TOKEN,
    }
    if "scope" in form:
        answer["scope"] = form["scope"]
    return json_response(200, answer, [NO_STORE])


def refuse(status: int, error: str, description: str) -> Response:
    """An error in OAuth2's form, which is no protocol's of ours."""
    return json_response(status, OAuthError(error, description), [NO_STORE])
