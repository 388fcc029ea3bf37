"""The public keys of an identity provider, from the one address that the operator named.

They are fetched when they are first needed, believed for some minutes, and looked for again, but
not too often, when a token names a key that is not among them.
"""

import asyncio
import http.client
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from headgate.catalog.shared_work import SharedWork
from headgate.clock import Clock
from headgate.errors import Unavailable
from headgate.limits import (
    KEY_SET_AGAIN_SECONDS,
    KEY_SET_BYTES_MAX,
    KEY_SET_SECONDS,
    KEY_SET_STALE_SECONDS,
    KEY_SET_TIMEOUT_SECONDS,
    RSA_BITS_MIN,
)

logger = logging.getLogger(__name__)

ALGORITHMS = {
    "RS256": ("RSA", ""),
    "RS384": ("RSA", ""),
    "RS512": ("RSA", ""),
    "PS256": ("RSA", ""),
    "PS384": ("RSA", ""),
    "PS512": ("RSA", ""),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""All that may ever be allowed, with the kind of key each is for. None has a shared secret."""


class PublicKey(NamedTuple):
    """A key that verifies signatures, and what it is for."""

    id: str | None
    algorithm: str | None
    """None means any that suits it."""
    kind: str
    curve: str
    key: Any

    def suits(self, algorithm: str) -> bool:
        """Whether signatures of this algorithm can be verified with it."""
        kind, curve = ALGORITHMS[algorithm]
        fits = self.kind == kind and (not curve or self.curve == curve)
        return fits and self.algorithm in {None, algorithm}


class _Jwk(msgspec.Struct, frozen=True):
    kty: str
    kid: str | None = None
    alg: str | None = None
    use: str | None = None
    crv: str = ""
    d: Any = None


Fetch = Callable[[str], Awaitable[bytes]]


async def fetch(url: str) -> bytes:
    """What is at this address; `OSError` if that is nothing, or too much."""
    async with asyncio.timeout(2 * KEY_SET_TIMEOUT_SECONDS):
        return await asyncio.to_thread(_get, url)


class KeySet:
    """The keys of one provider."""

    def __init__(self, url: str, clock: Clock, fetch: Fetch = fetch) -> None:
        self._url = url
        self._clock = clock
        self._fetch = fetch
        self._keys: Sequence[PublicKey] = ()
        self._fetched = self._tried = float("-inf")
        self._fetching = SharedWork[None]()

    async def find(self, id: str | None, algorithm: str) -> PublicKey | None:
        """The key that a token names; one that names none means the only one there is."""
        if self._age(self._fetched) >= KEY_SET_SECONDS:
            await self._refresh()
        found = self._find(id, algorithm)
        if found is None:
            await self._refresh()
            found = self._find(id, algorithm)
        return found

    def _find(self, id: str | None, algorithm: str) -> PublicKey | None:
        suiting = [
            key for key in self._keys if key.suits(algorithm) and (id is None or key.id == id)
        ]
        return suiting[0] if len(suiting) == 1 else None

    async def _refresh(self) -> None:
        """Fetch the keys anew, once for all callers, unless that was tried a moment ago."""
        if not self._fetching.is_running(self._url):
            if self._age(self._tried) < KEY_SET_AGAIN_SECONDS:
                self._check_age("it did not answer a moment ago")
                return
            self._tried = self._clock.seconds()
        await self._fetching.run(self._url, self._fetch_keys)

    async def _fetch_keys(self) -> None:
        """Replace the keys by those that the provider has now. No caller's cancellation ends it."""
        began = self._tried
        try:
            raw = await self._fetch(self._url)
            self._keys = await asyncio.to_thread(keys_in, raw)
        except (OSError, http.client.HTTPException, msgspec.MsgspecError) as error:
            logger.warning("the key set %s cannot be fetched: %s", self._url, error)
            self._check_age(f"{type(error).__name__}: {error}")
        else:
            self._fetched = began

    def _check_age(self, why: str) -> None:
        """Keys that are not too old are better than none."""
        if self._age(self._fetched) >= KEY_SET_STALE_SECONDS:
            raise Unavailable(
                "Tokens cannot be checked",
                why=f"the key set {self._url} cannot be fetched: {why}",
                fix="Try again; if it stays, check the identity provider",
            )

    def _age(self, time: float) -> float:
        return self._clock.seconds() - time


def keys_in(raw: bytes) -> list[PublicKey]:
    """The keys of a key set that can verify something here; others are left out."""
    import jwt  # noqa: PLC0415  slow, and not every server needs it

    class Document(msgspec.Struct):
        keys: list[dict[str, Any]]

    found = []
    for fields in msgspec.json.decode(raw, type=Document).keys:
        try:
            about = msgspec.convert(fields, _Jwk)
            if about.kty not in {"RSA", "EC", "OKP"} or about.d is not None:
                continue
            if about.use not in {None, "sig"} or about.alg not in {None, *ALGORITHMS}:
                continue
            key = jwt.PyJWK(fields, about.alg or _any_algorithm(about)).key
        except (msgspec.ValidationError, jwt.PyJWTError):
            continue
        if about.kty != "RSA" or key.key_size >= RSA_BITS_MIN:
            found.append(PublicKey(about.kid, about.alg, about.kty, about.crv, key))
    return found


def _any_algorithm(about: _Jwk) -> str | None:
    """One that suits a key; they all read it alike."""
    return next(
        (
            name
            for name, (kind, curve) in ALGORITHMS.items()
            if kind == about.kty and curve in {"", about.crv}
        ),
        None,
    )


def _get(url: str) -> bytes:
    """No redirect is followed: this address was named, another was not."""
    parts = urlsplit(url)
    connection = (
        http.client.HTTPSConnection(
            parts.netloc, timeout=KEY_SET_TIMEOUT_SECONDS, context=ssl.create_default_context()
        )
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.netloc, timeout=KEY_SET_TIMEOUT_SECONDS)
    )
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("GET", target, headers={"accept": "application/json"})
        answer = connection.getresponse()
        body = answer.read(KEY_SET_BYTES_MAX + 1)
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise OSError(f"it answers {answer.status}")
    if len(body) > KEY_SET_BYTES_MAX:
        raise OSError(f"it has more than {KEY_SET_BYTES_MAX} bytes")
    return body
