"""Large metadata and large requests: the same answers, worked out in other processes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog import (
    metadata_cache,
    metadata_worker,
    registrations,
    table_commits,
    views,
)
from headgate.catalog.metadata_files import read_metadata
from headgate.catalog.metadata_worker import Memory
from headgate.catalog.ports import Files
from headgate.errors import Unavailable
from headgate.http.iceberg import tables as table_handlers
from headgate.http.iceberg import views as view_handlers
from headgate.limits import REGISTRATIONS_PER_PRINCIPAL_MAX
from headgate.model import table_metadata
from headgate.workers.slots import Slots, unshared
from headgate.workers.turns import Tenant
from tests.unit.catalog.lakes import (
    METALAKE,
    VIEW_VERSION,
    Node,
    World,
    append,
    at_snapshot,
    commit,
    new_table,
    new_view,
    set_properties,
    staged_commit,
)

TABLES, TABLE, VIEW = "namespaces/a/tables", "namespaces/a/tables/t", "namespaces/a/views/v"
BOUNDS = {
    table_handlers: ["DEFINITIONS_INLINE_BYTES_MAX"],
    view_handlers: ["DEFINITIONS_INLINE_BYTES_MAX"],
    table_commits: ["DEFINITIONS_INLINE_BYTES_MAX", "METADATA_INLINE_BYTES_MAX"],
    registrations: ["VERIFIED_INLINE_BYTES_MAX"],
    views: ["VERIFIED_INLINE_BYTES_MAX"],
    metadata_cache: ["METADATA_INLINE_BYTES_MAX"],
}
PATIENCE_SECONDS = 30  # with what would wait for ever
OURS = {"table-uuid", "view-uuid", "location", "last-updated-ms", "metadata-log", "version-log"}
REPLACED: list[dict[str, Any]] = [
    {"action": "add-view-version", "view-version": {**VIEW_VERSION, "version-id": 2}},
    {"action": "set-current-view-version", "view-version-id": -1},
]


@pytest.fixture
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is small enough to be worked out here."""
    for module, names in BOUNDS.items():
        for name in names:
            monkeypatch.setattr(module, name, 0)
    monkeypatch.setattr(metadata_worker, "_memory", Memory(1 << 20))


def content(answer: Any) -> dict[str, Any]:
    """What does not differ from one table to the next."""
    return {name: value for name, value in answer["metadata"].items() if name not in OURS}


@pytest.mark.usefixtures("everything_is_large")
async def test_a_table_has_the_same_life_as_a_small_one(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Created, changed, loaded and registered; only where the work is done differs."""
    lives = []
    for name in ("large", "small"):
        path = f"{TABLES}/{name}"
        made = await node.made(TABLES, new_table(name, properties={"k": "v"}))
        changed = await node.made(path, commit([set_properties(a="b")]))
        appended = await node.made(path, commit(append(made["metadata"], 7), [at_snapshot(None)]))
        refs = (await node.get(f"{path}?snapshots=refs")).json
        await node.delete(path)
        body = {"name": name, "metadata-location": appended["metadata-location"]}
        registered = await node.made("namespaces/a/register", body)
        assert registered["metadata"] == appended["metadata"]
        assert refs["metadata"]["snapshots"] == appended["metadata"]["snapshots"]
        lives.append([content(made), content(changed)])
        monkeypatch.undo()

    assert lives[0] == lives[1]
    assert node.workers.counts == {"create": 1, "commit": 2, "refs": 1, "register": 1}


@pytest.mark.usefixtures("everything_is_large")
async def test_a_view_has_the_same_life_as_a_small_one(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Created, replaced and registered; only where the work is done differs."""
    lives = []
    for name in ("large", "small"):
        path = f"namespaces/a/views/{name}"
        made = await node.view(name)
        uuid = {"type": "assert-view-uuid", "uuid": made["metadata"]["view-uuid"]}
        changed = await node.made(path, commit(REPLACED, [uuid]))
        unchanged = await node.made(path, commit([]))
        assert unchanged["metadata-location"] == changed["metadata-location"]
        await node.delete(path)
        body = {"name": name, "metadata-location": changed["metadata-location"]}
        assert (await node.made("namespaces/a/register-view", body))["metadata"] == (
            changed["metadata"]
        )
        lives.append(content(made) | {"current": changed["metadata"]["current-version-id"]})
        monkeypatch.undo()

    for life in lives:
        life["versions"][0].pop("timestamp-ms")
    assert lives[0] == lives[1]
    assert node.workers.counts["create"] == node.workers.counts["register"] == 1


@pytest.mark.usefixtures("everything_is_large")
async def test_the_next_commit_sends_no_metadata(node: Node) -> None:
    """Who made a version knows it; who does not is told, once."""
    await node.table(properties={"long": "x" * 10_000})
    for number in range(3):
        await node.made(TABLE, commit([set_properties(k=str(number))]))
    assert (node.workers.counts["commit"], node.workers.largest["commit"] < 5_000) == (3, True)

    metadata_worker._memory = Memory(1 << 20)  # another process
    await node.made(TABLE, commit([set_properties(k="again")]))
    await node.made(TABLE, commit([set_properties(k="and again")]))

    assert node.workers.counts["commit"] == 6
    assert (await node.load())["metadata"]["properties"]["k"] == "and again"


@pytest.mark.usefixtures("everything_is_large")
async def test_a_staged_table_is_created_by_its_commit(node: Node) -> None:
    """Staging stores nothing, the commit all."""
    staged = await node.made(TABLES, new_table(stage_create=True))
    assert (await node.get(TABLE)).status == 404

    await node.made(TABLE, staged_commit(staged["metadata"]))

    assert content(await node.load()) == content(staged)
    assert (await node.post(TABLE, staged_commit(staged["metadata"]))).error[:2] == (
        409,
        "CommitFailedException",
    )


@pytest.mark.usefixtures("everything_is_large")
async def test_what_is_refused_is_refused_in_the_same_words(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors cross the border between processes whole, and nothing is left behind."""
    made = await node.table()
    await node.view()
    create = staged_commit(made["metadata"], f"{made['metadata']['location']}-2")
    requests: list[tuple[str, Any]] = [
        (f"{TABLES}/none", commit([set_properties(k="v")])),
        (f"{TABLES}/v", commit([set_properties(k="v")])),
        (f"{TABLES}/v", create),
        ("namespaces/none/tables/t", create),
        (TABLE, commit([], [at_snapshot(7)])),
        (TABLE, commit([{"action": "set-current-schema", "schema-id": 9}])),
        (TABLE, commit([{"action": "unknown"}])),
        (TABLES, new_table("t")),
        (TABLES, {"name": "w", "schema": {"type": "list"}}),
        (VIEW, commit([], [{"type": "assert-view-uuid", "uuid": "other"}])),
    ]
    before = await world.state()

    large = [(await node.post(path, body)).error for path, body in requests]
    assert await world.state() == before
    monkeypatch.undo()
    small = [(await node.post(path, body)).error for path, body in requests]

    assert large == small


@pytest.mark.usefixtures("everything_is_large")
async def test_an_append_that_was_made_before_is_answered_again(node: Node) -> None:
    """Its first answer was lost; the table stays as it is."""
    made = await node.table()
    body = commit(append(made["metadata"], 7), [at_snapshot(None)])
    first = await node.made(TABLE, body)

    assert await node.made(TABLE, body) == first


@pytest.mark.usefixtures("everything_is_large")
async def test_files_that_fall_out_of_the_log_are_deleted(node: Node) -> None:
    """The worker says which, the server deletes them after the commit."""
    made = await node.table(
        properties={
            "write.metadata.delete-after-commit.enabled": "true",
            "write.metadata.previous-versions-max": "1",
        }
    )
    for number in range(2):
        await node.made(TABLE, commit([set_properties(k=str(number))]))

    assert not Path(made["metadata-location"]).exists()


@pytest.mark.usefixtures("everything_is_large")
async def test_a_commit_whose_worker_dies_was_not_made(world: World, node: Node) -> None:
    """The answer says so, and the next try succeeds."""
    await node.table()
    before = await world.state()
    node.workers.failing.append(Unavailable("The request was not answered"))

    assert (await node.post(TABLE, commit([set_properties(k="v")]))).status == 503
    assert await world.state() == before
    await node.made(TABLE, commit([set_properties(k="v")]))


async def test_a_wide_table_changes_its_definitions_elsewhere(node: Node) -> None:
    """Each column takes its time; an update that looks at none is done here."""
    fields = [{"id": n, "name": f"c{n}", "required": False, "type": "int"} for n in range(1, 401)]
    await node.table(schema={"type": "struct", "fields": fields})
    assert node.workers.counts == {"create": 1}
    await node.made(TABLE, commit([set_properties(k="v")]))
    assert node.workers.counts == {"create": 1}

    await node.made(TABLE, commit([{"action": "set-current-schema", "schema-id": 0}]))

    assert node.workers.counts == {"create": 1, "commit": 2}  # asked, and then told


def test_a_worker_forgets_the_oldest_and_never_the_last() -> None:
    """What it remembers has a bound."""
    memory = Memory(100)
    one = table_metadata.TableMetadata(
        format_version=2, table_uuid="u", location="l", last_updated_ms=0, last_column_id=0
    )
    for key, size in (("a", 60), ("b", 30), ("c", 30), ("d", 1_000)):
        memory.keep(key, one, size)
        assert memory.find(key) is one
        if key == "c":
            assert (memory.find("a"), memory.find("b")) == (None, one)

    assert memory.find("c") is None


async def test_so_many_registrations_have_their_file_in_memory_at_once(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one waits before it reads anything, and the one after that is refused."""
    node.lake.large.registering = Slots(unshared(1, 1), "a metadata file to be read")
    file = (await node.table())["metadata-location"]
    await node.delete(TABLE)
    reading: list[str] = []
    arrived, may_go = asyncio.Event(), asyncio.Event()

    async def read(files: Files, location: str) -> bytes:
        reading.append(location)
        arrived.set()
        await may_go.wait()
        return await read_metadata(files, location)

    monkeypatch.setattr(registrations, "read_metadata", read)
    body = {"name": "t", "metadata-location": file}
    first = asyncio.create_task(node.post("namespaces/a/register", body))
    await arrived.wait()
    others = [asyncio.create_task(node.post("namespaces/a/register", body)) for _ in range(2)]
    done, [waiting] = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
    assert [one.result().status for one in done] == [429]
    assert reading == [file]

    may_go.set()
    assert ((await first).status, (await waiting).status) == (200, 409)


@pytest.mark.usefixtures("everything_is_large")
async def test_every_kind_of_work_is_charged_to_the_caller(node: Node) -> None:
    """Turns are taken by metalake and principal; nothing is left to a tenant without a name."""
    by = {"user": "ann"}
    made = await node.made(TABLES, new_table("t"), **by)
    appended = await node.made(TABLE, commit(append(made["metadata"], 7)), **by)
    await node.get(f"{TABLE}?snapshots=refs", **by)
    await node.delete(TABLE, **by)
    body = {"name": "t", "metadata-location": appended["metadata-location"]}
    await node.made("namespaces/a/register", body, **by)
    await node.made("namespaces/a/views", new_view("v"), **by)
    await node.made(VIEW, commit(REPLACED), **by)

    assert set(node.workers.counts) == {"create", "commit", "refs", "register"}
    assert node.workers.tenants == {Tenant(METALAKE, "ann")}


async def test_files_that_never_end_hold_up_no_registration_of_another_principal(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They hold as many slots as one principal may have, and more of them wait."""
    file = (await node.table())["metadata-location"]
    await node.delete(TABLE)
    reading: list[str] = []
    arrived, may_go = asyncio.Event(), asyncio.Event()

    async def read(files: Files, location: str) -> bytes:
        reading.append(location)
        if len(reading) <= REGISTRATIONS_PER_PRINCIPAL_MAX:
            if len(reading) == REGISTRATIONS_PER_PRINCIPAL_MAX:
                arrived.set()
            await may_go.wait()
        return await read_metadata(files, location)

    monkeypatch.setattr(registrations, "read_metadata", read)
    body = {"name": "t", "metadata-location": file}
    hostile = [
        asyncio.create_task(node.post("namespaces/a/register", body, user="mallory"))
        for _ in range(2 * REGISTRATIONS_PER_PRINCIPAL_MAX)
    ]
    await arrived.wait()

    async with asyncio.timeout(PATIENCE_SECONDS):
        await node.made("namespaces/a/register", body, user="ann")

    assert not any(request.done() for request in hostile)
    may_go.set()
    assert {answer.status for answer in await asyncio.gather(*hostile)} == {409}


@pytest.mark.usefixtures("everything_is_large")
async def test_no_caller_waits_for_the_work_of_another_tenant_on_the_same_table(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That work may stand at the end of a long queue of its own tenant."""
    await node.table()
    arrived, may_go = asyncio.Event(), asyncio.Event()
    run_all = node.workers.run_all

    async def held(job: str, *arguments: bytes, tenant: Tenant) -> list[bytes]:
        if tenant.principal == "mallory":
            arrived.set()
            await may_go.wait()
        return await run_all(job, *arguments, tenant=tenant)

    monkeypatch.setattr(node.workers, "run_all", held)
    hostile = asyncio.create_task(node.get(f"{TABLE}?snapshots=refs", user="mallory"))
    await arrived.wait()

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await node.get(f"{TABLE}?snapshots=refs", user="ann")).status == 200

    assert not hostile.done()
    may_go.set()
    assert (await hostile).status == 200
