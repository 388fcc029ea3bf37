"""Passwords in the worker process that really hashes them."""

import os
from collections.abc import AsyncIterator

import pytest

from headgate.catalog.passwords import _NO_HASH, WORKER, Passwords
from headgate.catalog.proofs import digest_of
from headgate.limits import PASSWORDS_KNOWN_MAX
from headgate.workers.pool import PoolOptions, WorkerPool
from tests.unit.catalog.keeping import HereWorkers

PASSWORD = "correct horse battery"


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(WORKER, PoolOptions(workers=1))
    yield pool
    await pool.close()


async def right(passwords: Passwords, stored: str, password: str, credential: int = 1) -> bool:
    digest = digest_of(password)
    return await passwords.is_right(credential, stored, passwords.mark("ann", digest), digest)


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


async def test_so_many_are_remembered_and_the_oldest_goes_first() -> None:
    """What is used again stays."""
    workers = HereWorkers()
    passwords = Passwords(workers, os.urandom(32))
    stored = await passwords.hash(PASSWORD)
    assert await right(passwords, stored, PASSWORD)
    for number in range(PASSWORDS_KNOWN_MAX - 1):
        passwords._known[number + 2, b""] = False
    assert await right(passwords, stored, PASSWORD)
    assert not await right(passwords, stored, "one more wrong one")
    assert len(passwords._known) == PASSWORDS_KNOWN_MAX
    assert await right(passwords, stored, PASSWORD)

    assert workers.jobs["verify"] == 2


async def test_what_is_remembered_tells_nothing() -> None:
    """Not the password, and not to another process."""
    one, other = (Passwords(HereWorkers(), os.urandom(32)) for _ in range(2))
    digest = digest_of(PASSWORD)

    marks = {one.mark("ann", digest), one.mark("bob", digest), other.mark("ann", digest), digest}
    assert len(marks) == 4
    assert digest_of(PASSWORD) == digest
    assert PASSWORD.encode() not in digest
