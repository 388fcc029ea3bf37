"""Requests for operations, each of which does what it asks for if the caller may."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from headgate.access.objects import ObjectType as T
from headgate.access.rules import Rule
from headgate.testing.access_model import Path
from tests.authorization.clerk import Clerk
from tests.unit.catalog.lakes import CATALOG

DONE = frozenset({200, 204})

Before = Callable[[Clerk], Awaitable[None]]
Body = Callable[[int], object]


class Operation(NamedTuple):
    """One operation on one object."""

    method: str
    url: str
    on: Path
    """What its rule is asked about."""
    body: Body = lambda _: None
    """Each attempt has a number, for names that must be new."""
    before: Before | None = None
    """Makes what the request needs, if it is not there; who uses it up stands alone."""
    done: frozenset[int] = DONE
    """The statuses by which it is known that the caller may."""
    sees: Callable[[Any], bool] | None = None
    """A list is refused to no user: it shows what the caller may see."""
    rule: Rule | None = None
    """If it depends on the kind of the object, and not on the route alone."""

    def is_permitted(self, status: int, json: Any) -> bool:
        """Whether the caller may, by what it was answered; other answers are wrong."""
        if self.sees is not None and status == 200:
            return self.sees(json)
        assert status in {403, *self.done}, (status, json)
        return status != 403


Operations = Mapping[str, Operation]

SCHEMA: Path = (CATALOG, "a", "b")
TABLE: Path = (*SCHEMA, "t")
VIEW: Path = (*SCHEMA, "v")
SPARES: dict[T, Path] = {
    T.SCHEMA: (*SCHEMA, "spare"),
    T.TABLE: (*SCHEMA, "spare_table"),
    T.VIEW: (*SCHEMA, "spare_view"),
}
"""What operations use up."""


async def begin(clerk: Clerk) -> None:
    """Nested schemas, a table and a view."""
    await clerk.create_schema("a")
    await clerk.create_schema("a", "b")
    await clerk.create(T.TABLE, "a", "b", "t")
    await clerk.create(T.VIEW, "a", "b", "v")


def spare(kind: T) -> Before:
    """Sees to it that the spare table, view or schema is there."""
    path = SPARES[kind]

    async def make(clerk: Clerk) -> None:
        if await _is_there(clerk, kind):
            return
        clerk.forget(path)
        if kind is T.SCHEMA:
            await clerk.create_schema(*path[1:])
        else:
            await clerk.create(kind, *path[1:])

    return make


async def _is_there(clerk: Clerk, kind: T) -> bool:
    _, *levels, name = SPARES[kind]
    url = f"namespaces/{':'.join((*levels, name))}"
    if kind is not T.SCHEMA:
        word = "tables" if kind is T.TABLE else "views"
        url = f"namespaces/{':'.join(levels)}/{word}/{name}"
    return (await clerk.node.ask("HEAD", url)).status == 204
