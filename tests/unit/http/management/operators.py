"""Operators who look at purge jobs over HTTP, without a port."""

import base64
import json
from typing import Any

from headgate.catalog.lake import Lake
from headgate.catalog.purging import LiveJob
from headgate.errors import HeadgateError
from headgate.http.management.jobs import PATH, JobServices, job_surface
from headgate.http.request import Request
from headgate.http.router import Match, Router
from headgate.purge.inspecting import Inspector
from headgate.purge.steering import Steering
from tests.unit.catalog.dropping import drop
from tests.unit.catalog.lakes import Node
from tests.unit.http.gravitino.control import Believing


class Operator:
    """A client of the jobs."""

    def __init__(self, lake: Lake) -> None:
        self.woken: list[LiveJob] = []
        inspector = Inspector(lake.kernel)
        steering = Steering(lake.kernel, inspector)
        services = JobServices(lake, inspector, steering, self.woken.append)
        self._surface = job_surface(services)._replace(authenticate=Believing().caller)
        self._router = Router([self._surface])

    async def ask(
        self, path: str = "", user: str = "", method: str = "GET", body: object = None
    ) -> tuple[int, Any]:
        """The status and the body of an answer."""
        path, _, query = f"{PATH}{path}".partition("?")
        match = self._router.match(method, path)
        assert isinstance(match, Match), path
        named = {"authorization": f"Basic {base64.b64encode(f'{user}:x'.encode()).decode()}"}
        raw = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path, match.params, query, named if user else {}, raw, id="r-1")
        try:
            await match.authenticate(request)
            answer = await match.route.handler(self._surface.services, request)
        except HeadgateError as error:
            answer = self._surface.dialect.answer(error)
        assert isinstance(answer.body, bytes)
        return answer.status, json.loads(answer.body)

    async def read(self, path: str = "", user: str = "") -> Any:
        status, answer = await self.ask(path, user)
        assert status == 200, answer
        return answer

    async def post(self, path: str, user: str = "", body: object = None) -> tuple[int, Any]:
        return await self.ask(path, user, "POST", body)

    async def refused(self, path: str, user: str = "", body: object = None) -> tuple[int, str, str]:
        """Status, type and message of a refusal."""
        status, answer = await self.post(path, user, body)
        return status, answer["error"]["type"], answer["error"]["message"]


async def dropped(node: Node, name: str = "t", grace_ms: int = 0) -> str:
    """A table that was dropped; the id of its job, as it is shown."""
    await node.table(name)
    return str(await drop(node, name, grace_ms))
