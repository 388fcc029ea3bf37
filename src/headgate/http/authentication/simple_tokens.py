"""Tokens of simple authentication, where a client is whoever it says it is.

Some clients insist on a token. It carries the name they gave, signed so that it cannot be changed
later, and proves nothing else.
"""

from typing import NamedTuple

from headgate.clock import Clock, present_ms
from headgate.errors import NotAuthenticated
from headgate.limits import TOKEN_SECONDS

ISSUER = "headgate"
ALGORITHM = "HS256"


class Holder(NamedTuple):
    """Whose token it is, and how long it is good."""

    name: str
    expires_ms: int


class SimpleTokens:
    """Issues tokens and reads them."""

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._secret = secret
        self._clock = clock

    def issue(self, name: str) -> str:
        """A token for a user of this name."""
        import jwt  # noqa: PLC0415  slow, and most servers never need it

        now = present_ms(self._clock) // 1000
        claims = {"sub": name, "iat": now, "exp": now + TOKEN_SECONDS, "iss": ISSUER}
        return jwt.encode(claims, self._secret, algorithm=ALGORITHM)

    def read(self, token: str) -> Holder | None:
        """Whose token it is, None if it was not issued here; refused if it has expired."""
        import jwt  # noqa: PLC0415  slow, and most servers never need it

        try:
            claims = jwt.decode(
                token,
                self._secret,
                algorithms=[ALGORITHM],
                issuer=ISSUER,
                options={"verify_exp": False, "verify_iat": False, "require": ["sub", "exp"]},
            )
        except (jwt.InvalidTokenError, RecursionError):  # also of what is nested without end
            return None
        if claims["exp"] <= present_ms(self._clock) // 1000:
            raise expired()
        return Holder(str(claims["sub"]), claims["exp"] * 1000)


def expired() -> NotAuthenticated:
    """Any token that was good before."""
    error = NotAuthenticated("Not authorized: the token has expired", fix="Ask for a new one")
    error.reason = "expired token"
    return error
