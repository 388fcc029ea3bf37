"""Tokens and clocks that jump: a verdict depends on the present time, and on nothing before it."""

import pytest

from headgate.catalog.identities import Client
from headgate.catalog.identity_users import vouch_for
from headgate.errors import NotAuthenticated
from headgate.http.authentication.authenticator import Authenticator, Methods
from headgate.http.authentication.own_tokens import OwnTokens
from headgate.http.authentication.simple_tokens import SimpleTokens
from headgate.http.request import Request
from headgate.limits import CLOCK_BEHIND_MS_MAX, KEY_SET_SECONDS
from headgate.testing.kernels import Rig, SteppedClock
from tests.unit.catalog.keeping import LIFETIMES, Keeper
from tests.unit.http.authentication.providers import Provider, claims, issuers, signed

MONTH_MS = 30 * 86_400_000
HOUR_MS = 3_600_000
WAYS = ("simple", "own", "oidc")


class Way:
    """One kind of token, and a server that takes it."""

    def __init__(self, authenticator: Authenticator, token: str) -> None:
        self.authenticator = authenticator
        self.token = token

    async def is_taken(self) -> bool:
        """Whether a request with the token is authenticated."""
        headers = {"authorization": f"Bearer {self.token}"}
        try:
            return bool(
                (await self.authenticator.caller(Request("GET", "/", headers=headers))).name
            )
        except NotAuthenticated:
            return False


@pytest.fixture(params=WAYS)
async def way(request: pytest.FixtureRequest, rig: Rig, node: Keeper) -> Way:
    """A token that is good for a while, of each kind."""
    clock = rig.clock
    if request.param == "simple":
        simple = SimpleTokens(b"a secret of thirty-two bytes 123", clock)
        return Way(Authenticator(Methods(simple), clock), simple.issue("ann"))
    if request.param == "own":
        issued, _ = await node.token(await ann(node))
        return Way(Authenticator(Methods(tokens=node.tokens), clock), issued.token)
    methods = Methods(issuers=issuers(Provider(), clock))
    now = clock.wall_ms() // 1000
    return Way(Authenticator(methods, clock), signed(claims(clock, iat=now, exp=now + 600)))


async def ann(node: Keeper) -> Client:
    return await vouch_for(node.kernel, "ann")


async def test_a_jump_that_is_only_suspected_refuses_no_token(rig: Rig, way: Way) -> None:
    """Neither while it lasts nor afterwards."""
    rig.clock.jump(MONTH_MS)
    assert await way.is_taken()
    rig.clock.jump(-MONTH_MS)

    assert await way.is_taken()


async def test_a_token_is_good_again_after_a_jump_that_was_followed(rig: Rig, way: Way) -> None:
    """The time of day comes back, though ids never do: nothing remembers that it had expired."""
    assert await way.is_taken()
    rig.clock.jump(MONTH_MS)
    rig.clock.follow()
    assert not await way.is_taken()
    rig.clock.jump(-MONTH_MS)

    assert rig.clock.wall_ms() > rig.clock.machine_ms()
    assert await way.is_taken()


async def test_a_token_expires_after_a_jump_as_before(rig: Rig, way: Way) -> None:
    """The jump has not made it any longer."""
    rig.clock.jump(MONTH_MS)
    rig.clock.follow()
    rig.clock.jump(-MONTH_MS)
    rig.clock.advance(2 * HOUR_MS)

    assert not await way.is_taken()


async def test_a_clock_that_is_set_back_refuses_no_token_of_other_nodes(rig: Rig, way: Way) -> None:
    """To it they seem to be issued in the future; they are not refused as long as one of the
    machine's clocks knows better."""
    rig.clock.jump(-HOUR_MS)

    assert await way.is_taken()


async def test_a_token_that_a_clock_a_year_ahead_issued_is_not_taken(
    rig: Rig, node: Keeper
) -> None:
    """It would be good for a year and an hour."""
    client = await ann(node)
    ahead = SteppedClock(rig.clock.wall_ms() + CLOCK_BEHIND_MS_MAX + 1_000)
    issued = await OwnTokens(node.keys, ahead, bytes, LIFETIMES).issue(client)
    assert await node.tokens.read(issued.token) is None
    rig.clock.advance(1_000)

    assert await node.tokens.read(issued.token) is not None


async def test_a_signature_is_looked_at_again_by_the_stopwatch(rig: Rig, node: Keeper) -> None:
    """What was verified while the clock was ahead is not known for a month longer."""
    provider = Provider()
    authenticator = Authenticator(Methods(issuers=issuers(provider, rig.clock)), rig.clock)
    now = rig.clock.wall_ms() // 1000
    way = Way(authenticator, signed(claims(rig.clock, iat=now, exp=now + MONTH_MS // 500)))
    rig.clock.jump(MONTH_MS)
    rig.clock.follow()
    assert await way.is_taken()
    rig.clock.jump(-MONTH_MS)
    provider.keys.clear()
    rig.clock.advance(KEY_SET_SECONDS * 1000)

    assert not await way.is_taken()
    del node
