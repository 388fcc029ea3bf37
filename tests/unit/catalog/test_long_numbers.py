"""Numbers of very many digits in requests: refused as bad, never a failure of the server."""

from typing import Any

import pytest

from tests.unit.catalog.lakes import SCHEMA, Node, commit, new_table

LONG = "9" * 5_000
ZEROS = "0" * 5_000


def column(type: object) -> dict[str, Any]:
    return {"id": 1, "name": "id", "required": False, "type": type}


def schema(type: object) -> dict[str, Any]:
    return {"type": "struct", "fields": [column(type)]}


def partitioned(transform: str) -> dict[str, Any]:
    return {"fields": [{"source-id": 1, "name": "p", "transform": transform}]}


def sorted_by(transform: str) -> dict[str, Any]:
    key = {"source-id": 1, "transform": transform, "direction": "asc", "null-order": "nulls-last"}
    return {"order-id": 1, "fields": [key]}


@pytest.mark.parametrize(
    "type",
    [f"decimal({LONG},0)", f"decimal(9,{LONG})", f"fixed[{LONG}]", f"decimal({LONG},{LONG})"],
)
async def test_a_type_with_a_number_of_5000_digits_is_a_bad_request(node: Node, type: str) -> None:
    """At the top and inside of other types; the message is short."""
    inside = {"type": "list", "element-id": 2, "element": type, "element-required": False}
    for given in (type, inside):
        answer = await node.post("namespaces/a/tables", new_table("u", schema=schema(given)))
        assert answer.error[:2] == (400, "ValidationException")
        assert len(answer.error[2]) < 300


@pytest.mark.parametrize("kind", ["bucket", "truncate"])
@pytest.mark.parametrize("digits", [LONG, ZEROS, "0", str(2**31)])
async def test_a_transform_with_an_impossible_width_is_a_bad_request(
    node: Node, kind: str, digits: str
) -> None:
    """In a partition spec and in a sort order, of a new table and of one that is there."""
    transform = f"{kind}[{digits}]"
    new = [{"partition-spec": partitioned(transform)}, {"write-order": sorted_by(transform)}]
    await node.table()
    added = [
        {"action": "add-spec", "spec": partitioned(transform)},
        {"action": "add-sort-order", "sort-order": sorted_by(transform)},
    ]
    for more in new:
        answer = await node.post("namespaces/a/tables", new_table("u", schema=SCHEMA, **more))
        assert answer.error[:2] == (400, "ValidationException")
        assert len(answer.error[2]) < 300
    for update in added:
        answer = await node.post("namespaces/a/tables/t", commit([update]))
        assert answer.error[:2] == (400, "ValidationException")
        assert len(answer.error[2]) < 300


async def test_properties_page_sizes_and_ids_of_5000_digits_are_bad_requests(node: Node) -> None:
    """Wherever a request carries a number as text, or as JSON."""
    await node.table()
    update = {"action": "set-properties", "updates": {"write.metadata.previous-versions-max": LONG}}
    assert (await node.post("namespaces/a/tables/t", commit([update]))).status == 400
    assert (await node.get(f"namespaces/a/tables?pageSize={LONG}")).status == 400
    body = f'{{"name":"u","schema":{{"type":"struct","schema-id":{LONG},"fields":[]}}}}'
    assert (await node.send("POST", "namespaces/a/tables", body.encode())).status == 400
