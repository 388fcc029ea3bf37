"""A node that keeps identities, without a port: what tests of authentication work with."""

import os
from collections import Counter
from typing import Any

from argon2 import PasswordHasher

from headgate.catalog.calls import Caller
from headgate.catalog.entities import CATALOG_TYPES
from headgate.catalog.identities import IDENTITIES_KEY, Client, Identities, current_value
from headgate.catalog.password_worker import jobs
from headgate.catalog.passwords import Passwords
from headgate.catalog.proofs import PasswordProof, TokenProof, digest_of
from headgate.catalog.sealing import MasterKey
from headgate.catalog.signing_keys import SigningKeys
from headgate.errors import NotAuthenticated
from headgate.http.authentication.own_tokens import Issued, Lifetimes, OwnTokens
from headgate.kernel.kernel import Kernel
from headgate.testing.kernels import Rig

MASTER = b"a master key of thirty-two bytes"
CHEAP = jobs(PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))
LIFETIMES = Lifetimes(token=600, session=3_600)


class HereWorkers:
    """Does what the worker process does, in this one, and counts it."""

    def __init__(self) -> None:
        self.jobs: Counter[str] = Counter()

    async def run_all(self, job: str, *arguments: bytes) -> list[bytes]:
        self.jobs[job] += 1
        return list(CHEAP[job.encode()](*arguments))


class Keeper:
    """One node and all that it knows callers by."""

    def __init__(self, kernel: Kernel, master: bytes = MASTER) -> None:
        self.kernel = kernel
        self.workers = HereWorkers()
        self.passwords = Passwords(self.workers, os.urandom(32))
        self.identities = Identities(kernel, self.passwords)
        self.keys = SigningKeys(kernel, MasterKey(master, os.urandom), os.urandom)
        self.tokens = OwnTokens(self.keys, kernel.clock, os.urandom, LIFETIMES)

    async def confirmed(self, caller: Caller) -> Caller:
        """As a request would be, which reads the pointer along with others."""
        return await self.identities.confirmed(caller, await current_value(self.kernel))

    async def knows(self, caller: Caller) -> bool:
        """Whether the caller is who it says."""
        try:
            await self.confirmed(caller)
        except NotAuthenticated:
            return False
        return True

    async def token(self, client: Client, seconds: int | None = None) -> tuple[Issued, Caller]:
        """A new token, and the caller that it names."""
        await self.keys.ensure()
        issued = await self.tokens.issue(client, seconds)
        held = await self.tokens.read(issued.token)
        assert held is not None
        return issued, held.caller

    async def notes(self) -> list[Any]:
        """What the change log says of each change, oldest first."""
        commits = [one async for one in self.kernel.log.newest_first(IDENTITIES_KEY)]
        return [group.note for one in reversed(commits) for group in one.groups]


async def keeper(rig: Rig, master: bytes = MASTER) -> Keeper:
    """Another node on this database."""
    return Keeper(await rig.open(types=CATALOG_TYPES), master)


def with_password(name: str, password: str) -> Caller:
    """Who comes with a password."""
    return Caller(name, proof=PasswordProof(digest_of(password)))


def session_of(caller: Caller) -> bytes:
    """The session of a token."""
    assert isinstance(caller.proof, TokenProof)
    return caller.proof.session
