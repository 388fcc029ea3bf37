"""Passwords: hashed with Argon2 in another process, and remembered once they were verified."""

import hashlib
from collections import OrderedDict

from headgate.catalog.ports import Workers
from headgate.catalog.proofs import digest_of
from headgate.errors import BadRequest
from headgate.limits import PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN, PASSWORDS_KNOWN_MAX
from headgate.workers.pool import module

WORKER = module("headgate.catalog.password_worker")

YES = b"yes"
_NO_HASH = (
    "$argon2id$v=19$m=65536,t=3,p=4$AAAAAAAAAAAAAAAAAAAAAA"
    "$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)
"""Verified instead of that of an unknown user, so that it takes as long."""


class Passwords:
    """Hashes and verifies. What was verified is remembered, whatever came of it: a client that asks
    again and again costs one computation."""

    def __init__(self, workers: Workers, key: bytes) -> None:
        self._workers = workers
        self._key = key
        self._known: OrderedDict[tuple[int, bytes], bool] = OrderedDict()

    def mark(self, name: str, digest: bytes) -> bytes:
        """What a user's password is remembered by: of no use to anybody but this process."""
        return hashlib.blake2b(digest + name.encode(), digest_size=32, key=self._key).digest()

    async def hash(self, password: str) -> str:
        """What to store of a new password."""
        check_password(password)
        [stored] = await self._workers.run_all("hash", digest_of(password))
        return stored.decode()

    async def is_right(self, credential: int, stored: str, mark: bytes, digest: bytes) -> bool:
        """Whether this is the password of a credential. One that has no hash takes as long."""
        key = credential, mark
        known = self._known.get(key)
        if known is None:
            hash = (stored or _NO_HASH).encode()
            [answer] = await self._workers.run_all("verify", hash, digest)
            known = answer == YES and bool(stored)
            self._known[key] = known
            if len(self._known) > PASSWORDS_KNOWN_MAX:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return known


def check_password(password: str) -> None:
    """Refuse a password that is too short to be one, or too long."""
    if not PASSWORD_CHARS_MIN <= len(password) <= PASSWORD_CHARS_MAX:
        raise BadRequest(
            "The password cannot be used",
            why=f"it has {len(password)} characters, not {PASSWORD_CHARS_MIN} to "
            f"{PASSWORD_CHARS_MAX}",
            fix="Choose another one",
        )
