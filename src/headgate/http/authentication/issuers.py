"""Tokens of identity providers: who is believed, and what a token has to say.

Nothing in a token chooses how it is checked, but among what the operator allowed: its issuer has to
be listed, its key comes from that issuer's fixed address, its algorithm from a fixed list.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from headgate.catalog.calls import Caller
from headgate.clock import Clock, latest_ms, present_ms
from headgate.errors import BadName, NotAuthenticated
from headgate.http.authentication.authenticator import Attested
from headgate.http.authentication.key_sets import KeySet
from headgate.http.authentication.simple_tokens import expired
from headgate.limits import TOKEN_GROUPS_MAX
from headgate.model.names import check_name

TIME_SECONDS_MAX = 1 << 40  # since 1970


class IssuerOptions(NamedTuple):
    """What all issuers' tokens have in common."""

    audience: str
    skew_seconds: int
    principal_claim: str
    groups_claim: str
    algorithms: frozenset[str]


Time = Annotated[float, Meta(ge=0, le=TIME_SECONDS_MAX)]


class _Times(msgspec.Struct, frozen=True):
    exp: Time
    nbf: Time = 0
    iat: Time = 0


class OidcIssuers:
    """Reads tokens of the issuers that are believed."""

    def __init__(
        self, key_sets: Mapping[str, KeySet], options: IssuerOptions, clock: Clock
    ) -> None:
        import_module("jwt")  # slow: not at the first request, and not in every server
        self._key_sets = key_sets
        self._options = options
        self._clock = clock

    async def read(self, token: str) -> Attested | None:
        """Whom it names; None if it is no token of a listed issuer, refused if it is no good."""
        import jwt  # noqa: PLC0415  slow, and not every server needs it

        try:
            said = jwt.decode_complete(token, options={"verify_signature": False})
        except (jwt.InvalidTokenError, RecursionError):  # it is no token, or nested without end
            return None
        issuer = said["payload"].get("iss")
        if not isinstance(issuer, str) or issuer not in self._key_sets:
            return None
        try:
            claims = jwt.decode(
                token,
                await self._key(issuer, said["header"]),
                algorithms=[said["header"]["alg"]],
                audience=self._options.audience,
                issuer=issuer,
                options={
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "require": ["exp", "iss", "aud"],
                },
            )
        except jwt.InvalidTokenError:
            raise _refused() from None
        return Attested(self._caller(claims), self._expiry(claims))

    async def _key(self, issuer: str, header: Mapping[str, Any]) -> Any:  # noqa: ANN401  of cryptography
        algorithm, id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or not isinstance(id, str | None):
            raise _refused()
        if algorithm not in self._options.algorithms or "crit" in header:
            raise _refused()
        key = await self._key_sets[issuer].find(id, algorithm)
        if key is None:
            raise _refused()
        return key.key

    def _caller(self, claims: Mapping[str, Any]) -> Caller:
        name = claims.get(self._options.principal_claim)
        groups = claims.get(self._options.groups_claim, ())
        if isinstance(groups, str):
            groups = (groups,)
        try:
            name = msgspec.convert(name, str)
            known = tuple(msgspec.convert(groups, list[str]))
            for one in (name, *known):
                check_name(one)
        except (msgspec.ValidationError, BadName):
            raise _refused() from None
        if len(known) > TOKEN_GROUPS_MAX:  # to leave some out could take a prohibition away
            raise _refused()
        return Caller(name, known)

    def _expiry(self, claims: Mapping[str, Any]) -> int:
        """When it ends, if it has begun and not ended."""
        try:
            times = msgspec.convert(claims, _Times)
        except msgspec.ValidationError:
            raise _refused() from None
        now, skew = present_ms(self._clock) / 1000, self._options.skew_seconds
        if max(times.nbf, times.iat) > latest_ms(self._clock) / 1000 + skew:
            raise _refused()
        if times.exp + skew <= now:
            raise expired()
        return int((times.exp + skew) * 1000)


def _refused() -> NotAuthenticated:
    """The same for all reasons: who forges learns nothing from it."""
    error = NotAuthenticated(
        "Not authorized: the token is not valid here", fix="Get one for this server"
    )
    error.reason = "token"
    return error
