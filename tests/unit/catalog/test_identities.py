"""Callers compared with what is kept: by the value that a request has read, and by nothing else."""

from collections.abc import AsyncIterator
from functools import partial

import pytest

from headgate.catalog.calls import ITSELF, Caller
from headgate.catalog.identities import (
    REVOKED,
    REVOKED_UNTIL,
    create_identities,
    current_head,
    current_value,
)
from headgate.catalog.identity_groups import change_members, create_group, drop_group
from headgate.catalog.identity_users import (
    create_secret,
    create_user,
    drop_user,
    revoke_secret,
    revoke_tokens,
    set_enabled,
    set_password,
    vouch_for,
)
from headgate.catalog.signing_keys import revoke_session
from headgate.errors import NotAuthenticated
from headgate.limits import EXPIRED_PER_COMMIT
from headgate.testing.kernels import Rig
from tests.unit.catalog.keeping import Keeper, keeper, session_of, with_password

PASSWORD = "correct horse battery"


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


@pytest.fixture
async def node(rig: Rig) -> Keeper:
    """A node, where nobody is kept yet."""
    return await keeper(rig)


@pytest.fixture
async def other(rig: Rig, node: Keeper) -> Keeper:
    """Another node on the same database."""
    return await keeper(rig)


def _repeated(letter: bytes, count: int) -> bytes:
    return letter * count


async def test_where_nobody_is_kept_callers_are_who_they_say(node: Keeper, rig: Rig) -> None:
    """With the groups that their tokens name, and without a look at the database."""
    callers = [Caller("ann", ("staff",)), Caller(), ITSELF]
    rig.backend.reset()

    for value in (None, 0):
        assert [await node.identities.confirmed(one, value) for one in callers] == callers
    assert rig.backend.calls.total() == 0


async def test_a_password_is_right_or_wrong(node: Keeper) -> None:
    """All who are refused are told the same, and it takes as many computations."""
    await create_user(node.kernel, node.passwords, "ann", PASSWORD)
    await create_user(node.kernel, node.passwords, "bot")

    assert await node.confirmed(with_password("ann", PASSWORD)) == Caller("ann")
    said = set()
    for caller in (
        with_password("ann", "wrong password"),
        with_password("bot", PASSWORD),
        with_password("bot", ""),
        with_password("nobody", PASSWORD),
    ):
        before = node.workers.jobs["verify"]
        with pytest.raises(NotAuthenticated) as refused:
            await node.confirmed(caller)
        said.add(str(refused.value))
        assert node.workers.jobs["verify"] == before + 1
    assert len(said) == 1


async def test_a_password_is_verified_once(node: Keeper) -> None:
    """Right or wrong, also after others have changed something."""
    await create_user(node.kernel, node.passwords, "ann", PASSWORD)
    for _ in range(3):
        assert await node.knows(with_password("ann", PASSWORD))
        assert not await node.knows(with_password("ann", "wrong password"))
        assert not await node.knows(with_password("nobody", PASSWORD))
    await create_user(node.kernel, node.passwords, "bob", PASSWORD)
    assert await node.knows(with_password("ann", PASSWORD))

    assert node.workers.jobs["verify"] == 3
    assert not await node.knows(with_password("nobody else", PASSWORD))
    assert node.workers.jobs["verify"] == 4, "an unknown user is not told by its speed"


async def test_another_password_counts_at_once_everywhere(node: Keeper, other: Keeper) -> None:
    """Also on a node that has verified the old one."""
    await create_user(node.kernel, node.passwords, "ann", PASSWORD)
    assert await other.knows(with_password("ann", PASSWORD))

    await set_password(node.kernel, node.passwords, "ann", "another password")

    assert not await other.knows(with_password("ann", PASSWORD))
    assert await other.knows(with_password("ann", "another password"))


async def test_a_warm_caller_costs_no_read(node: Keeper, rig: Rig) -> None:
    """The value was read along with others, and what it leads to is at hand."""
    await create_user(node.kernel, node.passwords, "ann", PASSWORD)
    _, holder = await node.token(await vouch_for(node.kernel, "ann"))
    value = await current_value(node.kernel)
    callers = [with_password("ann", PASSWORD), holder, Caller("ann", ("staff",))]
    for caller in callers:
        await node.identities.confirmed(caller, value)
    rig.backend.reset()

    for caller in callers:
        await node.identities.confirmed(caller, value)

    assert rig.backend.calls.total() == 0


async def test_a_disabled_user_is_refused_however_it_comes(node: Keeper, other: Keeper) -> None:
    """With a password, a token, or somebody else's word; its old tokens stay worthless."""
    await create_user(node.kernel, node.passwords, "ann", PASSWORD)
    _, holder = await node.token(await vouch_for(node.kernel, "ann"))
    ways = [with_password("ann", PASSWORD), holder, Caller("ann", ("staff",))]
    assert all([await other.knows(one) for one in ways])

    await set_enabled(node.kernel, "ann", enabled=False)
    assert not any([await other.knows(one) for one in ways])
    assert await other.knows(Caller("bob"))

    await set_enabled(node.kernel, "ann", enabled=True)
    assert [await other.knows(one) for one in ways] == [True, False, True]


async def test_kept_groups_are_added_to_those_of_a_token(node: Keeper, other: Keeper) -> None:
    """Each once; whoever left one is not in it at the next request, on any node."""
    kernel = node.kernel
    await create_user(kernel, node.passwords, "ann")
    for name in ("ops", "staff", "empty"):
        await create_group(kernel, name)
    await change_members(kernel, "ops", add=["ann"])
    await change_members(kernel, "staff", add=["ann"])
    caller = Caller("ann", ("staff", "guests"), ("reader",))

    found = await other.confirmed(caller)
    assert found == caller._replace(groups=("staff", "guests", "ops"))
    assert (await other.confirmed(Caller("bob", ("staff",)))).groups == ("staff",)

    await change_members(kernel, "ops", remove=["ann"])
    assert (await other.confirmed(caller)).groups == ("staff", "guests")
    await drop_group(kernel, "staff", force=True)
    assert (await other.confirmed(Caller("ann"))).groups == ()


async def test_a_token_falls_with_its_session(node: Keeper, other: Keeper) -> None:
    """Revoked on one node, it is refused on the other with its next request; others are not."""
    client = await vouch_for(node.kernel, "ann")
    (_, gone), (_, left) = await node.token(client), await node.token(client)
    assert await other.knows(gone)

    await revoke_session(node.kernel, session_of(gone), node.kernel.clock.wall_ms() + 60_000)

    assert [await other.knows(gone), await other.knows(left)] == [False, True]


async def test_a_token_falls_with_its_secret(node: Keeper, other: Keeper) -> None:
    """And not with the client's other one."""
    first = await create_secret(node.kernel, bytes, "engine")
    second = await create_secret(node.kernel, partial(_repeated, b"x"), "engine")
    _, by_first = await node.token(await node.identities.client("engine", first.secret))
    _, by_second = await node.token(await node.identities.client("engine", second.secret))
    assert await other.knows(by_first)

    await revoke_secret(node.kernel, "engine", first.id)

    assert [await other.knows(by_first), await other.knows(by_second)] == [False, True]
    with pytest.raises(NotAuthenticated):
        await other.identities.client("engine", first.secret)


async def test_a_token_falls_with_its_user(node: Keeper, other: Keeper) -> None:
    """One who is dropped and made again is another, and so is one whose tokens were revoked."""
    _, before = await node.token(await vouch_for(node.kernel, "ann"))
    assert await other.knows(before)

    assert await drop_user(node.kernel, "ann")
    assert not await other.knows(before)
    _, after = await node.token(await vouch_for(node.kernel, "ann"))
    assert [await other.knows(before), await other.knows(after)] == [False, True]

    await revoke_tokens(node.kernel, "ann")
    assert not await other.knows(after)


async def test_a_token_falls_with_its_key(node: Keeper, other: Keeper) -> None:
    """Not when another key is made, but when the old ones are dropped."""
    client = await vouch_for(node.kernel, "ann")
    _, old = await node.token(client)
    await node.keys.rotate()
    assert await other.knows(old)
    _, newer = await node.token(client)

    await node.keys.rotate(drop_old=True)

    assert [await other.knows(old), await other.knows(newer)] == [False, False]
    _, newest = await node.token(client)
    assert await other.knows(newest)


async def test_a_client_shows_one_of_its_secrets(node: Keeper) -> None:
    """Not another's, not an old one, not none, and not while it is disabled."""
    made = [
        await create_secret(node.kernel, partial(_repeated, letter), "engine")
        for letter in (b"a", b"b", b"c")
    ]
    await create_user(node.kernel, node.passwords, "ann", PASSWORD)

    for secret in made[1:]:
        client = await node.identities.client("engine", secret.secret)
        assert client.credential == secret.id
    for name, shown in [
        ("engine", made[0].secret),
        ("engine", ""),
        ("engine", PASSWORD),
        ("ann", made[2].secret),
        ("ann", PASSWORD),
        ("nobody", made[2].secret),
    ]:
        with pytest.raises(NotAuthenticated, match="credentials are not valid"):
            await node.identities.client(name, shown)
    await set_enabled(node.kernel, "engine", enabled=False)
    with pytest.raises(NotAuthenticated):
        await node.identities.client("engine", made[2].secret)


async def test_an_unknown_proof_is_none(node: Keeper) -> None:
    """What nobody knows how to check is not believed."""
    assert not await node.knows(Caller("ann", proof="trust me"))


async def test_revocations_are_forgotten_when_the_token_has_expired(node: Keeper) -> None:
    """By later commits, so many at a time; the token is refused for its age then."""
    kernel, count = node.kernel, EXPIRED_PER_COMMIT + 10
    soon = kernel.clock.wall_ms() + 60_000
    await revoke_session(kernel, bytes(16), soon + 60_000)
    for number in range(1, count):
        await revoke_session(kernel, number.to_bytes(16, "big"), soon)
    kernel.clock.advance(60_001)  # type: ignore[attr-defined]

    async def left(index: str) -> int:
        return len([key async for key, _ in (await current_head(kernel)).index(index).scan()])

    assert await left(REVOKED) == count
    await vouch_for(kernel, "ann")
    assert await left(REVOKED) == await left(REVOKED_UNTIL) == count - EXPIRED_PER_COMMIT
    await vouch_for(kernel, "bob")
    assert await left(REVOKED) == await left(REVOKED_UNTIL) == 1
    kernel.clock.advance(60_000)  # type: ignore[attr-defined]
    await vouch_for(kernel, "eve")
    assert await left(REVOKED) == 0


async def test_the_pointer_is_made_once(rig: Rig, node: Keeper) -> None:
    """Also in a store that is older than it; again and again does no harm."""
    assert await current_value(node.kernel) is None
    await create_identities(node.kernel)
    assert await current_value(node.kernel) == 0

    await vouch_for(node.kernel, "ann")
    value = await current_value(node.kernel)
    await create_identities(node.kernel)

    assert await current_value(node.kernel) == value
