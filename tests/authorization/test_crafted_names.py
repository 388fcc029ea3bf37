"""Names that look like others, or like more than one: each right is on one object only."""

from collections.abc import Sequence
from urllib.parse import quote

import pytest

from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege as Right
from headgate.catalog.principals import USER
from tests.authorization.clerk import Clerk
from tests.authorization.guarded import ADMIN, GuardedNode
from tests.unit.catalog.lakes import new_table

LAKE = "/api/metalakes/default"
UNIT = "\x1f"
SCHEMAS: tuple[tuple[str, ...], ...] = (
    ("a",),
    ("a", "b"),
    ("a.b",),
    ("a", "b.c"),
    ("a.b", "c"),
    ("a.b.c",),
    ("a%2Eb",),
    ("a%1Fb",),
    ("A",),
    ("*",),
    ("\u00e9",),
    ("e\u0301",),
)
TABLES = ("t", "b.t", "*", "%", "%2A", "T", "t ", "a.b.t", "..t", "'", '"', "\u0131", "t\u200b")
ANY_CATALOG = {"type": "relational", "provider": "lakehouse-iceberg"}
REFUSED = ("", ".", "..", "t\x00", "\x00", "a\x1fb", "a\nb", "t\x7f")


def wire(text: str) -> str:
    """A name in a path."""
    return quote(text, safe="")


def table_url(schema: Sequence[str], table: str) -> str:
    return f"namespaces/{wire(UNIT.join(schema))}/tables/{wire(table)}"


@pytest.fixture
async def tables(node: GuardedNode) -> list[tuple[tuple[str, ...], str]]:
    """Tables whose names are easily taken for those of others."""
    made = []
    for schema in SCHEMAS:
        await node.must("POST", "namespaces", {"namespace": schema})
        for table in TABLES:
            await node.must(
                "POST", f"namespaces/{wire(UNIT.join(schema))}/tables", new_table(table)
            )
            made.append((schema, table))
    return made


async def readable(
    node: GuardedNode, tables: Sequence[tuple[tuple[str, ...], str]], user: str
) -> list[tuple[tuple[str, ...], str]]:
    """The tables that a user may load."""
    return [
        one for one in tables if (await node.ask("GET", table_url(*one), user=user)).status == 200
    ]


async def test_a_right_on_a_table_is_on_no_other(
    node: GuardedNode, tables: list[tuple[tuple[str, ...], str]]
) -> None:
    """Whatever its name and that of its schema look like; and so it is shown."""
    clerk = Clerk(node)
    await clerk.create_role("uses")
    await clerk.grant("uses", (), Right.USE_CATALOG | Right.USE_SCHEMA)
    for number, (schema, table) in enumerate(tables[:: max(1, len(tables) // 40)]):
        user, role = f"user{number}", f"role{number}"
        name = UNIT.join(("main", *schema, table))
        right = {"name": "select_table", "condition": "allow"}
        on = {"fullName": name, "type": "TABLE", "privileges": [right]}
        made = await node.must("POST", f"{LAKE}/roles", {"name": role, "securableObjects": [on]})
        await clerk.add(USER, user)
        roles = {"roleNames": [role, "uses"]}
        await node.must("PUT", f"{LAKE}/permissions/users/{user}/grant", roles)
        assert await readable(node, tables, user) == [(schema, table)]
        [shown] = made["role"]["securableObjects"]
        again = {
            "name": f"{role}again",
            "securableObjects": [{**on, "fullName": shown["fullName"]}],
        }
        assert (await node.must("POST", f"{LAKE}/roles", again))["role"]["securableObjects"] == [
            shown
        ]


async def test_a_right_on_a_schema_reaches_what_is_in_it_and_nothing_else(
    node: GuardedNode, tables: list[tuple[tuple[str, ...], str]]
) -> None:
    """Also where its name is the beginning of another one's, or the same but for its case."""
    clerk = Clerk(node)
    await clerk.create_role("uses")
    await clerk.grant("uses", (), Right.USE_CATALOG)
    rights = [{"name": name, "condition": "allow"} for name in ("use_schema", "select_table")]
    for number, schema in enumerate(SCHEMAS):
        user, role = f"user{number}", f"role{number}"
        await clerk.add(USER, user)
        on = {"fullName": UNIT.join(("main", *schema)), "type": "SCHEMA", "privileges": rights}
        await node.must("POST", f"{LAKE}/roles", {"name": role, "securableObjects": [on]})
        roles = {"roleNames": [role, "uses"]}
        await node.must("PUT", f"{LAKE}/permissions/users/{user}/grant", roles)
        expected = [one for one in tables if one[0][: len(schema)] == schema]
        assert await readable(node, tables, user) == expected, schema


async def test_names_with_control_characters_are_refused(node: GuardedNode) -> None:
    """They are nobody's: so nothing can be hidden behind them."""
    clerk = Clerk(node)
    await clerk.create_schema("a")
    await node.must("POST", f"{LAKE}/catalogs", {**ANY_CATALOG, "name": "good"}, user=ADMIN)
    for name in REFUSED:
        for path, body in (
            ("namespaces/a/tables", new_table(name)),
            ("namespaces", {"namespace": ["a", name]}),
            (f"{LAKE}/users", {"name": name}),
            (f"{LAKE}/groups", {"name": name}),
            (f"{LAKE}/roles", {"name": name, "securableObjects": []}),
            ("/api/metalakes", {"name": name}),
            (f"{LAKE}/catalogs", {**ANY_CATALOG, "name": name}),
        ):
            heard = await node.ask("POST", path, body, user=ADMIN)
            assert heard.status == 400, (path, name, heard)


async def test_no_path_leads_from_one_metalake_into_another(node: GuardedNode) -> None:
    """Whoever owns one metalake is nobody in the other, however it writes its name."""
    await node.must("POST", "/api/metalakes", {"name": "other"}, user=ADMIN)
    clerk = Clerk(node)
    await clerk.create_schema("a")
    await clerk.create(T.TABLE, "a", "t")
    await node.must("POST", "/api/metalakes/other/users", {"name": "mallory"}, user=ADMIN)
    me = {"name": "mallory", "type": "USER"}
    await node.must("PUT", "/api/metalakes/other/owners/metalake/other", me, user=ADMIN)
    assert (await node.ask("GET", "/api/metalakes/other", user="mallory")).status == 200
    for prefix in (
        "default.main",
        "main",
        "default%2Emain",
        "other.default.main",
        "other%1Fdefault.main",
        "default.main%00",
        "%00default.main",
        ".main",
        "..main",
        "other%2F..%2Fdefault.main",
        "*.main",
        "%25.main",
        "d\u0435fault.main".encode().decode("latin-1"),
    ):
        path = f"/iceberg/v1/{prefix}/namespaces/a/tables/t"
        heard = await node.ask("GET", path, user="mallory")
        assert heard.status in {400, 403}, (prefix, heard)
    for name in (
        "default",
        "defaul%74",
        "default%00",
        "other%2F..%2Fdefault",
        "other.default",
        "*",
    ):
        heard = await node.ask("GET", f"/api/metalakes/{name}", user="mallory")
        assert heard.status in {400, 403}, (name, heard)
        heard = await node.ask("GET", f"/api/metalakes/{name}/catalogs/main", user="mallory")
        assert heard.status in {400, 403}, (name, heard)
    for kind, name in (
        ("metalake", "default"),
        ("catalog", "default.main"),
        ("catalog", "main"),
        ("schema", "main.a"),
        ("table", "main.a.t"),
        ("table", "..default.main.a.t"),
    ):
        path = f"/api/metalakes/other/owners/{kind}/{name}"
        heard = await node.ask("PUT", path, me, user="mallory")
        assert heard.status in {400, 404}, (kind, name, heard)


async def test_users_and_roles_are_who_they_are_called_to_the_letter(node: GuardedNode) -> None:
    """Neither case nor spaces nor wildcards make somebody another one."""
    clerk = Clerk(node)
    await clerk.create_schema("a")
    await clerk.add(USER, "ann")
    await clerk.create_role("r")
    await clerk.assign(USER, "ann", "r")
    await clerk.grant("r", (), Right.USE_CATALOG | Right.USE_SCHEMA)
    assert (await node.ask("GET", "namespaces/a", user="ann")).status == 200
    for user in ("Ann", "ann ", " ann", "a%", "*", "ann\u200b", "", "ANN", "\u0430nn"):
        assert (await node.ask("GET", "namespaces/a", user=user)).status == 403, user
    for roles in ("R", "*", "r ", "%"):
        chosen = {"x-gravitino-active-roles": roles}
        heard = await node.ask("GET", "namespaces/a", user="ann", headers=chosen)
        assert heard.status == 403, roles
