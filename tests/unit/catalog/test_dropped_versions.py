"""Versions that did not become part of the catalog leave memory at once, large as they may be."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from headgate.catalog.versions import Version
from tests.unit.catalog.lakes import (
    Node,
    World,
    commit,
    new_table,
    new_view,
    set_properties,
)

TABLE = "namespaces/a/tables/t"


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Nothing is found by the collector of cycles: it may come late."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def versions() -> int:
    return sum(type(one) is Version for one in gc.get_objects())


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("kind", ["tables", "views"])
async def test_refused_creations_leave_nothing(node: Node, world: World, kind: str) -> None:
    """All want the same place at once, and all but one are refused when they are made."""
    place = f"{world.warehouse}/x"
    new = new_table if kind == "tables" else new_view
    bodies = [new(f"t{number}", location=place) for number in range(10)]
    answers = await asyncio.gather(*(node.post(f"namespaces/a/{kind}", one) for one in bodies))
    await node.namespace("next")  # whoever makes changes knows its last one until then

    assert sorted(answer.status for answer in answers) == [200] + 9 * [409]
    assert versions() == 0


@pytest.mark.usefixtures("no_collector")
async def test_repeated_commits_leave_nothing(node: Node, world: World) -> None:
    """Another node is first again and again, so that they are worked out again."""
    other = await world.node()
    await node.table()
    for number in range(10):
        change = commit([set_properties(k=str(number))])
        await asyncio.gather(node.made(TABLE, change), other.made(TABLE, change))
    await asyncio.gather(node.namespace("next"), other.namespace("other"))

    assert node.lake.commits_repeated + other.lake.commits_repeated > 3
    assert versions() == 0
