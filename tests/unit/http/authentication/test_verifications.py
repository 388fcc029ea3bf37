"""Tokens that many requests bring at the same time."""

import asyncio

import pytest

from headgate.catalog.calls import Caller
from headgate.catalog.identity_users import vouch_for
from headgate.errors import HeadgateError, NotAuthenticated, Overloaded
from headgate.http.authentication.authenticator import Attested, Authenticator, Methods
from headgate.http.authentication.verifications import Verifications, token_digest
from headgate.http.request import Request
from headgate.limits import (
    TOKENS_AT_ONCE_MAX,
    TOKENS_PER_ADDRESS_MAX,
    TOKENS_WAITED_FOR_MAX,
    TOKENS_WAITED_FOR_PER_ADDRESS_MAX,
)
from headgate.testing.kernels import Rig
from tests.unit.catalog.keeping import Keeper, keeper

BURST = 100
assert BURST > TOKENS_PER_ADDRESS_MAX


def request(token: str, address: str = "192.0.2.1") -> Request:
    return Request("GET", "/", headers={"authorization": f"Bearer {token}"}, address=address)


class SlowIssuers:
    """Verifies tokens when it is let go, and counts them; a token `wrong` is refused."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.read_tokens: list[str] = []

    async def read(self, token: str) -> Attested | None:
        self.read_tokens.append(token)
        await self.let_go.wait()
        if token == "wrong":
            raise NotAuthenticated("Not authorized")
        return Attested(Caller(token), 1 << 60)


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_burst_with_one_token_verifies_it_once(node: Keeper) -> None:
    """More requests of one address than different tokens of it may be verified: all are let in,
    but for the first, which was cancelled and took the verification from none of the others."""
    issuers = SlowIssuers()
    authenticator = Authenticator(Methods(issuers=issuers), node.kernel.clock)
    first, *others = [
        asyncio.create_task(authenticator.caller(request("ann"))) for _ in range(BURST)
    ]
    await turns()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    issuers.let_go.set()

    assert await asyncio.gather(*others) == [Caller("ann")] * (BURST - 1)
    assert await authenticator.caller(request("ann")) == Caller("ann")
    assert issuers.read_tokens == ["ann"]


async def test_a_burst_with_a_wrong_token_verifies_it_once(node: Keeper) -> None:
    """Each request has a refusal of its own; later ones are verified anew."""
    issuers = SlowIssuers()
    authenticator = Authenticator(Methods(issuers=issuers), node.kernel.clock)
    asked = [asyncio.create_task(authenticator.caller(request("wrong"))) for _ in range(BURST)]
    await turns()
    issuers.let_go.set()
    told = await asyncio.gather(*asked, return_exceptions=True)

    assert {type(one) for one in told} == {NotAuthenticated}
    assert len({id(one) for one in told}) == BURST
    assert issuers.read_tokens == ["wrong"]
    with pytest.raises(NotAuthenticated):
        await authenticator.caller(request("wrong"))
    assert len(issuers.read_tokens) == 2


async def test_each_request_with_a_shared_token_keeps_its_own_end(node: Keeper) -> None:
    """How long the caller is known is noted on every request, not only on the first."""
    issuers = SlowIssuers()
    authenticator = Authenticator(Methods(issuers=issuers), node.kernel.clock)
    requests = [request("ann") for _ in range(3)]
    asked = [asyncio.create_task(authenticator.caller(one)) for one in requests]
    await turns()
    issuers.let_go.set()
    await asyncio.gather(*asked)

    assert len({one.expires_ms for one in requests}) == 1
    assert requests[0].expires_ms is not None


async def test_no_token_is_taken_for_another(node: Keeper) -> None:
    """However many are verified at the same time, each request has the caller of its own."""
    issuers = SlowIssuers()
    authenticator = Authenticator(Methods(issuers=issuers), node.kernel.clock)
    names = [f"user-{number}" for number in range(TOKENS_PER_ADDRESS_MAX)] * 3
    asked = [asyncio.create_task(authenticator.caller(request(name))) for name in names]
    await turns()
    issuers.let_go.set()

    assert [caller.name for caller in await asyncio.gather(*asked)] == names
    assert len(issuers.read_tokens) == TOKENS_PER_ADDRESS_MAX


async def waits(
    verifications: Verifications[str], let_go: asyncio.Event, token: str, address: str
) -> str:
    async def verify() -> str:
        await let_go.wait()
        return token

    return await verifications.run(token_digest(token), address, verify)


@pytest.mark.parametrize(
    ("tokens", "addresses", "asked", "let_in"),
    [
        ("many", 1, BURST, TOKENS_PER_ADDRESS_MAX),
        ("many", 1_000, TOKENS_AT_ONCE_MAX + 9, TOKENS_AT_ONCE_MAX),
        ("one", 1, TOKENS_WAITED_FOR_PER_ADDRESS_MAX + 9, TOKENS_WAITED_FOR_PER_ADDRESS_MAX),
        ("one", 1_000, TOKENS_WAITED_FOR_MAX + 9, TOKENS_WAITED_FOR_MAX),
    ],
)
async def test_what_is_verified_and_what_waits_is_bounded(
    tokens: str, addresses: int, asked: int, let_in: int
) -> None:
    """Of one address and in all; a request that is cancelled leaves nothing behind."""
    verifications, let_go = Verifications[str](), asyncio.Event()
    tasks = [
        asyncio.create_task(
            waits(
                verifications,
                let_go,
                "token" if tokens == "one" else str(number),
                str(number % addresses),
            )
        )
        for number in range(asked)
    ]
    await turns()
    under_way = verifications.count, verifications.waiting
    tasks[0].cancel()
    await turns()
    cancelled = verifications.count, verifications.waiting
    let_go.set()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    await turns()

    verified = 1 if tokens == "one" else let_in
    assert under_way == (verified, let_in)
    assert cancelled == (verified, let_in - 1), "it is verified though its request is gone"
    assert [type(one) for one in told].count(str) == let_in - 1
    assert [type(one) for one in told].count(Overloaded) == asked - let_in
    assert (verifications.count, verifications.waiting) == (0, 0)


async def test_keys_that_another_node_made_are_looked_for_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A burst of different tokens that are signed with a new key is let in by one look; no token
    is refused because the look for its key is already under way."""
    here, there = await keeper(rig), await keeper(rig)
    await there.keys.ensure()
    client = await vouch_for(there.kernel, "ann")
    issued = [(await there.tokens.issue(client)).token for _ in range(9)]
    load, loads = here.keys.load, [0]

    async def counted() -> None:
        loads[0] += 1
        await turns()
        await load()

    monkeypatch.setattr(here.keys, "load", counted)
    authenticator = Authenticator(Methods(tokens=here.tokens), here.kernel.clock)
    first, *others = [asyncio.create_task(authenticator.caller(request(one))) for one in issued]
    while not loads[0]:
        await asyncio.sleep(0)
    first.cancel()
    told = await asyncio.gather(*others, return_exceptions=True)

    assert [one for one in told if isinstance(one, HeadgateError)] == []
    assert {caller.name for caller in told if isinstance(caller, Caller)} == {"ann"}
    assert loads == [1]
