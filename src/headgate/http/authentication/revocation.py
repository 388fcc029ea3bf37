"""Revoking a token, as RFC 7009 says: whoever has it may."""

from typing import NamedTuple

import msgspec

from headgate.catalog.proofs import TokenProof
from headgate.catalog.signing_keys import revoke_session
from headgate.errors import NotAuthenticated
from headgate.http.authentication.own_tokens import OwnTokens
from headgate.http.authentication.token_endpoint import NO_STORE, OAuthError, form_of, refuse
from headgate.http.problems import PLAIN
from headgate.http.request import Request, Response
from headgate.http.router import CredentialUse, Route, Surface
from headgate.kernel.kernel import Kernel
from headgate.limits import FORM_BYTES_MAX

PATH = "/management/v1/tokens/revoke"


class RevocationForm(msgspec.Struct, frozen=True):
    """The token that is to be worthless."""

    token: str
    token_type_hint: str = ""


class RevocationServices(NamedTuple):
    """What the handler works with."""

    kernel: Kernel
    tokens: OwnTokens | None
    """None if this server issues none."""


async def revoke_token(services: RevocationServices, request: Request) -> Response:
    """Refuse a token from now on; one that is no good already is fine."""
    token = form_of(request.body).get("token", "")
    if not token:
        return refuse(400, "invalid_request", "token is missing")
    if services.tokens is None:
        return refuse(400, "unsupported_token_type", "this server issues no tokens")
    try:
        held = await services.tokens.read(token, whole_session=True)
    except NotAuthenticated:
        held = None  # its session is over
    if held is not None and isinstance(held.caller.proof, TokenProof):
        await revoke_session(
            services.kernel, held.caller.proof.session, held.ends_ms, by=held.caller.name
        )
    return Response(200, b"", [NO_STORE])


ROUTES = (
    Route(
        "POST",
        PATH,
        revoke_token,
        "revokeToken",
        "Make a token worthless, and all that it was exchanged for",
        ("management",),
        request=RevocationForm,
        request_content="application/x-www-form-urlencoded",
        answers={400: OAuthError},
        credentials=CredentialUse.UNREAD,
        body_bytes_max=FORM_BYTES_MAX,
        writes=True,
    ),
)


def revocation_surface(services: RevocationServices) -> Surface:
    """The routes of this surface."""
    return Surface("", ROUTES, services, PLAIN)
