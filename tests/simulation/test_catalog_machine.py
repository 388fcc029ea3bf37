"""A catalog against a plain model: two nodes on one store, requests in any order, some twice."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.unit.catalog.lakes import (
    Answer,
    Node,
    commit,
    new_table,
    new_view,
    opened_world,
    set_properties,
)

Levels = tuple[str, ...]
Key = tuple[Levels, str]

paths = st.lists(st.sampled_from(["a", "b.c", "x/y +%"]), min_size=1, max_size=3).map(tuple)
names = st.sampled_from(["t", "u", "ü %2F"])
kinds = st.sampled_from(["tables", "views"])
nodes = st.integers(0, 1)
values = st.sampled_from(["1", "2"])
deliveries = st.sampled_from([(), (0,), (1,), (0, 1)])
"""On which nodes a request that was answered is delivered again."""


class Relation(msgspec.Struct):
    """What a table or view should be."""

    kind: str
    uuid: str
    properties: dict[str, str]


class CatalogMachine(RuleBasedStateMachine):
    """Namespaces by path, tables and views by namespace and name."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.folder = self.stack.enter_context(TemporaryDirectory())
        self.nodes: list[Node] = self.runner.run(self.open())
        self.namespaces: dict[Levels, dict[str, str]] = {}
        self.relations: dict[Key, Relation] = {}

    async def open(self) -> list[Node]:
        self.world = await self.stack.enter_async_context(opened_world(Path(self.folder)))
        return [await self.world.node() for _ in range(2)]

    @rule(levels=paths, value=values, node=nodes, again=deliveries)
    def create_namespace(self, levels: Levels, value: str, node: int, again: Levels) -> None:
        body = {"namespace": levels, "properties": {"k": value}}
        answer = self.send(node, again, "POST", "namespaces", body)
        if levels in self.namespaces:
            assert answer.error[:2] == (409, "AlreadyExistsException")
            return
        assert answer.status == 200
        for depth in range(1, len(levels)):
            self.namespaces.setdefault(levels[:depth], {})
        self.namespaces[levels] = {"k": value}

    @rule(levels=paths, node=nodes, again=deliveries)
    def drop_namespace(self, levels: Levels, node: int, again: Levels) -> None:
        answer = self.send(node, again, "DELETE", path_of(levels))
        below = [other for other in self.namespaces if other[:-1] == levels]
        inside = [name for namespace, name in self.relations if namespace == levels]
        if levels not in self.namespaces:
            assert answer.error[:2] == (404, "NoSuchNamespaceException")
        elif below or inside:
            assert answer.error[:2] == (409, "NamespaceNotEmptyException")
        else:
            assert answer.status == 204
            del self.namespaces[levels]

    @rule(levels=paths, value=values, node=nodes, again=deliveries)
    def change_namespace(self, levels: Levels, value: str, node: int, again: Levels) -> None:
        body = {"updates": {"new": value}, "removals": ["k"]}
        answer = self.send(node, again, "POST", f"{path_of(levels)}/properties", body)
        properties = self.namespaces.get(levels)
        if properties is None:
            assert answer.error[:2] == (404, "NoSuchNamespaceException")
            return
        found = ["k"] if "k" in properties else []
        assert answer.json["removed"] == found
        assert answer.json["missing"] == [name for name in ("k",) if name not in found]
        properties.pop("k", None)
        properties["new"] = value

    @rule(levels=paths, name=names, kind=kinds, node=nodes, again=deliveries)
    def create(self, levels: Levels, name: str, kind: str, node: int, again: Levels) -> None:
        body = new_table(name) if kind == "tables" else new_view(name)
        answer = self.send(node, again, "POST", f"{path_of(levels)}/{kind}", body)
        if levels not in self.namespaces:
            assert answer.error[:2] == (404, "NoSuchNamespaceException")
        elif (levels, name) in self.relations:
            assert answer.error[:2] == (409, "AlreadyExistsException")
        else:
            assert answer.status == 200
            self.relations[levels, name] = Relation(kind, uuid_of(answer.json), {})

    @rule(levels=paths, name=names, kind=kinds, value=values, node=nodes, again=deliveries)
    def change(
        self, levels: Levels, name: str, kind: str, value: str, node: int, again: Levels
    ) -> None:
        body = commit([set_properties(k=value)])
        answer = self.send(node, again, "POST", f"{path_of(levels)}/{kind}/{encode(name)}", body)
        relation = self.found(levels, name, kind, answer)
        if relation is not None:
            assert answer.status == 200
            relation.properties["k"] = value

    @rule(levels=paths, name=names, kind=kinds, node=nodes, again=deliveries)
    def drop(self, levels: Levels, name: str, kind: str, node: int, again: Levels) -> None:
        answer = self.send(node, again, "DELETE", f"{path_of(levels)}/{kind}/{encode(name)}")
        if self.found(levels, name, kind, answer) is not None:
            assert answer.status == 204
            del self.relations[levels, name]

    @rule(source=paths, to=paths, name=names, new=names, kind=kinds, node=nodes, again=deliveries)
    def rename(
        self,
        source: Levels,
        to: Levels,
        name: str,
        new: str,
        kind: str,
        node: int,
        again: Levels,
    ) -> None:
        body = {
            "source": {"namespace": source, "name": name},
            "destination": {"namespace": to, "name": new},
        }
        answer = self.send(node, again, "POST", f"{kind}/rename", body)
        if self.found(source, name, kind, answer) is None:
            return
        if to not in self.namespaces:
            assert answer.error[:2] == (404, "NoSuchNamespaceException")
        elif (to, new) in self.relations:
            assert answer.error[:2] == (409, "AlreadyExistsException")
        else:
            assert answer.status == 204
            self.relations[to, new] = self.relations.pop((source, name))

    @rule(
        both=st.lists(st.tuples(paths, names), min_size=1, max_size=3, unique=True),
        value=values,
        node=nodes,
        again=deliveries,
    )
    def transaction(self, both: list[Key], value: str, node: int, again: Levels) -> None:
        changes = [
            commit([set_properties(k=value)]) | {"identifier": {"namespace": levels, "name": name}}
            for levels, name in both
        ]
        body = {"table-changes": changes}
        answer = self.send(node, again, "POST", "transactions/commit", body)
        tables = [self.relations.get(key) for key in both]
        if all(table is not None and table.kind == "tables" for table in tables):
            assert answer.status == 204
            for table in tables:
                assert table is not None
                table.properties["k"] = value
        else:
            assert answer.error[:2] == (404, "NoSuchTableException")

    @rule(
        changes=st.lists(st.tuples(nodes, values), min_size=2, max_size=4), levels=paths, name=names
    )
    def change_at_once(self, changes: list[tuple[int, str]], levels: Levels, name: str) -> None:
        """Different properties at the same time, on both nodes: all of them are there."""
        path = f"{path_of(levels)}/tables/{encode(name)}"
        requests = [
            self.nodes[node].post(path, commit([set_properties(**{f"p{number}": value})]))
            for number, (node, value) in enumerate(changes)
        ]
        answers = self.runner.run(gathered(requests))
        relation = self.found(levels, name, "tables", answers[0])
        if relation is not None:
            assert {answer.status for answer in answers} == {200}
            relation.properties |= {f"p{n}": value for n, (_, value) in enumerate(changes)}

    @invariant()
    def every_node_shows_the_model(self) -> None:
        for node in self.nodes:
            for parent in [(), *self.namespaces]:
                self.check_namespace(node, parent)
            for (levels, name), relation in self.relations.items():
                path = f"{path_of(levels)}/{relation.kind}/{encode(name)}"
                answer = self.runner.run(node.get(path))
                properties = answer.json["metadata"]["properties"]
                properties.pop("write.parquet.compression-codec", None)
                assert uuid_of(answer.json) == relation.uuid
                assert properties == relation.properties

    @invariant()
    def every_file_that_is_referred_to_is_there(self) -> None:
        files = self.world.files()
        for levels, name in self.relations:
            relation = self.relations[levels, name]
            path = f"{path_of(levels)}/{relation.kind}/{encode(name)}"
            answer = self.runner.run(self.nodes[0].get(path))
            assert answer.json["metadata-location"] in files

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()

    def check_namespace(self, node: Node, levels: Levels) -> None:
        """Its children, tables, views and properties."""
        query = f"?parent={path_of(levels).removeprefix('namespaces/')}" if levels else ""
        listed = self.runner.run(node.get(f"namespaces{query}")).json["namespaces"]
        children = {other for other in self.namespaces if other[:-1] == levels}
        assert {tuple(one) for one in listed} == children
        if not levels:
            return
        loaded = self.runner.run(node.get(path_of(levels))).json
        assert loaded == {"namespace": list(levels), "properties": self.namespaces[levels]}
        for kind in ("tables", "views"):
            listed = self.runner.run(node.get(f"{path_of(levels)}/{kind}")).json["identifiers"]
            expected = {
                name
                for (namespace, name), relation in self.relations.items()
                if namespace == levels and relation.kind == kind
            }
            assert {one["name"] for one in listed} == expected

    def send(
        self, node: int, again: tuple[Any, ...], method: str, path: str, body: object = None
    ) -> Answer:
        """The answer to a request; further deliveries are answered alike and do nothing."""
        key: UUID | None = uuid4() if again else None
        answer = self.runner.run(self.nodes[node].send(method, path, body, key=key))
        if answer.status < 300:  # what failed is not remembered: it would be tried anew
            for other in again:
                repeated = self.runner.run(self.nodes[other].send(method, path, body, key=key))
                assert repeated == answer
        return answer

    def found(self, levels: Levels, name: str, kind: str, answer: Answer) -> Relation | None:
        """The table or view that a request was about; if there is none it was answered so."""
        relation = self.relations.get((levels, name))
        if relation is not None and relation.kind == kind:
            return relation
        type = "NoSuchTableException" if kind == "tables" else "NoSuchViewException"
        assert answer.error[:2] == (404, type)
        return None


async def gathered(requests: list[Coroutine[None, None, Answer]]) -> list[Answer]:
    return await asyncio.gather(*requests)


def path_of(levels: Levels) -> str:
    return f"namespaces/{'%1F'.join(map(encode, levels))}"


def encode(name: str) -> str:
    return quote(name, safe="")


def uuid_of(body: Any) -> str:
    metadata = body["metadata"]
    return str(metadata.get("table-uuid") or metadata["view-uuid"])


TestCatalogMachine = pytest.mark.timeout(1_800)(CatalogMachine.TestCase)  # for shrinking
TestCatalogMachine.__doc__ = "Namespaces, tables and views are as a dictionary would have them."
