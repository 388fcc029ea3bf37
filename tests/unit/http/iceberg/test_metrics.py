"""Metrics reports: taken as they are."""

import json

import pytest

from headgate.limits import REPORT_BYTES_MAX
from headgate.model.names import Identifier
from tests.unit.catalog.lakes import Node

PATH = "namespaces/a/tables/t/metrics"


@pytest.mark.parametrize("kind", ["scan-report", "commit-report"])
async def test_a_report_is_kept_with_all_its_members(node: Node, kind: str) -> None:
    """Also those we do not know."""
    await node.table()
    body = {"report-type": kind, "table-name": "t", "metrics": {"x": {"unit": "count"}}, "new": 1}
    answer = await node.post(PATH, body)
    [stored] = await node.reports.list(await node.opened(), Identifier(("a",), "t"))

    assert (answer.status, answer.json) == (204, None)
    assert json.loads(stored.report) == body


async def test_a_report_has_its_limit(node: Node) -> None:
    """Just as long as allowed is good, one byte more is not."""
    await node.table()
    empty = len(json.dumps({"report-type": "scan-report", "x": ""}))
    for more, status in [(0, 204), (1, 400)]:
        body = {"report-type": "scan-report", "x": "x" * (REPORT_BYTES_MAX - empty + more)}
        assert (await node.post(PATH, body)).status == status
