"""Sweeps as they are served: what goes on, what was, another one, and who may ask."""

import asyncio
import base64
import json
from typing import Any

import pytest

from headgate.catalog.guards import GuardOptions
from headgate.errors import HeadgateError
from headgate.http.management.maintenance import PATH, MaintenanceServices, maintenance_surface
from headgate.http.request import Request
from headgate.http.router import Match, Router
from headgate.http.sweep_measures import sweep_samples
from headgate.kernel.realms import RealmState
from headgate.maintenance.service import Maintenance, Terms
from tests.unit.catalog.lakes import METALAKE, Node, World
from tests.unit.http.gravitino.control import ADMIN, Believing


class Client:
    """An operator who asks over HTTP, without a port."""

    def __init__(self, node: Node) -> None:
        self.maintenance = Maintenance(node.kernel, Terms(), "host:1")
        surface = maintenance_surface(MaintenanceServices(node.lake, self.maintenance))
        self._surface = surface._replace(authenticate=Believing().caller)
        self._router = Router([self._surface])

    async def ask(
        self, method: str, path: str = "", body: object = None, user: str = ADMIN
    ) -> tuple[int, Any]:
        """The status and the body of an answer."""
        match = self._router.match(method, f"{PATH}{path}")
        assert isinstance(match, Match), path
        named = {"authorization": f"Basic {base64.b64encode(f'{user}:'.encode()).decode()}"}
        raw = b"" if body is None else json.dumps(body).encode()
        request = Request(method, f"{PATH}{path}", match.params, "", named, raw, id="r-1")
        try:
            await match.authenticate(request)
            answer = await match.route.handler(self._surface.services, request)
        except HeadgateError as error:
            answer = self._surface.dialect.answer(error)
        assert isinstance(answer.body, bytes)
        return answer.status, json.loads(answer.body)

    async def done(self, runs: int = 1) -> None:
        """Wait until so many runs have ended."""
        async with asyncio.timeout(10):
            while self.maintenance.totals.runs < runs:
                await asyncio.sleep(0)


@pytest.fixture
async def guarded(world: World, node: Node) -> Client:
    """Of a server that checks rights."""
    return Client(await world.node(guard=GuardOptions(is_on=True, admins=frozenset({ADMIN}))))


async def test_a_run_is_begun_looked_at_and_remembered(guarded: Client) -> None:
    """The answer comes at once; ids are text, and what there is not is null."""
    assert await guarded.ask("GET") == (200, {"running": None, "holder": "", "last": None})
    status, begun = await guarded.ask("POST", "/runs")
    assert (status, begun["state"], begun["by"]) == (202, "RUNNING", ADMIN)
    _, now = await guarded.ask("GET")
    assert (now["running"]["id"], now["holder"]) == (begun["id"], "host:1")
    await guarded.done()

    _, listed = await guarded.ask("GET", "/runs")
    [run] = listed["runs"]
    assert run == {
        "id": begun["id"],
        "state": "DONE",
        "by": ADMIN,
        "engine": "process",
        "started-ms": begun["started-ms"],
        "ended-ms": run["ended-ms"],
        "grace-ms": 10_800_000,
        "dry-run": False,
        "phase": "",
        "counts": run["counts"],
        "failures": [],
    }
    assert run["counts"]["realms"] == 2
    assert run["counts"]["young"] == run["counts"]["scanned"] > 0
    assert (await guarded.ask("GET"))[1]["last"] == run
    assert sweep_samples(guarded.maintenance.totals)["headgate_sweep_runs_total"] == 1


async def test_what_is_to_be_done_can_be_said(guarded: Client, node: Node) -> None:
    """Which metalakes, and that nothing is to be deleted."""
    _, begun = await guarded.ask("POST", "/runs", {"sweep": [METALAKE], "dry-run": True})
    assert begun["dry-run"]
    await guarded.done()
    gone = await node.kernel.realms.reserve("gone")
    await node.kernel.realms.move(gone.id, RealmState.PURGING)
    await guarded.ask("POST", "/runs", {"purge": ["gone"]})
    await guarded.done(2)

    assert (await node.kernel.realms.get("gone")).state is RealmState.PURGED


async def test_a_run_beside_another_is_refused(guarded: Client, world: World) -> None:
    """With who does it, as soon as that gives a sign of life."""
    await guarded.ask("POST", "/runs")
    world.rig.clock.short_seconds = 100.0  # waits take no time, nor do heartbeats
    status, answer = await guarded.ask("POST", "/runs")

    assert status == 409
    assert "A sweep is under way already" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"sweep": ["nowhere"]}, 404, "nowhere"),
        ({"sweep": [METALAKE], "purge": [METALAKE]}, 400, "it is named for both"),
        ({"sweeps": []}, 400, "unknown field"),
        ({"dry-run": "yes"}, 400, "Expected `bool`"),
    ],
)
async def test_what_cannot_be_done_is_refused(
    guarded: Client, body: object, status: int, said: str
) -> None:
    """With what is wrong; nothing is begun."""
    answered, answer = await guarded.ask("POST", "/runs", body)

    assert answered == status
    assert said in answer["error"]["message"]
    assert (await guarded.ask("GET", "/runs"))[1] == {"runs": []}


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/runs"), ("POST", "/runs")])
async def test_only_service_admins_may(guarded: Client, method: str, path: str) -> None:
    """Sweeps are of the whole store, and tell of all metalakes."""
    status, _ = await guarded.ask(method, path, user="ann")

    assert status == 403
