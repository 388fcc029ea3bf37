"""Passwords: hashed with Argon2 in another process, and remembered once they were verified."""

import asyncio
import hashlib
from collections import OrderedDict

from headgate.catalog.password_queue import Login, PasswordQueue, Turn
from headgate.catalog.ports import Workers
from headgate.catalog.proofs import digest_of
from headgate.error_copies import for_another_caller
from headgate.errors import BadRequest, HeadgateError
from headgate.limits import (
    PASSWORD_CHARS_MAX,
    PASSWORD_CHARS_MIN,
    PASSWORDS_KNOWN_MAX,
    PASSWORDS_WRONG_KNOWN_MAX,
)
from headgate.workers.pool import module

WORKER = module("headgate.catalog.password_worker")

YES = b"yes"
_NO_HASH = (
    "$argon2id$v=19$m=65536,t=3,p=4$AAAAAAAAAAAAAAAAAAAAAA"
    "$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)
"""Verified instead of that of an unknown user, so that it takes as long."""


Key = tuple[int, bytes]


class Passwords:
    """Hashes and verifies. What was verified is remembered, whatever came of it: a client that asks
    again and again costs one computation. Guesses displace nothing but other guesses."""

    def __init__(self, workers: Workers, key: bytes) -> None:
        self._workers = workers
        self._key = key
        self._right: OrderedDict[Key, None] = OrderedDict()
        self._wrong: OrderedDict[Key, None] = OrderedDict()
        self._verifying: dict[Key, asyncio.Task[bool]] = {}
        self._queue = PasswordQueue()

    def mark(self, name: str, digest: bytes) -> bytes:
        """What a user's password is remembered by: of no use to anybody but this process."""
        return hashlib.blake2b(digest + name.encode(), digest_size=32, key=self._key).digest()

    async def hash(self, password: str) -> str:
        """What to store of a new password."""
        check_password(password)
        [stored] = await self._workers.run_all("hash", digest_of(password))
        return stored.decode()

    async def is_right(
        self, name: str, credential: int, stored: str, digest: bytes, address: str = ""
    ) -> bool:
        """Whether this is the password of a credential. One that has no hash takes as long.

        `Overloaded` if too many others of this name, of this address or of all come first.
        """
        key = credential, self.mark(name, digest)
        for known in (self._right, self._wrong):
            if key in known:
                known.move_to_end(key)
                return known is self._right
        task = self._verifying.get(key) or self._begin(Login(address, name), key, stored, digest)
        try:
            return await asyncio.shield(task)  # others may wait for it too
        except HeadgateError as error:
            raise for_another_caller(error) from error

    def _begin(self, login: Login, key: Key, stored: str, digest: bytes) -> asyncio.Task[bool]:
        turn = self._queue.enter(login, key[1])
        task = asyncio.create_task(self._verify(turn, key, stored, digest))
        self._verifying[key] = task
        task.add_done_callback(lambda _: self._end(turn, key))
        return task

    def _end(self, turn: Turn, key: Key) -> None:
        task = self._verifying.pop(key)
        if not task.cancelled():
            task.exception()  # nobody may be there any more to be told
        self._queue.leave(turn)

    async def _verify(self, turn: Turn, key: Key, stored: str, digest: bytes) -> bool:
        await turn.come
        hash = (stored or _NO_HASH).encode()
        [answer] = await self._workers.run_all("verify", hash, digest)
        is_right = answer == YES and bool(stored)
        known = self._right if is_right else self._wrong
        known[key] = None
        if len(known) > (PASSWORDS_KNOWN_MAX if is_right else PASSWORDS_WRONG_KNOWN_MAX):
            known.popitem(last=False)
        if is_right:
            self._queue.succeeded(turn.login)
        return is_right


def check_password(password: str) -> None:
    """Refuse a password that is too short to be one, or too long."""
    if not PASSWORD_CHARS_MIN <= len(password) <= PASSWORD_CHARS_MAX:
        raise BadRequest(
            "The password cannot be used",
            why=f"it has {len(password)} characters, not {PASSWORD_CHARS_MIN} to "
            f"{PASSWORD_CHARS_MAX}",
            fix="Choose another one",
        )
