"""Locations that a table or view had before stay its own, for as long as it is there."""

import pytest

from headgate.catalog.purging import PURGE, live_jobs
from headgate.kernel.index import look
from headgate.limits import RESERVED_BYTES_MAX, RESERVED_LOCATIONS_MAX
from tests.unit.catalog.lakes import Node, World, commit, new_table

TABLE = "namespaces/a/tables/t"


def moving(location: str) -> dict[str, object]:
    """What a client sends to move a table or view."""
    return commit([{"action": "set-location", "location": location}])


async def taken(node: Node, *locations: str) -> list[int]:
    """What is answered to a new table at each of these locations."""
    wanted = [new_table("other", location=one) for one in locations]
    return [(await node.post("namespaces/a/tables", one)).status for one in wanted]


@pytest.mark.parametrize("kind", ["table", "view"])
async def test_what_moves_keeps_its_former_locations(world: World, node: Node, kind: str) -> None:
    """Its older files are there: no other table comes to own them. A drop frees all of them."""
    w = world.warehouse
    make = node.table if kind == "table" else node.view
    made = await make("t", location=f"{w}/x")
    await node.made(f"namespaces/a/{kind}s/t", moving(f"{w}/y"))

    assert await taken(node, f"{w}/x", f"{w}/x/below", f"{w}/y") == [409, 409, 409]
    clone = {"name": "clone", "metadata-location": made["metadata-location"]}
    register = "register" if kind == "table" else "register-view"
    assert (await node.post(f"namespaces/a/{register}", clone)).status == 409
    await node.delete(f"namespaces/a/{kind}s/t")
    for name in ("x", "y"):
        await node.table(name, location=f"{w}/{name}")


async def test_a_purge_has_all_locations_that_its_table_ever_had(world: World, node: Node) -> None:
    """Also those of a table that it replaced: they are free when the job has ended."""
    w = world.warehouse
    await node.table(location=f"{w}/x")
    await node.made(TABLE, moving(f"{w}/y"))
    other = await node.table("other", location=f"{w}/z")
    await node.delete("namespaces/a/tables/other")
    body = {"name": "t", "metadata-location": other["metadata-location"], "overwrite": True}
    replaced = await node.made("namespaces/a/register", body)
    assert replaced["metadata"]["table-uuid"] == other["metadata"]["table-uuid"]
    assert await taken(node, f"{w}/x", f"{w}/y", f"{w}/z") == [409, 409, 409]

    node.planner.gate.clear()
    await node.delete(f"{TABLE}?purgeRequested=true")
    [(_, job)] = await look((await node.opened()).head.index(PURGE), lambda one: [*live_jobs(one)])
    assert job.reserved == tuple(f"file://{w}/{name}" for name in "zyx")
    node.planner.gate.set()
    await node.purges.idle()
    for name in "xyz":
        await node.table(name, location=f"{w}/{name}")


async def test_a_location_inside_of_another_is_part_of_it(world: World, node: Node) -> None:
    """A table that goes to and fro keeps the outermost location alone, whatever the way."""
    w = world.warehouse
    await node.table(location=f"{w}/x/y")
    for place in ("x/y/z", "x/y", "x", "x/y/z", "x/other"):
        await node.made(TABLE, moving(f"{w}/{place}"))

    assert (await node.opened_table()).entity.reserved == (f"file://{w}/x",)
    assert await taken(node, f"{w}/x/y", f"{w}/x", f"{w}/x/none") == [409, 409, 409]


async def test_a_table_keeps_only_so_many_locations(world: World, node: Node) -> None:
    """One more is refused, and nothing changes; a location that it had already is fine."""
    w = world.warehouse
    await node.table(location=f"{w}/0")
    for number in range(1, RESERVED_LOCATIONS_MAX):
        await node.made(TABLE, moving(f"{w}/{number}"))
    before = await world.state()
    refused = await node.post(TABLE, moving(f"{w}/more"))

    assert refused.error[:2] == (400, "BadRequestException")
    assert f"at most {RESERVED_LOCATIONS_MAX} with {RESERVED_BYTES_MAX:,} bytes" in refused.error[2]
    assert await world.state() == before
    await node.made(TABLE, moving(f"{w}/0/below"))


async def test_all_locations_of_a_table_fit_into_its_purge(world: World, node: Node) -> None:
    """However long they are: what could not be recorded with a drop is refused before."""
    w = world.warehouse
    long = [f"{w}/{number}/" + "/".join(["x" * 200] * 9) for number in range(9)]
    await node.table(location=long[0])
    answers = [await node.post(TABLE, moving(one)) for one in long[1:]]

    assert {answer.status for answer in answers} == {200, 400}
    assert f"at most {RESERVED_LOCATIONS_MAX} with" in answers[-1].error[2]
    assert (await node.delete(f"{TABLE}?purgeRequested=true")).status == 204
