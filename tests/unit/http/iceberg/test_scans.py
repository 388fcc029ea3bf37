"""Scan planning, as far as it is not the planner's: which table, which metadata, credentials."""

import json
from functools import partial

import pytest

from headgate.limits import FILTER_RECURSION_MAX
from headgate.planning.planner import WORKER, Planner
from headgate.storage.worker_files import WorkerFiles
from headgate.workers.pool import WorkerPool
from headgate.workers.turns import Tenant
from tests.unit.catalog.lakes import LOCAL, METALAKE, Node, World, commit, set_properties
from tests.unit.http.iceberg.test_answers import STATIC, VENDED, far_node

TABLE = "namespaces/a/tables/t"


async def test_the_planner_gets_the_table_as_it_is_now(node: Node) -> None:
    """And the request as it came."""
    await node.table()
    after = await node.made(TABLE, commit([set_properties(k="v")]))
    await node.made(f"{TABLE}/plan", {"filter": True, "unknown": [1]})

    assert json.loads(node.planner.asked[0]) == after["metadata"]


async def test_every_kind_of_planning_is_charged_to_the_caller(node: Node) -> None:
    """Turns are taken by metalake and principal."""
    await node.table()
    await node.made(f"{TABLE}/plan", {}, user="ann")
    await node.get(f"{TABLE}/plan/plan-1", user="bob")
    await node.made(f"{TABLE}/tasks", {"plan-task": "task-1"}, user="eve")
    await node.made(f"{TABLE}/plan", {})

    users = ("ann", "bob", "eve", "anonymous")
    assert node.planner.tenants == [Tenant(METALAKE, user) for user in users]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", f"{TABLE}/plan", {}), ("GET", f"{TABLE}/plan/plan-1", None)],
)
async def test_plans_come_with_credentials_for_those_who_ask(
    world: World, method: str, path: str, body: object
) -> None:
    """As another member of the same answer."""
    node = await far_node(world, STATIC)
    plain = await node.send(method, path, body, catalog="far")
    vended = await node.send(method, path, body, headers=VENDED, catalog="far")
    [credential] = vended.json.pop("storage-credentials")

    assert plain.status == 200
    assert vended.json == plain.json
    assert credential["prefix"].startswith("s3://bucket/warehouse/far/a/t-")


async def test_local_plans_have_no_credentials(node: Node) -> None:
    """Whoever asks."""
    await node.table()
    answer = await node.post(f"{TABLE}/plan", {}, headers=VENDED)

    assert "storage-credentials" not in answer.json


async def test_a_plan_id_is_decoded(node: Node) -> None:
    """It may have characters that paths encode."""
    await node.table()

    assert (await node.delete(f"{TABLE}/plan/plan%2D1")).status == 204
    assert (await node.get(f"{TABLE}/plan/plan%2D1")).status == 200
    unknown = await node.get(f"{TABLE}/plan/a%20b")
    assert unknown.error == (404, "NoSuchPlanIdException", "Plan does not exist: a b")


async def test_long_lopsided_filters_are_planned(node: Node) -> None:
    """Only the worker reads them, which goes deeper than a server; too deep is still too deep."""
    await node.table()
    test = b'{"type":"is-null","term":"id"}'
    statuses = []
    pool = WorkerPool(WORKER)
    try:
        node.lake.planner = Planner(pool, partial(WorkerFiles, LOCAL))
        for levels in (3_000, FILTER_RECURSION_MAX):
            deep = b'{"type":"not","child":' * levels + test + b"}" * levels
            answer = await node.post(f"{TABLE}/plan", b'{"filter":' + deep + b"}")
            statuses.append(answer.status)
    finally:
        await pool.close()

    assert statuses == [200, 400]
    assert answer.error[2] == "The request is nested too deeply"
