"""loadTable in a catalog of few tables and in one of very many, by processor time of the server."""

import asyncio
import itertools
import json
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.rest.jobs import Job, job
from benchmarks.rest.load import LoadGenerator, Plan
from benchmarks.rest.loads import CONNECTIONS, SNAPSHOTS
from benchmarks.rest.metadata import table, table_uuid, write_file
from benchmarks.rest.scale import Scale
from benchmarks.rest.servers import Server, headgate
from benchmarks.stores import say
from headgate.catalog.catalogs import list_catalogs
from headgate.catalog.entities import CatalogEntity, Entry, Kind, NamespaceEntity, TableEntity
from headgate.catalog.naming import NAMESPACES, RELATIONS, ROOT, NamesDraft
from headgate.catalog.openings import head_pointer
from headgate.catalog.reservations import reserve
from headgate.kernel.draft import Draft
from headgate.settings.loading import load
from headgate.wiring import open_kernel

NAMESPACE_COUNT = 20
LOADED = 100  # the tables that are loaded; those of the large catalog lie anywhere in it
TABLES_PER_COMMIT = 500
METALAKE = "default"

Numbers = list[int]


def measure_growth(generator: LoadGenerator, scale: Scale, folder: Path) -> dict[str, Any]:
    """Both catalogs are loaded from in turn; the large one's cost against the small one's."""
    with ExitStack() as stack:
        catalogs = [
            (count, *_started(stack, folder / f"catalog-{count}", count)) for count in scale.growth
        ]
        plans = [
            Plan(server.port, jobs, CONNECTIONS, scale.seconds, pid=server.pid)
            for _, server, jobs in catalogs
        ]
        for plan in plans:
            generator.run(plan)
        costs: list[list[float]] = [[] for _ in plans]
        failed = 0
        for turn in range(scale.rounds):
            for (count, _, _), plan, seen in zip(catalogs, plans, costs, strict=True):
                one = generator.run(plan)
                failed += one.failed
                seen.append(one.server_cpu_us)
                say(f"{count:,} tables, round {turn + 1}: {seen[-1]:.0f} us of the server per load")
    small, large = costs
    return {
        "load_cpu_us_small": statistics.median(small),
        "load_cpu_us_large": statistics.median(large),
        "load_growth": statistics.median(map(float.__truediv__, large, small)),
        "load_growth_failed": failed,
    }


def _started(stack: ExitStack, folder: Path, count: int) -> tuple[Server, list[Job]]:
    """A server on a catalog of so many tables, and loads of some of them."""
    with headgate(folder):
        pass  # makes the store and its catalog
    say(f"a catalog of {count:,} tables is made")
    loaded = sorted(Random(count).sample(range(count), min(LOADED, count)))
    asyncio.run(_fill(folder / "data", count, loaded))
    server = stack.enter_context(headgate(folder))
    jobs = []
    for number in loaded:
        path = f"/namespaces/{_namespace(number)}/tables/{_name(number)}"
        answer = server.ask("GET", path)
        assert json.loads(answer)["metadata"]["table-uuid"] == table_uuid(number)
        jobs.append(job("GET", server.base + path, length=len(answer), label="load"))
    return server, jobs


async def _fill(data: Path, count: int, loaded: Numbers) -> None:
    """Put tables into the catalog's kernel as commits of clients would, but many with each.

    Those that will be loaded have 20 kB of metadata and a file; of the others nobody will ask.
    """
    async with open_kernel(load(flags={"data": str(data)})) as kernel:
        [catalog] = await list_catalogs(kernel, METALAKE)
        realm = kernel.realm((await kernel.realms.get(METALAKE)).id)
        pointer = head_pointer(catalog.id)
        parents = await realm.commit(pointer, _make_namespaces)
        chosen = set(loaded)
        numbers = iter(range(count))
        while some := list(itertools.islice(numbers, TABLES_PER_COMMIT)):
            tables = [
                (number, _entity(catalog, number, loaded=number in chosen)) for number in some
            ]
            await realm.commit(pointer, _make_tables(parents, tables))


def _make_namespaces(draft: Draft) -> Numbers:
    names = NamesDraft(draft)
    ids = []
    for number in range(NAMESPACE_COUNT):
        entry = Entry(Kind.NAMESPACE, draft.new_id(), draft.stage(NamespaceEntity({})))
        names.add(ROOT, NAMESPACES, _namespace(number), entry)
        ids.append(entry.id)
    return ids


def _make_tables(
    parents: Numbers, tables: list[tuple[int, TableEntity]]
) -> Callable[[Draft], None]:
    def attempt(draft: Draft) -> None:
        names = NamesDraft(draft)
        for number, entity in tables:
            entry = Entry(Kind.TABLE, draft.new_id(), draft.stage(entity))
            reserve(draft, entity.reserved, entry.id)
            names.add(parents[number % NAMESPACE_COUNT], RELATIONS, _name(number), entry)

    return attempt


def _entity(catalog: CatalogEntity, number: int, *, loaded: bool) -> TableEntity:
    location = f"{catalog.warehouse}/{_namespace(number)}/{_name(number)}"
    data = table(location, number, SNAPSHOTS if loaded else 0)
    file = f"{location}/metadata/00000.metadata.json"
    if loaded:
        file = str(write_file(Path(location.removeprefix("file://")), data))
    return TableEntity(table_uuid(number), location, file, data, (location,))


def _namespace(number: int) -> str:
    return f"namespace_{number % NAMESPACE_COUNT:02}"


def _name(number: int) -> str:
    return f"table_{number:07}"
