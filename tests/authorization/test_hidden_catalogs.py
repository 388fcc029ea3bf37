"""Who may not know a catalog does not learn that it is there from what is wrong with a request."""

import pytest

from headgate.catalog.principals import USER
from tests.authorization.clerk import Clerk
from tests.authorization.guarded import GuardedNode
from tests.unit.catalog.lakes import CATALOG, METALAKE

ICEBERG, GRAVITINO = f"/iceberg/v1/{METALAKE}.{{}}", f"/api/metalakes/{METALAKE}/catalogs/{{}}"
IN_A, IN_SCHEMA = f"{ICEBERG}/namespaces/a", f"{GRAVITINO}/schemas/a"
BROKEN, UNKNOWN = b"{", {"x": 1}
TWO = [{"identifier": {"namespace": ["a"], "name": "t"}, "requirements": [], "updates": []}] * 2
LONG = [f"level{n}" for n in range(100)]
COLUMN = {"name": "id", "type": "no type"}
REQUESTS: list[tuple[str, str, object]] = [
    *(
        (method, path, body)
        for body in (BROKEN, UNKNOWN)
        for method, path in (
            ("POST", f"{ICEBERG}/namespaces"),
            ("POST", f"{IN_A}/properties"),
            ("POST", f"{IN_A}/tables"),
            ("POST", f"{IN_A}/register"),
            ("POST", f"{IN_A}/tables/t"),
            ("POST", f"{IN_A}/tables/t/metrics"),
            ("POST", f"{ICEBERG}/tables/rename"),
            ("POST", f"{ICEBERG}/transactions/commit"),
            ("POST", f"{IN_A}/views"),
            ("POST", f"{IN_A}/views/v"),
            ("POST", f"{ICEBERG}/views/rename"),
            ("POST", f"{GRAVITINO}/schemas"),
            ("PUT", IN_SCHEMA),
            ("POST", f"{IN_SCHEMA}/tables"),
            ("PUT", f"{IN_SCHEMA}/tables/t"),
            ("POST", f"{IN_SCHEMA}/views"),
            ("PUT", f"{IN_SCHEMA}/views/v"),
        )
    ),
    ("POST", f"{ICEBERG}/namespaces", {"namespace": []}),
    ("POST", f"{ICEBERG}/namespaces", {"namespace": ["\x01"]}),
    ("POST", f"{ICEBERG}/namespaces", {"namespace": LONG}),
    ("POST", f"{IN_A}/properties", {"removals": ["x"], "updates": {"x": "1"}}),
    ("POST", f"{IN_A}/tables/t", {"requirements": [{"type": "x"}], "updates": []}),
    ("POST", f"{IN_A}/tables/t", {"requirements": [], "updates": [{"action": "x"}]}),
    ("POST", f"{IN_A}/tables/t", TWO[0] | {"identifier": {"namespace": ["b"], "name": "t"}}),
    ("POST", f"{ICEBERG}/transactions/commit", {"table-changes": []}),
    ("POST", f"{ICEBERG}/transactions/commit", {"table-changes": TWO}),
    ("GET", f"{ICEBERG}/namespaces?pageSize=x", None),
    ("GET", f"{ICEBERG}/namespaces?parent=%ff", None),
    ("GET", f"{IN_A}/tables?pageSize=0", None),
    ("GET", f"{IN_A}/tables/t?snapshots=x", None),
    ("GET", f"{IN_A}/tables/%ff", None),
    ("GET", f"{ICEBERG}/namespaces/%ff", None),
    ("DELETE", f"{IN_A}?cascade=true", None),
    ("GET", f"{GRAVITINO}/schemas?parentSchema=%ff", None),
    ("GET", f"{GRAVITINO}/schemas?parentSchema=a::b", None),
    ("GET", f"{GRAVITINO}/schemas/%ff", None),
    ("POST", f"{GRAVITINO}/schemas", {"name": ""}),
    ("POST", f"{IN_SCHEMA}/tables", {"name": "\x01", "columns": []}),
    ("POST", f"{IN_SCHEMA}/tables", {"name": "t", "columns": [COLUMN]}),
    ("GET", f"{IN_SCHEMA}/tables/t?privileges=x", None),
    ("DELETE", f"{IN_SCHEMA}?cascade=true", None),
]


async def test_a_wrong_request_is_answered_as_if_there_were_no_such_catalog(
    node: GuardedNode,
) -> None:
    """With the same status, whatever is wrong with it."""
    clerk = Clerk(node)
    await clerk.create_schema("a")
    await clerk.add(USER, "ann")

    for method, path, body in REQUESTS:
        there, missing = [
            await node.ask(method, path.format(catalog), body, user="ann")
            for catalog in (CATALOG, "missing")
        ]
        assert there.status == missing.status, (method, path, body, there, missing)
        assert there.status in {400, 403, 405}, (method, path, body, there)


@pytest.mark.parametrize("path", [f"{IN_A}/tables", f"{IN_SCHEMA}/tables"])
async def test_who_may_know_it_is_told_what_is_wrong(node: GuardedNode, path: str) -> None:
    """As before."""
    await Clerk(node).create_schema("a")

    assert (await node.ask("POST", path.format(CATALOG), BROKEN)).status == 400
