"""Tokens that are signed with fixed keys, and readers that know these keys."""

from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any, cast

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from headgate.http.authentication.issuers import IssuerOptions, OidcIssuers
from headgate.http.authentication.key_sets import KeySet, PublicKey
from headgate.http.authentication.simple_tokens import SimpleTokens
from headgate.testing.manual_clock import START_MS, ManualClock

ISSUER, AUDIENCE = "https://idp.example.com", "headgate"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SECRET = bytes(range(32))
NOW = START_MS // 1000

Reader = Callable[[str], Coroutine[None, None, object]]


class OneKey:
    """A key set that is never fetched."""

    async def find(self, id: str | None, algorithm: str) -> PublicKey | None:
        key = PublicKey("ed", None, "OKP", "Ed25519", KEY.public_key())
        return key if id in {None, "ed"} and key.suits(algorithm) else None


def signed(**more: Any) -> str:
    """A token of the provider; Ed25519 signs the same text always in the same way."""
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": NOW + 600, **more}
    return jwt.encode(claims, KEY, algorithm="EdDSA", headers={"kid": "ed"})


def simple(**more: Any) -> str:
    """A token of simple authentication."""
    claims = {"iss": "headgate", "sub": "ann", "exp": NOW + 600, **more}
    return jwt.encode(claims, SECRET, algorithm="HS256")


def tokens() -> dict[str, str]:
    """Tokens by name: good ones, and some that are refused though their signature is right."""
    return {
        "provider": signed(groups=["readers", "writers"]),
        "one-group": signed(groups="readers", nbf=NOW - 1, iat=NOW - 1),
        "ended": signed(exp=NOW - 600),
        "to-come": signed(nbf=NOW + 600),
        "others": signed(aud="another"),
        "odd-claims": signed(exp=1e300, groups=[1, None]),
        "simple": simple(),
        "simple-ended": simple(exp=1),
    }


SIGNED = frozenset(token.rpartition(".")[0] for token in tokens().values())
"""All that was ever signed."""


@cache
def readers() -> tuple[Reader, ...]:
    """Readers of tokens, with a clock that stands still."""
    clock = ManualClock()
    options = IssuerOptions(AUDIENCE, 30, "sub", "groups", frozenset({"EdDSA", "ES256", "RS256"}))
    issuers = OidcIssuers({ISSUER: cast("KeySet", OneKey())}, options, clock)
    own = SimpleTokens(SECRET, clock)

    async def read_simple(token: str) -> object:
        return own.read(token)

    return issuers.read, read_simple
