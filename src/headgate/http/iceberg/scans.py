"""Handlers for scan planning. Plans are answered at once: not every client can come back later."""

import msgspec

from headgate.catalog.relations import Relation
from headgate.catalog.tables import load_table, table_json
from headgate.http.iceberg.answers import DELEGATION, VENDED, credentials_json
from headgate.http.iceberg.payloads import FetchTasks, PlanScan
from headgate.http.iceberg.service import Service, call_of, identifier_of
from headgate.http.request import JSON_CONTENT, Request, Response, decode
from headgate.model.wire_names import unquote_segment


async def plan(service: Service, request: Request) -> Response:
    """The files that a scan has to read."""
    table, metadata = await _table(service, request)
    decode(request, PlanScan)  # refused here if it is no such request at all
    answer = await service.lake.planner.plan(metadata, request.body, table.opened.allowed_locations)
    return await _with_credentials(service, request, table, answer)


async def fetch_plan(service: Service, request: Request) -> Response:
    """The same again, by the id of the plan."""
    table, metadata = await _table(service, request)
    plan_id = unquote_segment(request.params["plan_id"])
    answer = await service.lake.planner.fetch_plan(
        metadata, plan_id, table.opened.allowed_locations
    )
    return await _with_credentials(service, request, table, answer)


async def cancel_plan(service: Service, request: Request) -> Response:
    """Forget a plan; there is nothing to forget, but it must have been one."""
    await _table(service, request)
    service.lake.planner.check_plan(unquote_segment(request.params["plan_id"]))
    return Response(204)


async def fetch_tasks(service: Service, request: Request) -> Response:
    """The files of one task of a large plan."""
    table, metadata = await _table(service, request)
    task = decode(request, FetchTasks).plan_task
    answer = await service.lake.planner.fetch_tasks(metadata, task, table.opened.allowed_locations)
    return Response(200, answer, [JSON_CONTENT])


async def _table(service: Service, request: Request) -> tuple[Relation, bytes]:
    call = call_of(service, request)
    identifier = await identifier_of(service, call, request, "table")
    table = await load_table(service.lake, call, identifier)
    return table, await table_json(service.lake, table)


async def _with_credentials(
    service: Service, request: Request, table: Relation, answer: bytes
) -> Response:
    if VENDED in request.headers.get(DELEGATION, "").lower():
        found = await service.lake.storage.credentials(table.entity.location, write=False)
        if found:
            encoded = msgspec.json.encode(credentials_json(found))
            answer = answer[:-1] + b',"storage-credentials":' + encoded + b"}"
    return Response(200, answer, [JSON_CONTENT])
