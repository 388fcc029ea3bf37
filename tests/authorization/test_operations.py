"""Every operation of both protocols asks its rule: generated from the table of rules."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest

from headgate.access.objects import ObjectType as T
from headgate.access.privileges import BINDS, Privilege
from headgate.access.rules import RULES, Clause, Rule, Standing
from headgate.catalog.calls import Caller
from headgate.catalog.principals import GROUP, USER
from headgate.http.gravitino.routes import ROOT_ROUTES
from headgate.http.gravitino.routes import ROUTES as GRAVITINO_ROUTES
from headgate.http.iceberg.routes import ROUTES as ICEBERG_ROUTES
from headgate.http.management.changes import ROUTES as CHANGE_ROUTES
from headgate.http.management.file_references import ROUTES as REFERENCE_ROUTES
from headgate.http.management.job_work import ROUTES as JOB_WORK_ROUTES
from headgate.http.management.jobs import ROUTES as JOB_ROUTES
from headgate.http.management.maintenance import ROUTES as MAINTENANCE_ROUTES
from headgate.http.management.realm_exports import ROUTES as EXPORT_ROUTES
from headgate.http.management.reports import ROUTES as REPORT_ROUTES
from headgate.http.management.routes import ROUTES as MANAGEMENT_ROUTES
from headgate.http.router import Route
from headgate.testing.access_model import Path
from tests.authorization.clerk import Clerk
from tests.authorization.gravitino_operations import GRAVITINO, target
from tests.authorization.guarded import ADMIN, GuardedNode
from tests.authorization.iceberg_operations import ICEBERG
from tests.authorization.operations import Operation, begin

PUBLIC = {
    "iceberg": {"getToken"},
    "gravitino": {
        "getVersion",
        "whoAmI",
        "gravitinoHealth",
        "gravitinoLive",
        "gravitinoReady",
        "getConfigs",
        "close",
    },
    "management": {"index", "astray", "health", "live", "ready", "metrics"},
}
"""Operations that anybody may ask for."""
ELSEWHERE = {
    "gravitino": {
        "listKeptUsers",
        "getKeptUser",
        "createKeptUser",
        "updateKeptUser",
        "dropKeptUser",
        "listKeptGroups",
        "getKeptGroup",
        "createKeptGroup",
        "usersKeptGroup",
        "addKeptGroup",
        "removeKeptGroup",
        "dropKeptGroup",
        "listPartitions",
        "addPartitions",
        "loadPartition",
        "dropPartition",
    },
    "management": {
        "listSettings",
        "listChanges",
        "searchChanges",
        "listReports",
        "listJobs",
        "showJob",
        "retryJob",
        "cancelJob",
        "undropTable",
        "claimJob",
        "reportJob",
        "sizeJob",
        "findReferences",
        "showMaintenance",
        "listMaintenanceRuns",
        "startMaintenanceRun",
        "outlineExport",
        "readExport",
        "beginImport",
        "importRows",
        "finishImport",
        "abortImport",
    },
}
"""Identities, settings and sweeps are of no metalake, purge jobs are of tables that are no more,
references come from other catalogs, partitions are not served: others test them."""
ROUTES: dict[str, Sequence[Route]] = {
    "iceberg": ICEBERG_ROUTES,
    "gravitino": (*GRAVITINO_ROUTES, *ROOT_ROUTES),
    "management": (
        *MANAGEMENT_ROUTES,
        *CHANGE_ROUTES,
        *REPORT_ROUTES,
        *JOB_ROUTES,
        *JOB_WORK_ROUTES,
        *REFERENCE_ROUTES,
        *MAINTENANCE_ROUTES,
        *EXPORT_ROUTES,
    ),
}
OPERATIONS: dict[str, Mapping[str, Operation]] = {"iceberg": ICEBERG, "gravitino": GRAVITINO}
EACH = [(protocol, name) for protocol, named in OPERATIONS.items() for name in named]
LATER = T.FILESET | T.TOPIC | T.MODEL | T.FUNCTION
"""Kinds of objects that no protocol serves whole yet."""

UNROUTED = {"missTableOrView"}
"""Rules that other rules lead to."""

NOTHING = Privilege(0)
_ELSEWHERE = Standing.SELF | Standing.SERVICE_ADMIN


class Case(NamedTuple):
    """What somebody has who asks."""

    owns: Path | None = None
    allowed: Privilege = NOTHING
    denied: Privilege = NOTHING
    is_low: bool = False
    """Rights are given as far down as they can be, not on the metalake."""
    by_group: bool = False


def cases(rule: Rule, clerk: Clerk, on: Path) -> Iterator[Case]:
    """Each clause of a rule with exactly what it asks for; then a bit less, or denied."""
    yield Case()
    for clause in rule.clauses:
        if clause.standing & _ELSEWHERE:
            continue
        rights = [right for right in Privilege if right & clause.rights]
        for owns in _owned(clause, clerk, on):
            enough = Case(owns, Privilege(clause.rights))
            yield enough
            yield enough._replace(by_group=True)
            if rights:
                yield enough._replace(is_low=True)
            for right in rights:
                yield enough._replace(denied=right)
                yield enough._replace(allowed=enough.allowed & ~right)


def _owned(clause: Clause, clerk: Clerk, on: Path) -> Iterator[Path | None]:
    """The objects on the way that can be owned for a clause, each alone."""
    if not clause.owner:
        yield None
    for length in range(len(on) + 1):
        thing = clerk.model.find(on[:length])
        if thing is not None and thing.kind & clause.owner:
            yield on[:length]


class Somebody:
    """Users, each of whom has what a case says."""

    def __init__(self, clerk: Clerk, on: Path) -> None:
        self._clerk = clerk
        self._on = on
        self._count = 0

    async def who(self, case: Case) -> tuple[Caller, int]:
        """A new user, and a number that no other has."""
        self._count += 1
        n, clerk = self._count, self._clerk
        user, group = f"user{n}", f"group{n}"
        await clerk.add(USER, user)
        sort, holder = USER, user
        if case.by_group:
            await clerk.add(GROUP, group)
            sort, holder = GROUP, group
        if case.owns is not None:
            await clerk.own(case.owns, sort, holder)
        for word, rights in (("allow", case.allowed), ("deny", case.denied)):
            role = f"{word}{n}"
            if not rights:
                continue
            await clerk.create_role(role)
            await clerk.assign(sort, holder, role)
            for right in Privilege:
                if right & rights:
                    path = self._lowest(right) if case.is_low else ()
                    await clerk.grant(role, path, right, deny=word == "deny")
        return Caller(user, (group,) if case.by_group else ()), n

    def _lowest(self, right: Privilege) -> Path:
        for length in range(len(self._on), 0, -1):
            thing = self._clerk.model.find(self._on[:length])
            if thing is not None and thing.kind & BINDS[right]:
                return self._on[:length]
        return ()


def rule_of(protocol: str, name: str) -> Rule:
    """What an operation asks of its caller."""
    operation = OPERATIONS[protocol][name]
    route = next(one for one in ROUTES[protocol] if one.operation == name.partition(" ")[0])
    assert route.rule is not None
    return operation.rule or route.rule


async def asked(clerk: Clerk, operation: Operation, caller: Caller, n: int) -> bool:
    """Whether a caller may, by what it is answered."""
    user = "/".join((caller.name, ",".join(caller.groups)))
    heard = await clerk.node.ask(operation.method, operation.url, operation.body(n), user=user)
    return operation.is_permitted(heard.status, heard.json)


@pytest.mark.parametrize(("protocol", "name"), EACH, ids=map(" ".join, EACH))
async def test_an_operation_permits_what_its_rule_says(
    node: GuardedNode, protocol: str, name: str
) -> None:
    """With nothing, with each clause, with less, with a denial above, by a group, as an owner."""
    operation, rule = OPERATIONS[protocol][name], rule_of(protocol, name)
    clerk = Clerk(node)
    await begin(clerk)
    await target(clerk)
    prepare = operation.before or target
    await prepare(clerk)
    assert not await asked(clerk, operation, Caller("stranger"), 0)
    somebody, permitted = Somebody(clerk, operation.on), set()
    if any(clause.standing & Standing.SERVICE_ADMIN for clause in rule.clauses):
        permitted.add(await asked(clerk, operation, Caller(ADMIN), 0))
    for case in cases(rule, clerk, operation.on):
        await prepare(clerk)
        caller, n = await somebody.who(case)
        expected = clerk.model.permits(caller, rule, operation.on)
        assert await asked(clerk, operation, caller, n) == expected, case
        permitted.add(expected)
    assert True in permitted, "nobody may"


@pytest.mark.parametrize("protocol", ROUTES)
def test_every_route_has_a_rule_that_is_tested(protocol: str) -> None:
    """Or it is one of the few that are public."""
    ruled = {route.operation for route in ROUTES[protocol] if route.rule is not None}
    public = {route.operation for route in ROUTES[protocol] if route.rule is None}
    tested = {name.partition(" ")[0] for name in OPERATIONS.get(protocol, ())}
    assert public == PUBLIC[protocol]
    assert ruled - tested == ELSEWHERE.get(protocol, set())
    assert tested <= ruled


def test_every_rule_is_used() -> None:
    """By an operation, or it is for a kind of object that is still to come."""
    used = {rule_of(*one).action for one in EACH} | {
        route.rule.action for routes in ROUTES.values() for route in routes if route.rule
    }
    unused = {rule for rule in RULES.values() if rule.action not in used}
    assert {rule.action for rule in unused if not is_later(rule)} == UNROUTED


def is_later(rule: Rule) -> bool:
    """Whether it is about something that is not served yet."""
    words = [str(kind.name).lower() for kind in T if kind & LATER]
    return any(word in rule.action.lower() for word in words)


async def test_everybody_sees_itself_and_what_it_has(node: GuardedNode) -> None:
    """A user itself, the groups it is in and the roles it has, also through a group; no others."""
    clerk, lake = Clerk(node), "/api/metalakes/default"
    await clerk.add(USER, "ann", "bob")
    await clerk.add(GROUP, "ops", "dev")
    for role, sort, name in (("r1", USER, "ann"), ("r2", GROUP, "ops"), ("r3", USER, "bob")):
        await clerk.create_role(role)
        await clerk.assign(sort, name, role)
    seen = {"users": {"ann"}, "groups": {"ops"}, "roles": {"r1", "r2"}}
    for kind, names in (("users", "ann bob"), ("groups", "ops dev"), ("roles", "r1 r2 r3")):
        listed = await node.must("GET", f"{lake}/{kind}", user="ann/ops")
        assert set(listed["names"]) == seen[kind]
        for name in names.split():
            heard = await node.ask("GET", f"{lake}/{kind}/{name}", user="ann/ops")
            assert heard.status == (200 if name in seen[kind] else 403), name
