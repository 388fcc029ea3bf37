"""What is proven before a request takes a place, and how much of that goes on at once."""

import asyncio

import pytest

from headgate.catalog.calls import Caller
from headgate.catalog.identity_users import create_user, set_enabled, vouch_for
from headgate.catalog.proofs import PasswordProof
from headgate.errors import NotAuthenticated, Overloaded
from headgate.http.authentication.authenticator import Attested, Authenticator, Methods
from headgate.http.request import Request
from headgate.limits import TOKENS_AT_ONCE_MAX, TOKENS_PER_ADDRESS_MAX
from tests.unit.catalog.keeping import Keeper
from tests.unit.http.authentication.test_authenticator import basic

PASSWORD = "correct horse battery"


def request(authorization: str, address: str = "192.0.2.1") -> Request:
    return Request("GET", "/", headers={"authorization": authorization}, address=address)


async def reason(authenticator: Authenticator, authorization: str) -> str:
    """Why a request with these credentials is refused, as the audit tells it."""
    with pytest.raises(NotAuthenticated) as refused:
        await authenticator.caller(request(authorization))
    return refused.value.reason


async def test_a_password_is_verified_before_its_request_takes_a_place(node: Keeper) -> None:
    """Once; the caller has its mark, so that it is found again without another hash."""
    await create_user(node.kernel, node.passwords, "ann", PASSWORD)
    authenticator = Authenticator(Methods(basic=True), node.kernel.clock, node.identities)
    callers = [await authenticator.caller(request(basic(f"ann:{PASSWORD}"))) for _ in range(3)]

    assert node.workers.jobs["verify"] == 1
    assert isinstance(callers[0].proof, PasswordProof)
    assert callers[0].proof.mark
    assert callers[0].proof.address == "192.0.2.1"
    assert len(set(callers)) == 1
    assert await node.confirmed(callers[0]) == Caller("ann")


async def test_the_audit_tells_reasons_apart_and_the_client_does_not(node: Keeper) -> None:
    """A wrong password, no such user, and one that is switched off are answered alike."""
    for name in ("ann", "bob"):
        await create_user(node.kernel, node.passwords, name, PASSWORD)
    await set_enabled(node.kernel, "bob", enabled=False)
    authenticator = Authenticator(Methods(basic=True), node.kernel.clock, node.identities)
    told = []
    for credentials in ("ann:wrong password", "eve:wrong password", f"bob:{PASSWORD}"):
        with pytest.raises(NotAuthenticated) as refused:
            await authenticator.caller(request(basic(credentials)))
        told.append((refused.value.reason, str(refused.value)))

    assert [one for one, _ in told] == ["password", "unknown user", "disabled user"]
    assert len({text for _, text in told}) == 1


async def test_tokens_that_have_expired_are_told_from_others(node: Keeper) -> None:
    """In the audit."""
    await node.keys.ensure()
    issued = await node.tokens.issue(await vouch_for(node.kernel, "ann"), seconds=0)
    authenticator = Authenticator(Methods(tokens=node.tokens), node.kernel.clock)

    assert await reason(authenticator, f"Bearer {issued.token}") == "expired token"
    assert await reason(authenticator, "Bearer made.up.token") == "credentials"


class SlowIssuers:
    """A provider whose keys take their time."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def read(self, token: str) -> Attested | None:
        if token == "known":
            return Attested(Caller("ann"), 1 << 60)
        await self.go_on.wait()
        return None


async def test_only_so_many_unknown_tokens_are_looked_at(node: Keeper) -> None:
    """Of one address and in all; a token that is known is not held up."""
    issuers = SlowIssuers()
    authenticator = Authenticator(Methods(issuers=issuers), node.kernel.clock)
    await authenticator.caller(request("Bearer known"))
    addresses = [f"192.0.2.{number}" for number in range(10)]
    asked = [
        asyncio.create_task(authenticator.caller(request(f"Bearer {address}-{number}", address)))
        for address in addresses
        for number in range(TOKENS_PER_ADDRESS_MAX + 1)
    ]
    await asyncio.sleep(0)
    known = await authenticator.caller(request("Bearer known"))
    issuers.go_on.set()
    told = await asyncio.gather(*asked, return_exceptions=True)

    assert known == Caller("ann")
    assert type(told[TOKENS_PER_ADDRESS_MAX]) is Overloaded
    assert [type(one) for one in told].count(NotAuthenticated) == TOKENS_AT_ONCE_MAX
