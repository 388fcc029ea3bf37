"""An identity provider without a network: keys, their public halves, and tokens of any kind."""

import json
from collections.abc import Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from headgate.clock import Clock
from headgate.http.authentication.issuers import IssuerOptions, OidcIssuers
from headgate.http.authentication.key_sets import KeySet

ISSUER, AUDIENCE = "https://idp.example.com", "headgate"
URL = "https://idp.example.com/jwks"
ALLOWED = frozenset({"RS256", "PS256", "ES256", "EdDSA"})

RSA = rsa.generate_private_key(65_537, 2_048)
OTHER_RSA = rsa.generate_private_key(65_537, 2_048)
SHORT_RSA = rsa.generate_private_key(65_537, 1_024)
P256 = ec.generate_private_key(ec.SECP256R1())
P384 = ec.generate_private_key(ec.SECP384R1())
ED = ed25519.Ed25519PrivateKey.generate()


def public(key: Any, **fields: str) -> dict[str, Any]:
    """The public half as a key set has it."""
    half = key.public_key()
    if isinstance(half, rsa.RSAPublicKey):
        text = RSAAlgorithm.to_jwk(half)
    elif isinstance(half, ec.EllipticCurvePublicKey):
        text = ECAlgorithm.to_jwk(half)
    else:
        text = OKPAlgorithm.to_jwk(half)
    return {**json.loads(text), **fields}


KEYS = (
    public(RSA, kid="rsa", use="sig"),
    public(P256, kid="p256", use="sig", alg="ES256"),
    public(ED, kid="ed"),
)


class Provider:
    """Hands out its key set, and counts how often."""

    def __init__(self, *keys: Mapping[str, Any]) -> None:
        self.keys: list[Mapping[str, Any]] = list(keys or KEYS)
        self.fetches = 0
        self.raw: bytes | None = None
        self.error: Exception | None = None

    async def fetch(self, url: str) -> bytes:
        assert url == URL
        self.fetches += 1
        if self.error:
            raise self.error
        return self.raw or json.dumps({"keys": self.keys}).encode()

    def key_set(self, clock: Clock) -> KeySet:
        return KeySet(URL, clock, self.fetch)


def issuers(provider: Provider, clock: Clock, **options: Any) -> OidcIssuers:
    """Who believes this provider."""
    wanted = IssuerOptions(AUDIENCE, 30, "sub", "groups", ALLOWED)._replace(**options)
    return OidcIssuers({ISSUER: provider.key_set(clock)}, wanted, clock)


def claims(clock: Clock, **more: Any) -> dict[str, Any]:
    """What a good token says; None leaves a claim out."""
    now = clock.wall_ms() // 1000
    said = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 600, **more}
    return {name: value for name, value in said.items() if value is not None}


def signed(
    said: Mapping[str, Any],
    key: Any = RSA,
    algorithm: str = "RS256",
    kid: str | None = "rsa",
    **headers: Any,
) -> str:
    """A token with these claims."""
    named = {"kid": kid} if kid is not None else {}
    return jwt.encode(dict(said), key, algorithm=algorithm, headers={**named, **headers})
