"""Headgate's own tokens: short-lived, signed with keys that all nodes share.

A token and those that it is exchanged for are one session, which ends at a time of its own. A token
says which user, secret and key it depends on, so that it falls with any of them.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from headgate.catalog.calls import Caller
from headgate.catalog.identities import Client
from headgate.catalog.proofs import TokenProof
from headgate.catalog.signing_keys import SigningKeys
from headgate.clock import Clock, latest_ms, present_ms
from headgate.http.authentication.simple_tokens import ALGORITHM, ISSUER, expired
from headgate.limits import CLOCK_BEHIND_MS_MAX, SESSION_SECONDS, TOKEN_SECONDS

SESSION_BYTES = 16
REQUIRED = ["sub", "iat", "exp", "sid", "end", "gen", "sec"]


class Lifetimes(NamedTuple):
    """Of tokens, in seconds."""

    token: int = TOKEN_SECONDS
    session: int = SESSION_SECONDS
    """That a token can be exchanged for newer ones."""


class Issued(NamedTuple):
    """A token, and for how many seconds it is good."""

    token: str
    seconds: int
    session: str = ""

    def __repr__(self) -> str:
        return f"Issued(***, {self.seconds}, {self.session!r})"


class Held(NamedTuple):
    """What a token says: not yet whether that is still so."""

    caller: Caller
    expires_ms: int
    ends_ms: int
    """When its session ends."""


class _Claims(msgspec.Struct, frozen=True):
    sub: str
    iat: int
    exp: int
    sid: str
    end: int
    gen: int
    sec: int


class OwnTokens:
    """Issues tokens and reads them."""

    def __init__(
        self,
        keys: SigningKeys,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        lifetimes: Lifetimes = Lifetimes(),  # noqa: B008  frozen
    ) -> None:
        import_module("jwt")  # slow: not at the first request, and not in every server
        self._keys = keys
        self._clock = clock
        self._random_bytes = random_bytes
        self._lifetimes = lifetimes

    async def issue(self, client: Client, seconds: int | None = None) -> Issued:
        """A token for a client, as the first of a session; for longer if somebody says so."""
        now = present_ms(self._clock) // 1000
        session = self._random_bytes(SESSION_BYTES).hex()
        if seconds is None:
            return await self._signed(
                client, session, now + self._lifetimes.token, now + self._lifetimes.session
            )
        return await self._signed(client, session, now + seconds, now + seconds)

    async def exchange(self, held: Held) -> Issued:
        """A newer token in the same session. Whoever calls has confirmed the old one."""
        proof = held.caller.proof
        assert isinstance(proof, TokenProof), "it is a token of ours"
        now = present_ms(self._clock) // 1000
        client = Client(held.caller.name, proof.generation, proof.credential)
        ends = held.ends_ms // 1000
        return await self._signed(
            client, proof.session.hex(), min(now + self._lifetimes.token, ends), ends
        )

    async def read(self, token: str, *, whole_session: bool = False) -> Held | None:
        """What a token says, None if it was not issued here, or by a node whose clock was ahead,
        so that it would be good for too long; refused if it has expired.

        With `whole_session` not before its session has: newer tokens of it may be about.
        """
        import jwt  # noqa: PLC0415  slow, and not every server needs it

        try:
            key = await self._keys.find(_key_id(jwt.get_unverified_header(token)))
            if key is None:
                return None
            decoded = jwt.decode(
                token,
                key.secret,
                algorithms=[ALGORITHM],
                issuer=ISSUER,
                options={"verify_exp": False, "verify_iat": False, "require": REQUIRED},
            )
            claims = msgspec.convert(decoded, _Claims)
            session = bytes.fromhex(claims.sid)
        except (jwt.InvalidTokenError, msgspec.ValidationError, ValueError, RecursionError):
            return None
        if self._is_from_the_future(claims):
            return None
        if (claims.end if whole_session else claims.exp) <= present_ms(self._clock) // 1000:
            raise expired()
        proof = TokenProof(session, key.id, claims.gen, claims.sec)
        return Held(Caller(claims.sub, proof=proof), claims.exp * 1000, claims.end * 1000)

    def _is_from_the_future(self, claims: _Claims) -> bool:
        """Whether it was issued later than now by any of this machine's clocks."""
        return claims.iat * 1000 > latest_ms(self._clock) + CLOCK_BEHIND_MS_MAX

    async def _signed(self, client: Client, session: str, expires: int, ends: int) -> Issued:
        import jwt  # noqa: PLC0415  slow, and not every server needs it

        key = await self._keys.newest()
        now = present_ms(self._clock) // 1000
        claims = {
            "iss": ISSUER,
            "sub": client.name,
            "iat": now,
            "exp": expires,
            "jti": self._random_bytes(SESSION_BYTES).hex(),
            "sid": session,
            "end": ends,
            "gen": client.generation,
            "sec": client.credential,
        }
        token = jwt.encode(claims, key.secret, algorithm=ALGORITHM, headers={"kid": str(key.id)})
        return Issued(token, expires - now, session)


def _key_id(header: dict[str, Any]) -> int:
    """ValueError if no key of ours has such an id."""
    kid = header.get("kid")
    if not isinstance(kid, str) or not kid.isdecimal() or not kid.isascii() or len(kid) > 20:
        raise ValueError
    return int(kid)
