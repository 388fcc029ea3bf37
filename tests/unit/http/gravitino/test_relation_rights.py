"""Who may do what with tables and views in Gravitino's protocol."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headgate.catalog.entities import Kind
from headgate.catalog.relations import find_relation
from headgate.model.names import Identifier
from tests.unit.catalog.guarded import OWNER, Guarded, give_owner, rights
from tests.unit.catalog.lakes import World, basic, call
from tests.unit.http.gravitino.control import Answer, Control

SCHEMA = "default/catalogs/main/schemas/a"
COLUMN = {"name": "id", "type": "long"}
TABLE = {"name": "t", "columns": [COLUMN]}
VIEW = {"name": "v", "representations": [{"type": "sql", "dialect": "spark", "sql": "SELECT 1"}]}
SET = {"updates": [{"@type": "setProperty", "property": "x", "value": "1"}]}
RENAME = {"updates": [{"@type": "rename", "newName": "u"}]}
USES = ("use_catalog", "use_schema")
FORBIDDEN = (403, 1008, "ForbiddenException")

Ask = Callable[[Control], Awaitable[Answer]]


@pytest.fixture
async def lake(guarded: Control) -> Guarded:
    """A guarded node with the users `olga`, who owns all, and `ann`; in `a` are `t` and `v`."""
    lake = Guarded(guarded.lake)
    await give_owner(lake)
    await lake.users("ann")
    by = {"authorization": basic(OWNER)}
    await guarded.node.made("namespaces", {"namespace": ["a"]}, headers=by)
    await guarded.done("POST", f"{SCHEMA}/tables", TABLE, user=OWNER)
    await guarded.done("POST", f"{SCHEMA}/views", VIEW, user=OWNER)
    return lake


def ask(method: str, path: str, body: Any = None) -> Ask:
    return lambda control: control.send(method, f"{SCHEMA}/{path}", body, user="ann")


ASKED = [
    (ask("POST", "tables", {**TABLE, "name": "new"}), "create_table"),
    (ask("GET", "tables/t"), "select_table"),
    (ask("GET", "tables/t?privileges=SELECT_TABLE"), "select_table"),
    (ask("GET", "tables/t?privileges=SELECT_TABLE,modify_table"), "modify_table"),
    (ask("PUT", "tables/t", SET), "modify_table"),
    (ask("PUT", "tables/t", RENAME), "modify_table"),
    (ask("POST", "views", {**VIEW, "name": "new"}), "create_view"),
    (ask("GET", "views/v"), "select_view"),
]


@pytest.mark.parametrize(("asked", "right"), ASKED)
async def test_a_right_is_what_it_takes(
    guarded: Control, lake: Guarded, world: World, asked: Ask, right: str
) -> None:
    """Without it the answer is no and nothing happens; with it, yes."""
    await lake.role("r", rights("catalog", "main", *USES))
    await lake.assign("ann", "r")
    before = await world.state()

    assert (await asked(guarded)).error == FORBIDDEN
    assert await world.state() == before

    await lake.grant("r", rights("catalog", "main", right))
    assert (await asked(guarded)).status == 200


@pytest.mark.parametrize(
    ("path", "kind", "method", "body"),
    [
        ("tables/t", "table", "DELETE", None),
        ("views/v", "view", "DELETE", None),
        ("views/v", "view", "PUT", SET),
        ("views/v", "view", "PUT", RENAME),
    ],
)
async def test_what_is_for_owners_is_for_owners(
    guarded: Control, lake: Guarded, path: str, kind: str, method: str, body: Any
) -> None:
    """No right that can be granted is enough to drop something, or to change a view."""
    await lake.role(
        "r", rights("catalog", "main", *USES, "modify_table", "select_view", "create_view")
    )
    await lake.assign("ann", "r")
    asked = ask(method, path, body)
    assert (await asked(guarded)).error == FORBIDDEN

    await lake.own(kind, f"main.a.{path[-1]}", "ann")
    assert (await asked(guarded)).status == 200


async def test_lists_show_what_may_be_seen(guarded: Control, lake: Guarded) -> None:
    """And nothing of what may not."""
    await guarded.done("POST", f"{SCHEMA}/tables", {**TABLE, "name": "u"}, user=OWNER)
    await lake.role(
        "r", rights("catalog", "main", *USES), rights("table", "main.a.u", "select_table")
    )
    await lake.assign("ann", "r")

    tables = await guarded.done("GET", f"{SCHEMA}/tables", user="ann")
    views = await guarded.done("GET", f"{SCHEMA}/views", user="ann")

    assert [one["name"] for one in tables["identifiers"]] == ["u"]
    assert views["identifiers"] == []


async def test_whoever_makes_a_table_owns_it_in_both_protocols(
    guarded: Control, lake: Guarded
) -> None:
    """And keeps it when it is changed or gets another name."""
    await lake.role("r", rights("catalog", "main", *USES, "create_table"))
    await lake.assign("ann", "r")
    tables = f"{SCHEMA}/tables"

    await guarded.done("POST", tables, {**TABLE, "name": "mine"}, user="ann")
    await guarded.done("PUT", f"{tables}/mine", SET, user="ann")
    await guarded.done("PUT", f"{tables}/mine", RENAME, user="ann")

    assert await lake.owner("table", "main.a.u") == ("user", "ann")
    opened = await guarded.node.lake.open(
        call()._replace(caller=call().caller._replace(name="ann"))
    )
    table = await find_relation(opened, Identifier(("a",), "u"), Kind.TABLE)
    assert table.entry.owner == opened.owner


async def test_an_unknown_privilege_is_refused(guarded: Control, lake: Guarded) -> None:
    """It is no reason to ask for less."""
    answer = await guarded.get(f"{SCHEMA}/tables/t?privileges=EVERYTHING", user=OWNER)

    assert answer.error == (400, 1001, "IllegalArgumentException")
