"""Metrics reports of clients about a table, for people and dashboards."""

from typing import Any, NamedTuple

import msgspec

from headgate.access.rules import LOAD_TABLE
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.lake import Lake
from headgate.catalog.reports import Reports
from headgate.errors import CatalogNotFound, NamespaceNotFound, TableNotFound
from headgate.http.problems import PLAIN
from headgate.http.request import Request, Response, json_response
from headgate.http.router import Route, Surface
from headgate.model.names import Identifier
from headgate.model.wire_names import UNIT_SEPARATOR, levels_of, unquote_segment

PATH = (
    "/management/v1/metalakes/{metalake}/catalogs/{catalog}"
    "/namespaces/{namespace}/tables/{table}/reports"
)


class ReportServices(NamedTuple):
    """What the handler works with."""

    lake: Lake
    reports: Reports


class StoredReport(msgspec.Struct, frozen=True, rename="kebab"):
    """One report and how it came."""

    received_ms: int
    principal: str
    report: dict[str, Any]


class ReportList(msgspec.Struct, frozen=True):
    """Reports about a table, newest first."""

    reports: list[StoredReport]


async def list_reports(services: ReportServices, request: Request) -> Response:
    """The reports that are kept about a table."""
    metalake, catalog, table = (
        unquote_segment(request.params[name]) for name in ("metalake", "catalog", "table")
    )
    name = CatalogName(metalake, catalog)
    opened = await services.lake.open(Call(name, request.caller, request=request.id))
    separator = services.lake.options.separator if opened.catalog.nested else UNIT_SEPARATOR
    namespace = levels_of(request.params["namespace"], separator)
    found = await services.reports.list(opened, Identifier(namespace, table))
    reports = [
        StoredReport(one.received_ms, one.principal, msgspec.json.decode(one.report))
        for one in found
    ]
    return json_response(200, ReportList(reports))


ROUTES = (
    Route(
        "GET",
        PATH,
        list_reports,
        "listReports",
        "Metrics reports about a table, newest first",
        ("management",),
        rule=LOAD_TABLE,
        response=ReportList,
        errors=(CatalogNotFound, NamespaceNotFound, TableNotFound),
    ),
)


def report_surface(services: ReportServices) -> Surface:
    """The routes of this surface."""
    return Surface("", ROUTES, services, PLAIN)
