"""Handlers for scan planning. Plans are answered at once: not every client can come back later."""

import msgspec

from headgate.catalog.entities import Kind
from headgate.catalog.ports import StorageCredential
from headgate.catalog.relations import Relation, load_relation
from headgate.catalog.tables import metadata_json
from headgate.http.iceberg.delegation import (
    credential_headers,
    credentials_for,
    credentials_json,
    locations_in,
    representation_of,
)
from headgate.http.iceberg.payloads import FetchTasks
from headgate.http.iceberg.service import Service, identifier_of, open_catalog
from headgate.http.request import JSON_CONTENT, Request, Response, decode
from headgate.model.wire_names import unquote_segment


async def plan(service: Service, request: Request) -> Response:
    """The files that a scan has to read. Its filter may be nested too deeply to be read here."""
    table, metadata = await _table(service, request)
    answer = await service.lake.planner.plan(
        metadata, request.body, _roots(table), table.opened.call.tenant
    )
    return await _with_credentials(service, request, table, answer)


async def fetch_plan(service: Service, request: Request) -> Response:
    """The same again, by the id of the plan."""
    table, metadata = await _table(service, request)
    plan_id = unquote_segment(request.params["plan_id"])
    answer = await service.lake.planner.fetch_plan(
        metadata, plan_id, _roots(table), table.opened.call.tenant
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
    answer = await service.lake.planner.fetch_tasks(
        metadata, task, _roots(table), table.opened.call.tenant
    )
    return Response(200, answer, [JSON_CONTENT])


def _roots(table: Relation) -> tuple[str, ...]:
    """Where a plan may read. Metadata can be made to name any file, also those of other tables:
    where rights are checked, nobody is told more than credentials for the table would let it read.
    """
    opened = table.opened
    return table.entity.reserved if opened.access.is_checked else opened.allowed_locations


async def _table(service: Service, request: Request) -> tuple[Relation, bytes]:
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "table")
    table = await load_relation(service.lake, opened, identifier, Kind.TABLE)
    return table, await metadata_json(service.lake, table)


async def _with_credentials(
    service: Service, request: Request, table: Relation, answer: bytes
) -> Response:
    found: list[StorageCredential] = []
    if representation_of(request).vended:
        found = await credentials_for(service, locations_in(table.entity), write=False)
    if found:
        encoded = msgspec.json.encode(credentials_json(found))
        answer = answer[:-1] + b',"storage-credentials":' + encoded + b"}"
    return Response(200, answer, [JSON_CONTENT, *credential_headers(found)])
