"""Rights on tables and views are on the very ones that are changed, and on no others."""

from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from headgate.access.rules import LOAD_TABLE, LOAD_VIEW, Rule
from headgate.catalog.calls import Call, Caller
from headgate.catalog.entities import Kind
from headgate.catalog.lake import Lake
from headgate.catalog.openings import Opened
from headgate.catalog.ports import StorageCredential
from headgate.catalog.relations import rename_relation
from headgate.catalog.tables import drop_table, unregister_table
from headgate.catalog.views import drop_view
from headgate.errors import Forbidden, NotFound
from headgate.model.names import Identifier
from tests.unit.catalog.guarded import Guarded, give_owner, rights
from tests.unit.catalog.lakes import CATALOG, MAIN, Node, World, new_table
from tests.unit.catalog.staff import FINE, hire

TABLE, VIEW, OTHER = (Identifier(("a",), name) for name in ("t", "v", "other"))
USES = rights("catalog", CATALOG, "use_catalog", "use_schema")

Do = Callable[[Lake, Opened], Awaitable[object]]
UNREGISTER: Do = lambda lake, opened: unregister_table(lake, opened, TABLE)  # noqa: E731
CHANGES: list[tuple[str, Do]] = [
    ("table", lambda lake, opened: drop_table(lake, opened, TABLE, purge=False)),
    ("table", lambda lake, opened: drop_table(lake, opened, TABLE, purge=True)),
    ("table", UNREGISTER),
    ("table", lambda lake, opened: rename_relation(lake, opened, TABLE, OTHER, Kind.TABLE)),
    ("view", lambda lake, opened: drop_view(lake, opened, VIEW)),
    ("view", lambda lake, opened: rename_relation(lake, opened, VIEW, OTHER, Kind.VIEW)),
]


@pytest.fixture
async def owned(node: Node, staffed: Guarded) -> Guarded:
    """Bob owns a table and a view, and may use their schema."""
    await node.view()
    await staffed.role("uses", USES)
    await staffed.assign("bob", "uses")
    await staffed.own("table", f"{CATALOG}.a.t", "bob")
    await staffed.own("view", f"{CATALOG}.a.v", "bob")
    return staffed


@pytest.mark.parametrize(("kind", "do"), CHANGES)
async def test_another_one_of_the_same_name_is_not_changed(
    world: World, node: Node, owned: Guarded, kind: str, do: Do
) -> None:
    """It came after the caller's rights were looked at, and nobody gave any on it."""
    opened = await owned.catalog("bob")
    await node.delete(f"namespaces/a/{kind}s/{kind[0]}")
    await (node.table() if kind == "table" else node.view())
    before = await world.state()

    with pytest.raises(NotFound):
        await do(owned.lake, opened)
    assert await world.state() == before


@pytest.mark.parametrize("do", [do for _, do in CHANGES if do is not UNREGISTER])
async def test_who_took_something_away_is_told_so_again(
    world: World, owned: Guarded, do: Do
) -> None:
    """Though there is nothing any more that it owns; but not who may not use the schema."""
    call = Call(MAIN, Caller("bob"), uuid4().bytes)
    await do(owned.lake, await owned.lake.open(call))
    before = await world.state()

    await do(owned.lake, await owned.lake.open(call))
    assert await world.state() == before
    await owned.unassign("bob", "uses")
    with pytest.raises(Forbidden):
        await do(owned.lake, await owned.lake.open(call))


@pytest.mark.parametrize("rule", [LOAD_TABLE, LOAD_VIEW])
async def test_a_refusal_does_not_tell_whether_something_is_there(
    staffed: Guarded, rule: Rule
) -> None:
    """Word for word it is the same for a table that is there and for one that is not."""
    opened = await staffed.catalog("bob")
    told = []
    for name in ("t", "u"):
        with pytest.raises(Forbidden) as refused:
            await opened.require(rule, ("a",), name)
        told.append(str(refused.value).replace(f"a.{name}", "it"))

    assert told[0] == told[1]


@pytest.mark.parametrize("kind", [Kind.TABLE, Kind.VIEW])
async def test_to_move_something_one_must_own_it(node: Node, owned: Guarded, kind: Kind) -> None:
    """In a schema of one's own it would be one's own: who may change it could take it away."""
    await node.namespace("b")
    await owned.own("schema", f"{CATALOG}.b", "ann")
    await owned.role("changes", rights("catalog", CATALOG, "use_catalog", "modify_table"))
    await owned.assign("ann", "changes")
    source = TABLE if kind is Kind.TABLE else VIEW
    target = Identifier(("b",), "other")

    with pytest.raises(Forbidden):
        await rename_relation(owned.lake, await owned.catalog("ann"), source, target, kind)
    await owned.own(kind.name, f"{CATALOG}.a.{source.name}", "ann")
    await rename_relation(owned.lake, await owned.catalog("ann"), source, target, kind)


@pytest.mark.usefixtures("node")
async def test_a_repetition_gives_no_credentials_to_who_does_not_own_the_table_any_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it made is shown again, as it was then; but the files are somebody else's now."""
    server = await world.node(guard=FINE)
    lake, vended = Guarded(server.lake), list[bool]()

    async def credentials(location: str, *, write: bool) -> list[StorageCredential]:
        vended.append(write)
        return [StorageCredential(location, {"s3.access-key-id": "k"})]

    async def create() -> int:
        headers = {"x-iceberg-access-delegation": "vended-credentials"}
        path, new = "namespaces/a/tables", new_table("t")
        answer = await server.post(path, new, key=key, headers=headers, user="ann")
        return answer.status

    monkeypatch.setattr(server.lake.storage, "credentials", credentials)
    await give_owner(lake)
    await hire(lake)
    await lake.assign("ann", "writer")
    await lake.unassign("ann", "reader")
    key = uuid4()

    assert [await create(), await create()] == [200, 200]
    assert vended == [True, True]
    await lake.own("table", f"{CATALOG}.a.t", "bob")
    assert await create() == 200
    assert vended == [True, True]
    await lake.assign("ann", "reader")
    assert await create() == 200
    assert vended == [True, True, False]
