"""Rights in nested schemas: what is given above holds below, and parents come with an owner."""

from urllib.parse import quote

import pytest

from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege as Right
from headgate.catalog.principals import USER
from tests.authorization.clerk import Clerk
from tests.authorization.guarded import GuardedNode, GuardedWorld
from tests.unit.catalog.lakes import CATALOG

A, B, C = (CATALOG, "A"), (CATALOG, "A", "B"), (CATALOG, "A", "B", "C")
CHAIN = [(), (CATALOG,), A, B, C]
OWNERS = "/api/metalakes/default/owners/schema"
SCHEMAS = "/api/metalakes/default/catalogs/main/schemas"


@pytest.fixture
async def clerk(node: GuardedNode) -> Clerk:
    """Schemas A, A:B, A:B:C and A:X, a table in A:B:C; Ann may use the catalog."""
    clerk = Clerk(node)
    for levels in (("A",), ("A", "B"), ("A", "B", "C"), ("A", "X")):
        await clerk.create_schema(*levels)
    await clerk.create(T.TABLE, "A", "B", "C", "t")
    await clerk.add(USER, "ann")
    await clerk.create_role("r")
    await clerk.assign(USER, "ann", "r")
    await clerk.grant("r", (CATALOG,), Right.USE_CATALOG)
    return clerk


async def status(clerk: Clerk, method: str, path: str, body: object = None) -> int:
    return (await clerk.node.ask(method, path, body, user="ann")).status


async def owner(clerk: Clerk, schema: str) -> str | None:
    """Who owns a schema."""
    answer = await clerk.node.must("GET", f"{OWNERS}/main.{schema}")
    return answer["owner"]["name"] if answer.get("owner") else None


@pytest.mark.parametrize("scope", CHAIN, ids=":".join)
async def test_one_scope_of_the_chain_is_enough_to_use_a_schema(
    clerk: Clerk, scope: tuple[str, ...]
) -> None:
    """Whichever it is: it is not needed on every level, and does not reach what is beside it."""
    assert await status(clerk, "GET", "namespaces/A:B:C") == 403
    await clerk.grant("r", scope, Right.USE_SCHEMA)
    assert await status(clerk, "GET", "namespaces/A:B:C") == 200
    is_above_both = len(scope) <= len(A)
    assert await status(clerk, "GET", "namespaces/A:X") == (200 if is_above_both else 403)


@pytest.mark.parametrize("denied", CHAIN, ids=":".join)
@pytest.mark.parametrize("allowed", CHAIN, ids=":".join)
async def test_a_denial_anywhere_on_the_chain_wins(
    clerk: Clerk, allowed: tuple[str, ...], denied: tuple[str, ...]
) -> None:
    """Above what is allowed or below it, and by another role."""
    await clerk.grant("r", allowed, Right.USE_SCHEMA)
    await clerk.create_role("no")
    await clerk.assign(USER, "ann", "no")
    await clerk.grant("no", denied, Right.USE_SCHEMA, deny=True)
    assert await status(clerk, "GET", "namespaces/A:B:C") == 403
    is_above_denied = len(allowed) <= len(A) and len(denied) > len(A)
    assert await status(clerk, "GET", "namespaces/A:X") == (200 if is_above_denied else 403)


async def test_rights_on_a_parent_reach_tables_below_it(clerk: Clerk) -> None:
    """Those to read, and those to change."""
    await clerk.grant("r", A, Right.USE_SCHEMA)
    assert await status(clerk, "GET", "namespaces/A:B:C/tables/t") == 403
    await clerk.grant("r", A, Right.SELECT_TABLE)
    assert await status(clerk, "GET", "namespaces/A:B:C/tables/t") == 200
    assert await status(clerk, "POST", "namespaces/A:B:C/tables/t", {"updates": []}) == 403
    await clerk.grant("r", B, Right.MODIFY_TABLE)
    assert await status(clerk, "POST", "namespaces/A:B:C/tables/t", {"updates": []}) == 200


async def test_a_refusal_names_the_object_as_grants_do_and_what_would_be_enough(
    clerk: Clerk,
) -> None:
    """In the same words whether it is there or not, on both protocols."""
    needed = (
        "it needs USE_CATALOG, USE_SCHEMA and SELECT_TABLE, or to own it with USE_CATALOG and "
        "USE_SCHEMA. See docs/reference/rights.md"
    )
    for name in ("t", "missing"):
        refused = [
            (await clerk.node.ask("GET", path, user="ann")).json
            for path in (f"namespaces/A:B:C/tables/{name}", f"{SCHEMAS}/A:B:C/tables/{name}")
        ]
        words = (
            "User 'ann' is not authorized to perform operation 'loadTable' "
            f"on metadata 'main.A:B:C.{name}': {needed}"
        )
        assert [refused[0]["error"]["message"], refused[1]["message"]] == [words, words]


@pytest.mark.parametrize("catalog", ["main", "none"])
@pytest.mark.parametrize("below", ["", "/A:B", "/A:B/tables/t", "/A/tables"])
async def test_a_refusal_does_not_tell_whether_there_is_a_catalog(
    clerk: Clerk, catalog: str, below: str
) -> None:
    """Whatever is asked for in it."""
    await clerk.add(USER, "eve")
    path = f"/api/metalakes/default/catalogs/{catalog}/schemas{below}"
    refused = await clerk.node.ask("GET", path, user="eve")

    assert refused.json["message"] == (
        "User 'eve' is not authorized to perform operation 'loadCatalog' on metadata "
        f"'{catalog}': it needs USE_CATALOG, or to own it. See docs/reference/rights.md"
    )


@pytest.mark.parametrize("name", ["main.A:B", "main.A:none", "none.A:B", "main\x1fA\x1fB"])
async def test_a_refusal_repeats_a_full_name_as_it_was_sent(clerk: Clerk, name: str) -> None:
    """So that it does not tell which catalogs and schemas there are."""
    new_owner = {"name": "ann", "type": "USER"}
    refused = await clerk.node.ask("PUT", f"{OWNERS}/{quote(name)}", new_owner, user="ann")

    assert (refused.status, f"on metadata '{name}': it needs" in refused.json["message"]) == (
        403,
        True,
    )


async def test_lists_show_the_children_that_the_caller_may_see(clerk: Clerk) -> None:
    """Of each level only those, in both protocols."""
    await clerk.grant("r", B, Right.USE_SCHEMA)

    async def listed(parent: str) -> tuple[list[str], list[str]]:
        iceberg = await clerk.node.ask("GET", f"namespaces?parent={parent}", user="ann")
        gravitino = await clerk.node.ask("GET", f"{SCHEMAS}?parentSchema={parent}", user="ann")
        return (
            [":".join(levels) for levels in iceberg.json["namespaces"]],
            [one["name"] for one in gravitino.json["identifiers"]],
        )

    assert await listed("A") == (["A:B"], ["A:B"])
    assert await listed("A:B") == (["A:B:C"], ["A:B:C"])


async def test_lists_show_what_leads_to_something_that_the_caller_may_see(clerk: Clerk) -> None:
    """Level by level from the top, and nothing beside it; a denial below takes it away."""

    async def listed(parent: str) -> list[list[str]] | int:
        query = f"?parent={parent}" if parent else ""
        answer = await clerk.node.ask("GET", f"namespaces{query}", user="ann")
        return answer.json["namespaces"] if answer.status == 200 else answer.status

    assert [await listed(one) for one in ("", "A", "A:B")] == [[], 404, 404]
    await clerk.grant("r", C, Right.USE_SCHEMA)
    assert await listed("") == [["A"]]
    assert await listed("A") == [["A", "B"]]
    assert await listed("A:B") == [["A", "B", "C"]]
    assert await status(clerk, "GET", "namespaces/A") == 403
    assert await listed("A:X") == 404
    await clerk.create_role("no")
    await clerk.assign(USER, "ann", "no")
    await clerk.grant("no", B, Right.USE_SCHEMA, deny=True)
    assert [await listed(one) for one in ("", "A", "A:B")] == [[], 404, 404]


@pytest.mark.parametrize("scope", [(), (CATALOG,), A, B], ids=":".join)
async def test_missing_parents_are_created_with_the_same_owner(
    clerk: Clerk, scope: tuple[str, ...]
) -> None:
    """By whoever may create schemas in the last parent that is there; that one's owner stays."""
    await clerk.grant("r", scope, Right.CREATE_SCHEMA)
    levels = ["A", "B", "new", "deep", "deeper"]
    assert await status(clerk, "POST", "namespaces", {"namespace": levels}) == 200
    for depth in (3, 4, 5):
        assert await owner(clerk, ":".join(levels[:depth])) == "ann"
    assert await owner(clerk, "A:B") is None
    assert await status(clerk, "GET", "namespaces/A:B:new:deep:deeper") == 200


async def test_parents_are_created_with_the_same_owner_through_gravitino(clerk: Clerk) -> None:
    """The same objects with the same owners."""
    await clerk.grant("r", (), Right.CREATE_SCHEMA)
    assert await status(clerk, "POST", SCHEMAS, {"name": "N:M:O"}) == 200
    assert [await owner(clerk, name) for name in ("N", "N:M", "N:M:O")] == ["ann"] * 3


@pytest.mark.parametrize("protocol", ["iceberg", "gravitino"])
async def test_without_the_right_to_create_a_parent_nothing_is_created(
    world: GuardedWorld, clerk: Clerk, protocol: str
) -> None:
    """A right beside it, or below where the parent would be, is of no use; nothing is left."""
    await clerk.grant("r", (), Right.USE_SCHEMA)
    await clerk.grant("r", (CATALOG, "A", "X"), Right.CREATE_SCHEMA)
    await clerk.grant("r", C, Right.CREATE_SCHEMA)
    before = await world.state()
    for levels in (["A", "B", "new"], ["A", "B", "new", "deep"], ["N"], ["N", "M", "O"]):
        if protocol == "iceberg":
            refused = await status(clerk, "POST", "namespaces", {"namespace": levels})
        else:
            refused = await status(clerk, "POST", SCHEMAS, {"name": ":".join(levels)})
        assert refused == 403, levels
    assert await world.state() == before
    assert await status(clerk, "POST", "namespaces", {"namespace": ["A", "B", "C", "D"]}) == 200


async def test_a_denial_at_the_last_parent_keeps_missing_ones_from_being_created(
    world: GuardedWorld, clerk: Clerk
) -> None:
    """However much is allowed above it."""
    await clerk.grant("r", (), Right.CREATE_SCHEMA)
    await clerk.create_role("no")
    await clerk.assign(USER, "ann", "no")
    await clerk.grant("no", B, Right.CREATE_SCHEMA, deny=True)
    before = await world.state()
    assert await status(clerk, "POST", "namespaces", {"namespace": ["A", "B", "N", "M"]}) == 403
    assert await world.state() == before
    assert await status(clerk, "POST", "namespaces", {"namespace": ["A", "X", "N", "M"]}) == 200


async def test_who_owns_a_parent_owns_all_below_it(clerk: Clerk) -> None:
    """It creates, changes and drops there, without any right but to use the catalog."""
    await clerk.own(A, USER, "ann")
    assert await status(clerk, "POST", "namespaces", {"namespace": ["A", "B", "N"]}) == 200
    assert await status(clerk, "DELETE", "namespaces/A:B:N") == 204
    assert await status(clerk, "DELETE", "namespaces/A:B:C/tables/t") == 204
    assert await status(clerk, "DELETE", "namespaces/A:B:C") == 204
    await clerk.revoke("r", (CATALOG,), Right.USE_CATALOG)
    assert await status(clerk, "DELETE", "namespaces/A:X") == 403
