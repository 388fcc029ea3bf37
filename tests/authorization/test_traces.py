"""What is seen, and what is left behind: of quick changes, of failed ones, of refused requests."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from headgate.access.auditing import Decision
from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege as Right
from headgate.catalog.compiling import DISABLED
from headgate.catalog.guards import GRANTS, PRINCIPALS, RIGHTS
from headgate.catalog.naming import id_bytes
from headgate.catalog.principals import USER, require_principal
from headgate.errors import BackendUnavailable, HeadgateError
from headgate.kernel.log import Commit
from headgate.testing.faults import Fault
from headgate.testing.kernels import history
from tests.authorization.clerk import Clerk
from tests.authorization.gravitino_operations import GRAVITINO, target
from tests.authorization.guarded import ADMIN, GuardedNode, GuardedWorld
from tests.authorization.iceberg_operations import ICEBERG
from tests.authorization.operations import Operation, begin
from tests.unit.catalog.lakes import CATALOG, METALAKE, new_table

TABLE = "namespaces/a/tables/t"
READING = Right.USE_CATALOG | Right.USE_SCHEMA | Right.SELECT_TABLE


@pytest.fixture
async def clerk(node: GuardedNode) -> Clerk:
    """A table that Ann may read, by a role."""
    clerk = Clerk(node)
    await clerk.create_schema("a")
    await clerk.create(T.TABLE, "a", "t")
    await clerk.add(USER, "ann")
    await clerk.create_role("r")
    await clerk.assign(USER, "ann", "r")
    await clerk.grant("r", (), READING)
    return clerk


async def status(node: GuardedNode, path: str = TABLE, user: str = "ann") -> int:
    return (await node.ask("GET", path, user=user)).status


async def log_of(node: GuardedNode) -> list[list[Commit]]:
    """The logs of all pointers that rights depend on."""
    realm = node.kernel.realm((await node.kernel.realms.get(METALAKE)).id)
    return [await history(node.kernel, realm, pointer) for pointer in RIGHTS]


async def test_changes_in_one_millisecond_are_all_seen(world: GuardedWorld, clerk: Clerk) -> None:
    """There are more changes than milliseconds: versions are no times."""
    other = await world.guarded()
    began, changes = world.rig.clock.wall_ms(), 0
    for _ in range(3):
        assert await status(other) == 200
        await clerk.revoke("r", (), Right.SELECT_TABLE)
        assert await status(other) == 403
        await clerk.grant("r", (), Right.SELECT_TABLE)
        assert await status(other) == 200
        await clerk.unassign(USER, "ann", "r")
        assert await status(other) == 403
        await clerk.assign(USER, "ann", "r")
        changes += 4
    assert world.rig.clock.wall_ms() - began < changes / 2


async def test_the_switch_of_a_user_alone_is_seen(clerk: Clerk) -> None:
    """Off and on again, though nothing else of the user changed."""
    metalake = await clerk.node.metalake()
    ann = id_bytes((await require_principal(metalake, USER, "ann")).id)
    for _ in range(2):
        await metalake.commit(PRINCIPALS, lambda draft: draft.index(DISABLED).put(ann, b""))
        assert await status(clerk.node) == 403
        await metalake.commit(PRINCIPALS, lambda draft: draft.index(DISABLED).remove(ann))
        assert await status(clerk.node) == 200


@pytest.mark.parametrize("fault", [Fault.UNAVAILABLE, Fault.LOST_BEFORE])
async def test_a_change_that_fails_leaves_no_trace(
    world: GuardedWorld, clerk: Clerk, fault: Fault
) -> None:
    """The commit does not reach the database: rights, log and rows are as they were."""
    other = await world.guarded()
    assert await status(other) == 200
    before, log = await world.state(), await log_of(other)
    for _ in range(1_000):  # more often than it is tried
        world.rig.faults.schedule("commit", fault)
    with pytest.raises(HeadgateError):
        await clerk.unassign(USER, "ann", "r")
    with pytest.raises(HeadgateError):
        await clerk.revoke("r", (), Right.SELECT_TABLE)
    assert await world.state() == before
    assert await log_of(other) == log
    for node in (clerk.node, other):
        assert await status(node) == 200


async def test_an_attempt_that_raises_leaves_no_trace(world: GuardedWorld, clerk: Clerk) -> None:
    """What it had changed already in its draft is forgotten, and others in its batch are kept."""
    metalake = await clerk.node.metalake()
    before = await world.state()

    def attempt(draft: object) -> None:
        raise BackendUnavailable("no")

    with pytest.raises(BackendUnavailable):
        await metalake.commit(GRANTS, attempt)
    assert await world.state() == before


class Asking(NamedTuple):
    """A request whose answer must not depend on what a node knows."""

    user: str
    method: str
    path: str


def askings() -> Iterator[Asking]:
    """Everybody asks for everything."""
    paths = (
        TABLE,
        "namespaces/a/tables/none",
        "namespaces/a/views/v",
        "namespaces/a",
        "namespaces/none",
        "namespaces/none/tables/t",
        "namespaces",
        "/iceberg/v1/default.none/namespaces",
        "/iceberg/v1/none.main/namespaces",
        "/iceberg/v1/config?warehouse=none",
        "/api/metalakes/default/catalogs/main/schemas/a/tables/t",
        "/api/metalakes/default/catalogs/none",
        "/api/metalakes/default",
        "/api/metalakes/none",
        "/api/metalakes/default/roles/none",
        "/api/metalakes/default/users/none",
        "/api/metalakes/default/owners/table/main.a.none",
    )
    for user in ("stranger", "member", "ann", "maker", "owner", ADMIN):
        for path in paths:
            yield Asking(user, "GET", path)


async def answers(node: GuardedNode) -> dict[Asking, int]:
    """What a node says to all of them."""
    found = {}
    for one in askings():
        found[one] = (await node.ask(one.method, one.path, user=one.user)).status
    return found


async def test_refusals_do_not_depend_on_what_is_cached(world: GuardedWorld, clerk: Clerk) -> None:
    """A node that has seen everything and one that has seen nothing say the same, at any time."""
    for user in ("member", "maker", "owner"):
        await clerk.add(USER, user)
    await clerk.create_role("makes")
    await clerk.grant("makes", (), Right.USE_CATALOG | Right.USE_SCHEMA | Right.CREATE_TABLE)
    await clerk.assign(USER, "maker", "makes")
    await clerk.own((), USER, "owner")
    warm = clerk.node

    async def same() -> dict[Asking, int]:
        first = await answers(warm)
        assert await answers(warm) == first
        assert await answers(await world.guarded()) == first
        return first

    assert (await same())[Asking("ann", "GET", TABLE)] == 200
    await clerk.drop("a", "t")
    gone = await same()
    assert gone[Asking("maker", "GET", TABLE)] == 404
    assert gone[Asking("member", "GET", TABLE)] == 403
    await clerk.create(T.TABLE, "a", "t")
    made = await same()
    assert made[Asking("maker", "GET", TABLE)] == 403
    await clerk.switch_metalake(on=False)
    off = await same()
    assert off[Asking("stranger", "GET", "/api/metalakes/default")] == 403
    assert off[Asking("member", "GET", "/api/metalakes/default")] == 200
    await clerk.switch_metalake(on=True)
    assert await same() == made


class Heard:
    """An audit that remembers."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def decided(self, decision: Decision) -> None:
        self.decisions.append(decision)


@pytest.mark.parametrize("operations", [ICEBERG, GRAVITINO], ids=["iceberg", "gravitino"])
async def test_refused_requests_leave_nothing_but_a_record(
    world: GuardedWorld, operations: dict[str, Operation]
) -> None:
    """Whatever is asked for, by somebody who is no user and by a user without rights."""
    audit = Heard()
    node = await world.guarded(audit)
    clerk = Clerk(node)
    await begin(clerk)
    await target(clerk)
    await clerk.add(USER, "member")
    for name, operation in operations.items():
        if operation.before:
            await operation.before(clerk)
        for user in ("stranger", "member"):
            before = await world.state()
            audit.decisions.clear()
            heard = await node.ask(operation.method, operation.url, operation.body(0), user=user)
            assert await world.state() == before, name
            if heard.status == 403:
                refused = [one for one in audit.decisions if not one.allowed]
                assert [one.principal for one in refused] == [user], name
            else:
                assert heard.status == 200, (name, heard)
                assert (
                    operation.sees
                    or name in {"loadMetalake", "getOwner metalake"}
                    or (name == "listRolesByObject metalake")
                ), name


async def test_what_is_allowed_is_recorded_once(world: GuardedWorld) -> None:
    """With who did it and on what."""
    audit = Heard()
    node = await world.guarded(audit)
    clerk = Clerk(node)
    await clerk.create_schema("a")
    audit.decisions.clear()
    made = await node.ask("POST", "namespaces/a/tables", new_table("t"), user=ADMIN)
    assert made.status == 200
    [decision] = audit.decisions
    assert decision.principal == ADMIN
    assert decision.action == "createTable"
    assert decision.object[:2] == (CATALOG, "a")
    assert decision.allowed
