"""A metalake with some staff, for tests of what they may do."""

from headgate.access.rules import CREATE_TABLE, LOAD_TABLE
from headgate.catalog.calls import Call, Caller
from headgate.catalog.guards import Guard, GuardOptions
from headgate.errors import Forbidden
from tests.unit.catalog.guarded import ADMIN, Guarded, rights
from tests.unit.catalog.lakes import CATALOG, MAIN

READER = rights("catalog", CATALOG, "use_catalog", "use_schema", "select_table")
WRITER = rights("catalog", CATALOG, "use_catalog", "use_schema", "create_table")
FINE = GuardOptions(is_on=True, admins=frozenset({ADMIN}))
COARSE = FINE._replace(is_fine=False)


def guard_of(node: Guarded) -> Guard:
    return node.lake.openings.guard


async def may(node: Guarded, user: str, *groups: str, roles: tuple[str, ...] | None = None) -> str:
    """What a caller may do with tables of the catalog at its next request: read and write."""
    caller = Caller(user, groups, roles)
    try:
        opened = await node.lake.open(Call(MAIN, caller))
    except Forbidden:
        return "nothing"
    allowed = []
    for word, rule, name in (("read", LOAD_TABLE, "t"), ("write", CREATE_TABLE, "")):
        try:
            await opened.require(rule, ("a",), name)
        except Forbidden:
            continue
        allowed.append(word)
    return " ".join(allowed)


async def hire(guarded: Guarded) -> None:
    """Let ann read by a role, and bob be but a user; a role to write is nobody's."""
    await guarded.users("ann", "bob")
    await guarded.groups("staff")
    await guarded.role("reader", READER)
    await guarded.role("writer", WRITER)
    await guarded.assign("ann", "reader")
