"""Handler for metrics reports."""

from headgate.errors import BadRequest
from headgate.http.iceberg.payloads import Report
from headgate.http.iceberg.service import Service, identifier_of, open_catalog
from headgate.http.request import Request, Response, decode
from headgate.limits import REPORT_BYTES_MAX

KINDS = ("scan-report", "commit-report")


async def report(service: Service, request: Request) -> Response:
    """Take a report of a scan or a commit."""
    body = decode(request, Report)
    if body.report_type not in KINDS:
        raise BadRequest(
            f"Invalid report type: {body.report_type[:80]}",
            why="it is unknown",
            fix=f"Use {' or '.join(KINDS)}",
        )
    if len(request.body) > REPORT_BYTES_MAX:
        raise BadRequest(
            "Invalid report",
            why=f"it has {len(request.body):,} bytes, allowed are {REPORT_BYTES_MAX:,}",
            fix="Send less",
        )
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "table")
    await service.reports.add(opened, identifier, request.body)
    return Response(204)
