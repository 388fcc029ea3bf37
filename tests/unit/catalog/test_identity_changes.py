"""What is kept: made, changed and dropped, each in one commit that says so, and no secret."""

from collections.abc import AsyncIterator

import pytest

from headgate.catalog.identities import IDENTITIES_KEY
from headgate.catalog.identity_groups import (
    change_members,
    create_group,
    drop_group,
    get_group,
    list_groups,
)
from headgate.catalog.identity_users import (
    create_secret,
    create_user,
    drop_user,
    get_user,
    list_users,
    revoke_secret,
    revoke_tokens,
    set_enabled,
    set_password,
    vouch_for,
)
from headgate.catalog.signing_keys import revoke_session
from headgate.errors import (
    BadName,
    BadRequest,
    Conflict,
    GroupExists,
    GroupNotFound,
    NotFound,
    UserExists,
    UserNotFound,
)
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN
from headgate.testing.kernels import Rig
from tests.unit.catalog.keeping import MASTER, Keeper, keeper

PASSWORD = "correct horse battery"


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with Rig() as rig:
        yield rig


@pytest.fixture
async def node(rig: Rig) -> Keeper:
    """A node, where nobody is kept yet."""
    return await keeper(rig)


async def test_users_are_kept_by_name(node: Keeper) -> None:
    """With what may be known of them."""
    kernel = node.kernel
    assert await list_users(kernel) == []
    await create_user(kernel, node.passwords, "bob", by="root")
    await create_user(kernel, node.passwords, "ann", PASSWORD)
    secret = await create_secret(kernel, bytes, "ann")

    ann, bob = await list_users(kernel)
    assert (ann.name, ann.enabled, ann.has_password, ann.groups) == ("ann", True, True, ())
    assert [id for id, _ in ann.secrets] == [secret.id]
    assert (bob.name, bob.has_password, bob.created_by) == ("bob", False, "root")
    assert await get_user(kernel, "bob") == bob
    with pytest.raises(UserExists, match="User already exists: ann"):
        await create_user(kernel, node.passwords, "ann", PASSWORD)


async def test_what_is_not_kept_cannot_be_changed(node: Keeper) -> None:
    """It is said to be absent; to drop it changes nothing."""
    kernel = node.kernel
    with pytest.raises(UserNotFound):
        await get_user(kernel, "ann")
    with pytest.raises(UserNotFound):
        await set_password(kernel, node.passwords, "ann", PASSWORD)
    with pytest.raises(UserNotFound):
        await set_enabled(kernel, "ann", enabled=False)
    with pytest.raises(UserNotFound):
        await revoke_secret(kernel, "ann", 7)
    await vouch_for(kernel, "ann")
    with pytest.raises(NotFound, match="has no secret 7"):
        await revoke_secret(kernel, "ann", 7)
    assert not await drop_user(kernel, "bob")
    assert not await drop_group(kernel, "ops")
    with pytest.raises(GroupNotFound):
        await get_group(kernel, "ops")
    with pytest.raises(GroupNotFound):
        await change_members(kernel, "ops", add=["ann"])


@pytest.mark.parametrize("name", ["", "\0", "a" * 1_000, "a\nb"])
async def test_names_that_cannot_be_written_are_refused(node: Keeper, name: str) -> None:
    """Whatever they are to be names of."""
    with pytest.raises(BadName):
        await create_user(node.kernel, node.passwords, name, PASSWORD)
    with pytest.raises(BadName):
        await create_group(node.kernel, name)
    with pytest.raises(BadName):
        await create_secret(node.kernel, bytes, name)
    with pytest.raises(BadName):
        await vouch_for(node.kernel, name)


@pytest.mark.parametrize("size", [1, PASSWORD_CHARS_MIN - 1, PASSWORD_CHARS_MAX + 1])
async def test_passwords_have_bounds(node: Keeper, size: int) -> None:
    """What is wrong is said without the password."""
    with pytest.raises(BadRequest, match=f"it has {size} characters") as refused:
        await create_user(node.kernel, node.passwords, "ann", "ß" * size)
    assert "ß" not in str(refused.value)


async def test_a_group_has_kept_users(node: Keeper) -> None:
    """All of a change is made, or nothing of it."""
    kernel = node.kernel
    for name in ("ann", "bob"):
        await create_user(kernel, node.passwords, name)
    await create_group(kernel, "ops", "who is on call")
    with pytest.raises(GroupExists):
        await create_group(kernel, "ops")
    with pytest.raises(UserNotFound, match="only kept users"):
        await change_members(kernel, "ops", add=["ann", "nobody"])
    assert (await get_group(kernel, "ops")).members == ()

    await change_members(kernel, "ops", add=["bob", "ann"])
    await change_members(kernel, "ops", add=["ann"], remove=["bob"])

    [group] = await list_groups(kernel)
    assert group[:3] == ("ops", "who is on call", ("ann",))
    assert (await get_user(kernel, "ann")).groups == ("ops",)


async def test_a_group_is_dropped_when_it_is_empty(node: Keeper) -> None:
    """Or by force; a user who goes leaves its groups."""
    kernel = node.kernel
    for name in ("ann", "bob"):
        await create_user(kernel, node.passwords, name)
    await create_group(kernel, "ops")
    await change_members(kernel, "ops", add=["ann", "bob"])
    assert await drop_user(kernel, "bob")
    assert (await get_group(kernel, "ops")).members == ("ann",)

    with pytest.raises(Conflict, match="1 users are in it"):
        await drop_group(kernel, "ops")
    assert await drop_group(kernel, "ops", force=True)

    assert (await get_user(kernel, "ann")).groups == ()
    await create_group(kernel, "ops")
    assert (await get_group(kernel, "ops")).members == ()


async def test_every_change_is_told_and_no_secret_is(node: Keeper, rig: Rig) -> None:
    """Neither the change log nor the database has a password, a secret, a key or a token."""
    kernel, by = node.kernel, "root"
    await node.keys.ensure()
    await create_user(kernel, node.passwords, "ann", PASSWORD, by=by)
    await set_password(kernel, node.passwords, "ann", PASSWORD + "!", by=by)
    await set_enabled(kernel, "ann", enabled=False, by=by)
    await set_enabled(kernel, "ann", enabled=True, by=by)
    await set_enabled(kernel, "ann", enabled=True, by=by)  # it is: nothing to tell
    secret = await create_secret(kernel, lambda count: b"s" * count, "engine", by=by)
    await revoke_secret(kernel, "engine", secret.id, by=by)
    issued, _ = await node.token(await vouch_for(kernel, "bob", by=by))
    await revoke_session(kernel, bytes.fromhex(issued.session), 1 << 42, by=by)
    await revoke_tokens(kernel, "bob", by=by)
    await create_group(kernel, "ops", by=by)
    await change_members(kernel, "ops", add=["ann"], by=by)
    await drop_group(kernel, "ops", force=True, by=by)
    await drop_user(kernel, "ann", by=by)
    await node.keys.rotate(drop_old=True, by=by)
    key = await node.keys.newest()

    told = [(note["do"], note["kind"]) for note in await node.notes()]
    assert told == [
        ("create", "signing-key"),
        ("create", "identity"),
        ("alter", "identity"),
        ("disable", "identity"),
        ("enable", "identity"),
        ("create", "secret"),
        ("revoke", "identity"),
        ("create", "identity"),
        ("revoke", "token"),
        ("revoke", "identity"),
        ("create", "identity-group"),
        ("alter", "identity-group"),
        ("drop", "identity-group"),
        ("drop", "identity"),
        ("create", "signing-key"),
    ]
    assert {str(note["by"]) for note in (await node.notes())[1:]} == {by}
    assert all(isinstance(note["name"], list) for note in await node.notes())
    rows = [row for parts in rig.memory._rows.values() for row in parts.values()]
    stored = b"".join(row.value for row in rows if row.realm == SYSTEM_REALM)
    assert b"ann" in stored
    for text in (PASSWORD, secret.secret, issued.token):
        assert text.encode() not in stored
    assert key.secret not in stored
    assert MASTER not in stored


async def test_the_log_of_identities_is_readable(node: Keeper) -> None:
    """Each change is one commit with one group."""
    await vouch_for(node.kernel, "ann")
    await create_group(node.kernel, "ops")

    commits = [one async for one in node.kernel.log.newest_first(IDENTITIES_KEY)]

    assert [len(one.groups) for one in commits] == [1, 1]
