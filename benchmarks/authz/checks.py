"""One check in process, with few and with many grants; and pycasbin's, with as many as our few."""

import itertools
import time
from collections.abc import Callable
from random import Random
from statistics import median
from typing import Any

from casbin import Enforcer, Model

from benchmarks.authz.scale import Scale
from benchmarks.stores import say
from headgate.access.decisions import Access, Scope, Weight, permits, weigh
from headgate.access.objects import ObjectType
from headgate.access.privileges import Privilege as Right
from headgate.access.rules import LOAD_TABLE, Standing

FEW, MANY = 1_000, 100_000
ASKED = 1_000  # tables that are asked for in turn, anywhere among those with grants
OWNER, USER = 1, 2
CATALOG, OUTER, INNER, FIRST_TABLE = 11, 12, 13, 14
"""Ids as a store gives them: one after the other."""

Ask = Callable[[int], float]
"""Does so many checks; the seconds that one took."""

MODEL = """
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[role_definition]
g = _, _
g2 = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = g(r.sub, p.sub) && g2(r.obj, p.obj) && r.act == p.act
"""
"""RBAC with resource roles, as casbin's documentation has it: users have roles, objects are in
objects. Nothing can be denied, so it may stop at the first policy that matches."""


def measure_checks(scale: Scale) -> dict[str, Any]:
    """May a user load a table, two schemas deep? All three are asked in turn."""
    few, many, casbin = _headgate(FEW), _headgate(MANY), _casbin(FEW)
    for ask in (few, many, casbin):
        ask(scale.enforced)
    costs = [
        (few(scale.checks), many(scale.checks), casbin(scale.enforced)) for _ in range(scale.turns)
    ]
    figures = {
        "check_us_1k_policies": median([one for one, _, _ in costs]) * 1e6,
        "check_us_100k_policies": median([one for _, one, _ in costs]) * 1e6,
        "check_growth": median([large / small for small, large, _ in costs]),
        "pycasbin_us": median([one for _, _, one in costs]) * 1e6,
        "pycasbin_ratio": median([theirs / ours for ours, _, theirs in costs]),
    }
    say(f"a check: {figures['check_us_1k_policies']:.2f} us, growth {figures['check_growth']:.2f}")
    return figures


def _tables(grants: int) -> range:
    """The tables that have a right of their own; so have the catalog and the outer schema."""
    return range(FIRST_TABLE, FIRST_TABLE + grants - 2)


def _chosen(tables: range) -> list[int]:
    return Random(len(tables)).choices(tables, k=ASKED)


def _headgate(grants: int) -> Ask:
    """A caller whose compiled rights have so many grants."""
    rights = {CATALOG: (int(Right.USE_CATALOG), 0), OUTER: (int(Right.USE_SCHEMA), 0)}
    rights |= dict.fromkeys(_tables(grants), (int(Right.SELECT_TABLE), 0))
    standing = int(Standing.MEMBER)
    access = Access(USER, frozenset({USER}), frozenset({1}), rights, Weight(), standing)
    above = (
        Scope(ObjectType.CATALOG, CATALOG, OWNER),
        Scope(ObjectType.SCHEMA, OUTER, OWNER),
        Scope(ObjectType.SCHEMA, INNER, OWNER),
    )
    ways = [(*above, Scope(ObjectType.TABLE, table, OWNER)) for table in _chosen(_tables(grants))]

    def ask(count: int) -> float:
        rounds = max(count // ASKED, 1)
        allowed = 0
        began = time.thread_time()
        for _ in range(rounds):
            for way in ways:
                allowed += permits(LOAD_TABLE, weigh(access, way), access.standing)
        took = time.thread_time() - began
        assert allowed == rounds * ASKED, "all of these may be loaded"
        return took / allowed

    return ask


def _casbin(policies: int) -> Ask:
    """The same rights as policies of pycasbin. It is asked for one of the three that a load
    takes."""
    model = Model()
    model.load_model_from_text(MODEL)
    enforcer = Enforcer(model)
    tables = _tables(policies)
    enforcer.add_policies(
        [
            ["reader", str(CATALOG), "USE_CATALOG"],
            ["reader", str(OUTER), "USE_SCHEMA"],
            *(["reader", str(table), "SELECT_TABLE"] for table in tables),
        ]
    )
    enforcer.add_grouping_policy("alice", "reader")
    inside = [[str(OUTER), str(CATALOG)], [str(INNER), str(OUTER)]]
    inside += [[str(table), str(INNER)] for table in tables]
    enforcer.add_named_grouping_policies("g2", inside)
    asked = itertools.cycle(map(str, _chosen(tables)))

    def ask(count: int) -> float:
        some = list(itertools.islice(asked, count))
        began = time.thread_time()
        allowed = [enforcer.enforce("alice", table, "SELECT_TABLE") for table in some]
        took = time.thread_time() - began
        assert all(allowed), "all of these may be loaded"
        return took / count

    return ask
