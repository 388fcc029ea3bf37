"""The tree workload of Polaris' benchmarks: a tree of namespaces with tables and views in its
leaves is created, read with its content compared, and then read and changed at a steady rate."""

import itertools
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from benchmarks.report import in_columns, number
from benchmarks.rest.jobs import NUMBER, Job, Round, job
from benchmarks.rest.load import LoadGenerator, Plan
from benchmarks.rest.metadata import STARTED_MS, schema
from benchmarks.rest.scale import Scale, Tree
from benchmarks.rest.servers import Server
from benchmarks.stores import say
from benchmarks.storm import percentile

COLUMNS, PROPERTIES = 10, 10
TABLE_CONNECTIONS, VIEW_CONNECTIONS = 20, 10
MIXED_CONNECTIONS = 50
READ_SHARE = 0.5
SEED = 42
SQL = "SELECT 1 AS one"
ATTRIBUTES = {f"InitialAttribute_{number}": str(number) for number in range(PROPERTIES)}
PHASES = ("create", "read", "mixed")

Levels = tuple[str, ...]


class Dataset(NamedTuple):
    """What there is: namespaces level by level, and the names in each leaf."""

    levels: list[list[Levels]]
    tables: list[tuple[Levels, str]]
    views: list[tuple[Levels, str]]

    @property
    def namespaces(self) -> Iterator[Levels]:
        return itertools.chain.from_iterable(self.levels)


def dataset(shape: Tree) -> Dataset:
    """The tree of this shape; namespaces are numbered from the root, level by level."""
    levels: list[list[Levels]] = [[("NS_0",)]]
    numbers = itertools.count(1)
    for _ in range(1, shape.depth):
        levels.append(
            [(*above, f"NS_{next(numbers)}") for above in levels[-1] for _ in range(shape.width)]
        )
    tables, views = itertools.count(), itertools.count()
    leaves = levels[-1]
    return Dataset(
        levels,
        [(leaf, f"T_{next(tables)}") for leaf in leaves for _ in range(shape.tables)],
        [(leaf, f"V_{next(views)}") for leaf in leaves for _ in range(shape.views)],
    )


def measure_tree(
    generator: LoadGenerator, scale: Scale, servers: Sequence[Server]
) -> dict[str, Any]:
    """All three parts on each server; every answer's status and content is checked."""
    data = dataset(scale.tree)
    figures: dict[str, Any] = {
        "namespaces": sum(map(len, data.levels)),
        "tables": len(data.tables),
        "views": len(data.views),
    }
    for server in servers:
        work = Requests(server, data)
        phases = dict(zip(PHASES, (_create, _read, _mixed), strict=True))
        for phase, run in phases.items():
            rounds = run(generator, server, work, scale)
            figures |= _summary(phase, server.name, rounds)
            say(f"tree, {phase}, {server.name}: {figures[f'{phase}_rps_{server.name}']:,.0f} /s")
    failed = {
        suffix: sum(figures[f"{phase}_failed_{name}"] for phase in PHASES)
        for suffix, name in (("", "headgate"), ("_reference", "reference"))
    }
    return {"tree": figures} | {f"tree_failed{suffix}": count for suffix, count in failed.items()}


def tree_table(figures: dict[str, Any]) -> str:
    """The workload as a table for people."""
    rows = [("tree workload", "requests", "per second", "p50 ms", "p99 ms", "failed")]
    for phase, name in itertools.product(PHASES, ("headgate", "reference")):
        keys = [f"{phase}_{what}_{name}" for what in ("requests", "rps", "p50_ms", "p99_ms")]
        failed = figures[f"{phase}_failed_{name}"]
        cells = [number(figures[key]) for key in keys]
        rows.append((f"{phase}, {name}", cells[0], cells[1], cells[2], cells[3], str(failed)))
    return in_columns(rows)


class Requests:
    """All requests of the workload for one server."""

    def __init__(self, server: Server, data: Dataset) -> None:
        self._server = server
        self._data = data

    def creations(self) -> Iterator[tuple[int, list[Job]]]:
        """Lists of jobs that can be done at once, and over how many connections."""
        for level in self._data.levels:
            yield TABLE_CONNECTIONS, [self._create_namespace(one) for one in level]
        yield TABLE_CONNECTIONS, [self._create_table(*one) for one in self._data.tables]
        yield VIEW_CONNECTIONS, [self._create_view(*one) for one in self._data.views]

    def reads(self) -> Iterator[tuple[int, list[Job]]]:
        """The same for reading: of everything its list, whether it is there, and its content."""
        yield (
            TABLE_CONNECTIONS,
            [one for levels in self._data.namespaces for one in self._read_namespace(levels)],
        )
        for kind, connections in (("tables", TABLE_CONNECTIONS), ("views", VIEW_CONNECTIONS)):
            named: list[tuple[Levels, str]] = getattr(self._data, kind)
            yield connections, [one for name in named for one in self._read(kind, *name)]

    def mixed(self, count: int, random: Random) -> list[Job]:
        """Reads and changes of one property in random order."""
        reads = [one for _, jobs in self.reads() for one in jobs]
        kinds = sorted({one.label for one in reads})
        by_kind = {kind: [one for one in reads if one.label == kind] for kind in kinds}
        changes = [
            [self._change_namespace(levels) for levels in self._data.namespaces],
            [self._change("tables", *one) for one in self._data.tables],
            [self._change("views", *one) for one in self._data.views],
        ]
        return [
            random.choice(
                by_kind[random.choice(kinds)]
                if random.random() < READ_SHARE
                else random.choice(changes)
            )
            for _ in range(count)
        ]

    def _create_namespace(self, levels: Levels) -> Job:
        properties = ATTRIBUTES | {"location": self._location(levels)}
        body = {"namespace": list(levels), "properties": properties}
        return job("POST", self._path(), body, label="create namespace")

    def _create_table(self, levels: Levels, name: str) -> Job:
        body = {
            "name": name,
            "location": self._location((*levels, name)),
            "schema": schema(COLUMNS),
            "properties": ATTRIBUTES,
        }
        want = {"metadata": self._content(levels, name)}
        return job("POST", self._path(levels, "/tables"), body, want=want, label="create table")

    def _create_view(self, levels: Levels, name: str) -> Job:
        version = {
            "version-id": 1,
            "schema-id": 0,
            "timestamp-ms": STARTED_MS,
            "summary": {"engine-name": "benchmark"},
            "default-namespace": list(levels),
            "representations": [{"type": "sql", "sql": SQL, "dialect": "spark"}],
        }
        body = {
            "name": name,
            "location": self._location((*levels, name)),
            "schema": schema(1),
            "view-version": version,
            "properties": ATTRIBUTES,
        }
        want = {"metadata": self._content(levels, name)}
        return job("POST", self._path(levels, "/views"), body, want=want, label="create view")

    def _read_namespace(self, levels: Levels) -> Iterator[Job]:
        below = [
            list(one)
            for one in self._data.namespaces
            if len(one) == len(levels) + 1 and one[:-1] == levels
        ]
        parent = f"{self._path()}?parent={self._server.namespace(levels)}"
        yield job("GET", parent, want={"namespaces": below}, label="list namespaces")
        yield job("HEAD", self._path(levels), status=204, label="namespace exists")
        want = {"namespace": list(levels)}
        # A mixed run has added properties of its own; those of the beginning must be intact.
        content = want | {"properties": ATTRIBUTES | {"location": self._location(levels)}}
        yield job("GET", self._path(levels), want=content, label="load namespace")

    def _read(self, kind: str, levels: Levels, name: str) -> Iterator[Job]:
        named: list[tuple[Levels, str]] = getattr(self._data, kind)
        identifiers = [
            {"namespace": list(leaf), "name": other} for leaf, other in named if leaf == levels
        ]
        path = self._path(levels, f"/{kind}")
        own = f"{path}/{name}"
        yield job("GET", path, want={"identifiers": identifiers}, label=f"list {kind}")
        yield job("HEAD", own, status=204, label=f"{kind[:-1]} exists")
        want = {"metadata": self._content(levels, name)}
        yield job("GET", own, want=want, label=f"load {kind[:-1]}")

    def _change_namespace(self, levels: Levels) -> Job:
        body = {"updates": {f"NewAttribute_{NUMBER}": "new"}, "removals": []}
        return job("POST", self._path(levels, "/properties"), body, label="change namespace")

    def _change(self, kind: str, levels: Levels, name: str) -> Job:
        updates = [{"action": "set-properties", "updates": {f"NewAttribute_{NUMBER}": "new"}}]
        path = self._path(levels, f"/{kind}/{name}")
        label = f"change {kind[:-1]}"
        want = {"metadata": self._content(levels, name)}
        return job("POST", path, {"updates": updates}, want=want, label=label)

    def _content(self, levels: Levels, name: str) -> dict[str, Any]:
        return {"location": self._location((*levels, name)), "properties": ATTRIBUTES}

    def _path(self, levels: Levels = (), below: str = "") -> str:
        path = f"{self._server.base}/namespaces"
        return f"{path}/{self._server.namespace(levels)}{below}" if levels else path

    def _location(self, parts: Levels) -> str:
        return self._server.location("/".join(("tree", *parts)))


def _create(generator: LoadGenerator, server: Server, work: Requests, scale: Scale) -> list[Round]:
    return _all(generator, server, work.creations())


def _read(generator: LoadGenerator, server: Server, work: Requests, scale: Scale) -> list[Round]:
    _all(generator, server, work.reads())  # for the virtual machine
    return _all(generator, server, work.reads())


def _mixed(generator: LoadGenerator, server: Server, work: Requests, scale: Scale) -> list[Round]:
    """In an open model: requests begin at their time, whether or not others were answered."""
    shape = scale.tree
    jobs = work.mixed(max(int(shape.seconds * shape.rate), 1), Random(SEED))
    return [generator.run(Plan(server.port, jobs, MIXED_CONNECTIONS, None, shape.rate, server.pid))]


def _all(
    generator: LoadGenerator, server: Server, steps: Iterator[tuple[int, list[Job]]]
) -> list[Round]:
    return [
        generator.run(Plan(server.port, jobs, min(connections, len(jobs)), pid=server.pid))
        for connections, jobs in steps
    ]


def _summary(phase: str, name: str, rounds: Sequence[Round]) -> dict[str, Any]:
    waits = sorted(itertools.chain.from_iterable(one.all_waits for one in rounds))
    by_label: dict[str, list[float]] = {}
    for one in rounds:
        for label, some in one.waits.items():
            by_label.setdefault(label, []).extend(some)
    figures: dict[str, Any] = {
        f"{phase}_requests_{name}": len(waits),
        f"{phase}_rps_{name}": len(waits) / sum(one.seconds for one in rounds),
        f"{phase}_p50_ms_{name}": percentile(waits, 0.50) * 1e3,
        f"{phase}_p99_ms_{name}": percentile(waits, 0.99) * 1e3,
        f"{phase}_failed_{name}": sum(one.failed for one in rounds),
        f"{phase}_operations_p50_ms_{name}": {
            label: percentile(sorted(some), 0.50) * 1e3 for label, some in sorted(by_label.items())
        },
    }
    failures = sorted({failure for one in rounds for failure in one.failures})
    if failures:
        figures[f"{phase}_failures_{name}"] = failures[:3]
    return figures
