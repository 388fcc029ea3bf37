"""Verifies each token once, however many requests bring it at the same time.

Verifying may have to fetch keys. So there are bounds on how many tokens are verified at once, and
on how many requests wait for that, in all and of one address.
"""

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from headgate.catalog.shared_work import SharedWork
from headgate.errors import Overloaded
from headgate.limits import (
    TOKENS_AT_ONCE_MAX,
    TOKENS_PER_ADDRESS_MAX,
    TOKENS_WAITED_FOR_MAX,
    TOKENS_WAITED_FOR_PER_ADDRESS_MAX,
)

T = TypeVar("T")

_PERSON = b"headgate-token"


def token_digest(token: str) -> bytes:
    """What a token is known by: of one length, and of no use as a token."""
    return hashlib.blake2b(token.encode(), digest_size=32, person=_PERSON).digest()


class Verifications(Generic[T]):
    """The tokens that are being verified, by their digests."""

    def __init__(self) -> None:
        self._shared = SharedWork[T]()
        self._verifying = _Turns(TOKENS_AT_ONCE_MAX, TOKENS_PER_ADDRESS_MAX)
        self._waiting = _Turns(TOKENS_WAITED_FOR_MAX, TOKENS_WAITED_FOR_PER_ADDRESS_MAX)

    @property
    def count(self) -> int:
        """How many tokens are being verified."""
        return self._verifying.count

    @property
    def waiting(self) -> int:
        """How many requests wait for that."""
        return self._waiting.count

    async def run(self, digest: bytes, address: str, verify: Callable[[], Awaitable[T]]) -> T:
        """What `verify` says of the token with this digest; `Overloaded` if others come first.

        A request that is cancelled takes nothing from others that wait for the same token.
        """

        async def work() -> T:
            try:
                return await verify()
            finally:
                self._verifying.leave(address)

        self._waiting.enter(address)
        try:
            if not self._shared.is_running(digest):
                self._verifying.enter(address)  # now: the work itself begins at the next turn
            return await self._shared.run(digest, work)
        finally:
            self._waiting.leave(address)


class _Turns:
    """Counts what is under way by address."""

    def __init__(self, at_once_max: int, per_address_max: int) -> None:
        self._at_once_max = at_once_max
        self._per_address_max = per_address_max
        self._by_address: Counter[str] = Counter()
        self.count = 0

    def enter(self, address: str) -> None:
        """Count one more of this address; `Overloaded` if it has too many, or all have."""
        if self.count >= self._at_once_max or self._by_address[address] >= self._per_address_max:
            raise Overloaded(
                "The token was not verified",
                why="too many others are being verified",
                fix="Try again later",
            )
        self._by_address[address] += 1
        self.count += 1

    def leave(self, address: str) -> None:
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        self.count -= 1
