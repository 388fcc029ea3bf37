"""Realms against a plain model: two nodes that create, switch, purge and use them in any order."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headgate.errors import (
    HeadgateError,
    IllegalRealmMove,
    PointerNotFound,
    RealmExists,
    RealmNotActive,
    RealmNotFound,
)
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.kernel.system import REALM_POINTERS, SYSTEM_REALM
from headgate.testing.faults import Crashed
from headgate.testing.kernels import POINTER, Rig, entries, putting, snapshot

T = TypeVar("T")
S = RealmState

WAYS = {
    S.CREATED: {S.CREATED, S.INITIALIZING, S.LOADING, S.PURGING},
    S.INITIALIZING: {S.ACTIVE, S.INACTIVE, S.PURGING},
    S.LOADING: {S.ACTIVE, S.INACTIVE, S.PURGING},
    S.ACTIVE: {S.ACTIVE, S.INACTIVE},
    S.INACTIVE: {S.INACTIVE, S.ACTIVE, S.PURGING},
    S.PURGING: {S.PURGING, S.PURGED},
    S.PURGED: {S.PURGED},
}
NAMES = ("acme", "Acme", "acme2")

names = st.sampled_from(NAMES)
nodes = st.integers(0, 1)


class Model(msgspec.Struct):
    """What a realm should be."""

    id: str
    state: RealmState = S.CREATED
    pointers: bool = False
    data: dict[bytes, bytes] = msgspec.field(default_factory=dict)


class RealmsMachine(RuleBasedStateMachine):
    """Three names, two nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.rig = Rig()
        self.model: dict[str, Model] = {}
        self.used_ids: list[str] = []
        self.number = 0

    @initialize(cache_bytes=st.sampled_from([0, 2_000, 1 << 20]))
    def begin(self, cache_bytes: int) -> None:
        for _ in range(2):
            self.runner.run(self.rig.open(cache_bytes=cache_bytes))

    @rule(name=names, node=nodes)
    def reserve(self, name: str, node: int) -> None:
        if name in self.model:
            self.refused(RealmExists, self.node(node).realms.reserve(name))
        else:
            self.model[name] = Model(self.made(self.node(node).realms.reserve(name)).id)
            self.remember_id(name)

    @rule(name=names, node=nodes)
    def create(self, name: str, node: int) -> None:
        if name in self.model:
            self.refused(RealmExists, self.node(node).realms.create(name))
        else:
            id = self.made(self.node(node).realms.create(name)).id
            self.model[name] = Model(id, S.ACTIVE, pointers=True)
            self.remember_id(name)

    @rule(name=names, node=nodes)
    def activate(self, name: str, node: int) -> None:
        verb = self.node(node).realms.activate(name)
        model = self.model.get(name)
        if model is None:
            self.refused(RealmNotFound, verb)
        elif model.state in {S.LOADING, S.PURGING, S.PURGED}:
            self.refused(IllegalRealmMove, verb)
        else:
            model.pointers |= model.state in {S.CREATED, S.INITIALIZING}
            model.state = self.made(verb).state
            assert model.state is S.ACTIVE

    @rule(name=names, node=nodes)
    def deactivate(self, name: str, node: int) -> None:
        verb = self.node(node).realms.deactivate(name)
        model = self.model.get(name)
        if model is None:
            self.refused(RealmNotFound, verb)
        elif model.state not in {S.ACTIVE, S.INACTIVE}:
            self.refused(IllegalRealmMove, verb)
        else:
            model.state = self.made(verb).state
            assert model.state is S.INACTIVE

    @rule(name=names, node=nodes, to=st.sampled_from(list(S)))
    def move(self, name: str, node: int, to: RealmState) -> None:
        model = self.model.get(name)
        verb = self.node(node).realms.move(model.id if model else "17", to)
        if model is None:
            self.refused(RealmNotFound, verb)
        elif to not in WAYS[model.state]:
            self.refused(IllegalRealmMove, verb)
        else:
            model.state = self.made(verb).state
            assert model.state is to

    @rule(name=names, node=nodes, crashes=st.sampled_from(["", "before", "after"]))
    def purge(self, name: str, node: int, crashes: str) -> None:
        model = self.model.get(name)
        if model is None:
            self.refused(RealmNotFound, self.node(node).realms.purge(name))
        elif model.state is not S.PURGED and S.PURGING not in WAYS[model.state]:
            self.refused(IllegalRealmMove, self.node(node).realms.purge(name))
        elif crashes:
            self.crash_purging(model, node, crashes)
        else:
            model.state = self.made(self.node(node).realms.purge(name)).state
            model.pointers = False
            model.data.clear()
            assert model.state is S.PURGED

    @rule(name=names, node=nodes)
    def delete(self, name: str, node: int) -> None:
        verb = self.node(node).realms.delete(name)
        model = self.model.get(name)
        if model is None:
            self.refused(RealmNotFound, verb)
        elif model.state is not S.PURGED:
            self.refused(IllegalRealmMove, verb)
        else:
            self.made(verb)
            del self.model[name]

    @rule(name=names, node=nodes)
    def commit(self, name: str, node: int) -> None:
        self.number += 1
        key = b"%d" % self.number
        model = self.model.get(name)
        realm = self.node(node).realm(model.id if model else "17")
        verb = realm.commit(POINTER, putting(key, b"v" * 100))
        if self.serves(model, verb) and model is not None:
            model.data[key] = b"v" * 100

    @rule(name=names, node=nodes)
    def read(self, name: str, node: int) -> None:
        model = self.model.get(name)
        realm = self.node(node).realm(model.id if model else "17")
        if self.serves(model, realm.heads(*REALM_POINTERS)) and model is not None:
            assert self.made(entries(realm)) == model.data

    @invariant()
    def both_nodes_agree_with_the_model(self) -> None:
        for kernel in self.rig.kernels:
            listed = self.made(kernel.realms.list())
            found = {realm.name: (realm.id, realm.state) for realm in listed}
            assert found == {name: (m.id, m.state) for name, m in self.model.items()}
            assert [realm.name for realm in listed] == sorted(self.model)

    @invariant()
    def nothing_is_left_of_what_is_gone(self) -> None:
        stored = self.made(snapshot(self.rig.memory))
        owners = {key.realm for key in stored.pointers} | {key[0] for key in stored.rows}
        with_pointers = {model.id for model in self.model.values() if model.pointers}
        half_purged = {model.id for model in self.model.values() if model.state is S.PURGING}

        assert with_pointers - half_purged <= owners - {SYSTEM_REALM}
        assert owners - {SYSTEM_REALM} <= with_pointers | half_purged

    def teardown(self) -> None:
        for kernel in self.rig.kernels:
            self.runner.run(kernel.close())
        self.runner.close()

    def node(self, number: int) -> Kernel:
        return self.rig.kernels[number]

    def made(self, verb: Coroutine[None, None, T]) -> T:
        return self.runner.run(verb)

    def refused(self, error: type[HeadgateError], verb: Coroutine[None, None, object]) -> None:
        """The verb raises this error and changes nothing."""
        before = self.made(snapshot(self.rig.memory))
        with pytest.raises(error):
            self.runner.run(verb)

        assert self.made(snapshot(self.rig.memory)) == before

    def serves(self, model: Model | None, verb: Coroutine[None, None, object]) -> bool:
        """Whether a realm that is used like this serves; if not, with the right error."""
        if model is None:
            self.refused(RealmNotFound, verb)
        elif model.state is not S.ACTIVE:
            self.refused(RealmNotActive, verb)
        elif not model.pointers:
            self.refused(PointerNotFound, verb)
        else:
            self.made(verb)
            return True
        return False

    def crash_purging(self, model: Model, node: int, when: str) -> None:
        """The data goes, or stays; the realm does not get any further than it was."""
        self.rig.faults.crash_at(f"{when}_delete_realm")
        with pytest.raises(Crashed):
            self.runner.run(self.node(node).realms.purge(model.id))
        if model.state is not S.PURGED:
            model.state = S.PURGING
        if when == "after":
            model.pointers = False

    def remember_id(self, name: str) -> None:
        """An id is never given twice."""
        id = self.model[name].id
        assert id not in self.used_ids
        self.used_ids.append(id)


TestRealmsMachine = pytest.mark.timeout(1_800)(RealmsMachine.TestCase)  # for shrinking
TestRealmsMachine.__doc__ = "Realms live as their state machine says, on every node."
