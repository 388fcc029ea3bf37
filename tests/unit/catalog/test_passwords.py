"""Passwords: hashed and verified in a worker process, remembered, and guessed at."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from headgate.catalog import passwords as passwords_module
from headgate.catalog.passwords import _NO_HASH, WORKER, Passwords
from headgate.catalog.proofs import digest_of
from headgate.errors import Overloaded, Unavailable
from headgate.limits import PASSWORDS_PER_USER_AT_ONCE_MAX, PASSWORDS_WRONG_KNOWN_MAX
from headgate.workers.pool import PoolOptions, WorkerPool
from tests.unit.catalog.keeping import HereWorkers

PASSWORD = "correct horse battery"


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(WORKER, PoolOptions(workers=1))
    yield pool
    await pool.close()


async def right(passwords: Passwords, stored: str, password: str, credential: int = 1) -> bool:
    return await passwords.is_right("ann", credential, stored, digest_of(password))


async def test_a_password_is_hashed_and_verified_in_another_process(pool: WorkerPool) -> None:
    """With Argon2id and salt, at the price that is asked for passwords of nobody too."""
    passwords = Passwords(pool, os.urandom(32))
    stored, again = await passwords.hash(PASSWORD), await passwords.hash(PASSWORD)

    assert stored != again
    assert stored.split("$")[:4] == _NO_HASH.split("$")[:4]
    assert await right(passwords, stored, PASSWORD)
    assert not await right(passwords, stored, "wrong password")
    assert not await right(passwords, "", PASSWORD, 2)
    assert not await right(passwords, "no hash at all", PASSWORD, 3)
    assert pool.processes == 1


class HeldWorkers(HereWorkers):
    """Begins, and answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()

    async def run_all(self, job: str, *arguments: bytes) -> list[bytes]:
        if job == "verify":
            await self.go_on.wait()
        return await super().run_all(job, *arguments)


async def test_so_many_are_remembered_and_the_oldest_goes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is used again stays."""
    monkeypatch.setattr(passwords_module, "PASSWORDS_KNOWN_MAX", 2)
    workers = HereWorkers()
    passwords = Passwords(workers, os.urandom(32))
    stored = await passwords.hash(PASSWORD)
    for credential in (1, 2, 1, 3, 1):
        assert await right(passwords, stored, PASSWORD, credential)
    assert workers.jobs["verify"] == 3

    assert await right(passwords, stored, PASSWORD, 2)
    assert workers.jobs["verify"] == 4


async def test_guesses_displace_no_password_that_was_right() -> None:
    """However many; the last ones of them are remembered too."""
    workers = HereWorkers()
    passwords = Passwords(workers, os.urandom(32))
    stored = await passwords.hash(PASSWORD)
    assert await right(passwords, stored, PASSWORD)
    for number in range(PASSWORDS_WRONG_KNOWN_MAX + 10):
        assert not await right(passwords, stored, f"guess {number}")
    computed = workers.jobs["verify"]

    assert await right(passwords, stored, PASSWORD)
    assert not await right(passwords, stored, f"guess {PASSWORDS_WRONG_KNOWN_MAX + 9}")
    assert workers.jobs["verify"] == computed
    assert not await right(passwords, stored, "guess 0")
    assert workers.jobs["verify"] == computed + 1


async def test_who_asks_at_once_with_the_same_password_costs_one_computation() -> None:
    """One of them may go away meanwhile."""
    workers = HeldWorkers()
    passwords = Passwords(workers, os.urandom(32))
    stored = await passwords.hash(PASSWORD)
    first, *others = [asyncio.ensure_future(right(passwords, stored, PASSWORD)) for _ in range(9)]
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    workers.go_on.set()

    assert await asyncio.gather(*others) == [True] * 8
    assert first.cancelled()
    assert workers.jobs["verify"] == 1


async def test_a_flood_of_guesses_is_sent_away_at_once() -> None:
    """Whether there is such a user or not; who was let in stays so, and others get their turn."""
    workers = HeldWorkers()
    passwords = Passwords(workers, os.urandom(32))
    stored = await passwords.hash(PASSWORD)
    workers.go_on.set()
    assert await right(passwords, stored, PASSWORD)
    workers.go_on.clear()

    for credential, hash in ((1, stored), (0, "")):
        name = "ann" if hash else "nobody"
        digests = [digest_of(f"guess {n}") for n in range(50)]
        flood = [
            asyncio.ensure_future(passwords.is_right(name, credential, hash, digest))
            for digest in digests
        ]
        await asyncio.sleep(0)
        waiting = [one for one in flood if not one.done()]
        assert len(waiting) == PASSWORDS_PER_USER_AT_ONCE_MAX
        assert {type(one.exception()) for one in flood if one.done()} == {Overloaded}
    assert await right(passwords, stored, PASSWORD)
    bob = asyncio.ensure_future(passwords.is_right("bob", 2, stored, digest_of(PASSWORD)))
    await asyncio.sleep(0)
    workers.go_on.set()

    assert await bob
    await asyncio.gather(*waiting)
    assert not await right(passwords, stored, "guess 49")


async def test_what_could_not_be_verified_is_tried_again() -> None:
    """All who waited for it are told; nothing is remembered of it."""

    class Broken(HereWorkers):
        async def run_all(self, job: str, *arguments: bytes) -> list[bytes]:
            await super().run_all(job, *arguments)
            raise Unavailable("a worker ended")

    workers = Broken()
    passwords = Passwords(workers, os.urandom(32))
    for _ in range(2):
        both = [right(passwords, "x", PASSWORD) for _ in range(2)]
        told = await asyncio.gather(*both, return_exceptions=True)
        assert [type(one) for one in told] == [Unavailable] * 2

    assert workers.jobs["verify"] == 2


async def test_what_is_remembered_tells_nothing() -> None:
    """Not the password, and not to another process."""
    one, other = (Passwords(HereWorkers(), os.urandom(32)) for _ in range(2))
    digest = digest_of(PASSWORD)

    marks = {one.mark("ann", digest), one.mark("bob", digest), other.mark("ann", digest), digest}
    assert len(marks) == 4
    assert digest_of(PASSWORD) == digest
    assert PASSWORD.encode() not in digest
