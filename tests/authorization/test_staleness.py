"""Two nodes on one database: what one changes, the other knows at its next request."""

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headgate.access import rules
from headgate.access.rules import Rule
from headgate.catalog.calls import Call
from headgate.catalog.guards import RIGHTS, Guard, GuardOptions
from headgate.catalog.identity_groups import change_members, create_group
from headgate.catalog.identity_users import vouch_for
from headgate.catalog.openings import Opened
from headgate.http.authentication.active_roles import ACTIVE_ROLES
from headgate.kernel.kernel import Kernel
from headgate.testing.access_model import AccessModel
from headgate.testing.kernels import Rig
from tests.authorization.clerk import Clerk
from tests.authorization.guarded import GuardedNode, GuardedWorld, guarded_world
from tests.authorization.hunting import GROUPS, NO, OFF, ON_RELATION, YES, Check, Hunt, Stale
from tests.authorization.sites import Mode, Place, Site, processes
from tests.conftest import FULL
from tests.seeds import draw_seed

CHECKS = 100_000 if FULL else 1_000
CHECKS_PER_CHANGE = 10
CHANGES_MEANWHILE = 3_000 if FULL else 60
CHECKERS = 4
HTTP_CHECKS = 10_000 if FULL else 200
MUTANT_CHECKS = 20_000


async def hunted(hunt: Hunt, checking: Sequence[GuardedNode], checks: int) -> list[Stale]:
    """One change after the other, and behind each some checks, until there is a wrong answer."""
    stale: list[Stale] = []
    answers = set()
    for _ in range(checks // CHECKS_PER_CHANGE):
        if stale:
            return stale
        after = await hunt.change()
        for number in range(CHECKS_PER_CHANGE):
            check = hunt.check()
            answer = await check.answer(checking[number % len(checking)])
            expected = check.expected(hunt.model)
            answers.add(answer)
            if answer != expected:
                stale.append(Stale(after, check, answer, expected))
    assert YES in answers, "nobody could do anything"
    return stale


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_no_answer_is_stale(
    make_rig: Callable[[str], Rig], tmp_path: Path, database: str
) -> None:
    """Roles, rights, groups, owners, names and switches: each check knows all that was done."""
    hunt_seed = draw_seed(f"staleness on {database}")
    async with guarded_world(make_rig(database), tmp_path) as world:
        changing, checking = await world.guarded(), await world.guarded()
        hunt = Hunt(Clerk(changing), hunt_seed)
        await hunt.begin()
        assert await hunted(hunt, [checking, checking, changing], CHECKS) == []


class Overlapping(NamedTuple):
    """A check that may have met changes: it saw any state from the first to the last of these."""

    check: Check
    first: int
    last: int
    answer: str

    def is_stale(self, states: Sequence[AccessModel]) -> bool:
        return self.answer not in {
            self.check.expected(state) for state in states[self.first : self.last + 1]
        }


class Meanwhile:
    """Changes go on while others check."""

    def __init__(self, hunt: Hunt) -> None:
        self._hunt = hunt
        self._begun = 0
        self.states = [copy.deepcopy(hunt.model)]

    async def change(self, count: int) -> None:
        for _ in range(count):
            self._begun += 1
            await self._hunt.change()
            self.states.append(copy.deepcopy(self._hunt.model))

    async def check(self, node: GuardedNode, hunt: Hunt, until: "asyncio.Task[None]") -> Any:
        made: list[Overlapping] = []
        while not until.done():
            check, first = hunt.check(), len(self.states) - 1
            answer = await check.answer(node)
            made.append(Overlapping(check, first, self._begun, answer))
            await asyncio.sleep(0)
        return made


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_a_check_that_meets_a_change_answers_before_or_after_it(
    make_rig: Callable[[str], Rig], tmp_path: Path, database: str
) -> None:
    """And one that begins when the change is acknowledged never answers before it."""
    hunt_seed = draw_seed(f"overlapping checks on {database}")
    async with guarded_world(make_rig(database), tmp_path) as world:
        changing, checking = await world.guarded(), await world.guarded()
        hunt = Hunt(Clerk(changing), hunt_seed)
        await hunt.begin()
        meanwhile = Meanwhile(hunt)
        writer = asyncio.create_task(meanwhile.change(CHANGES_MEANWHILE))
        nodes = [changing, *[checking] * (CHECKERS - 1)]
        checks = await asyncio.gather(
            *(
                meanwhile.check(node, Hunt(hunt.clerk, hunt_seed + number), writer)
                for number, node in enumerate(nodes, 1)
            )
        )
        await writer
        overlapping = [one for some in checks for one in some]
        assert len(overlapping) > CHANGES_MEANWHILE
        assert any(one.first != one.last for one in overlapping), "none met a change"
        assert [one for one in overlapping if one.is_stale(meanwhile.states)] == []


class OverHttp:
    """Checks on servers that are processes of their own."""

    MEMBERS: Mapping[str, tuple[str, ...]] = {"bob": ("ops",), "cat": ("ops", "dev")}
    """Which groups the servers keep."""
    PATHS: Mapping[Rule, tuple[str, str]] = {
        rules.LOAD_CATALOG: ("GET", ""),
        rules.LOAD_SCHEMA: ("GET", "/{0}"),
        rules.LOAD_TABLE: ("GET", "/{0}/tables/{1}"),
        rules.ALTER_TABLE: ("POST", "/{0}/tables/{1}"),
        rules.LOAD_VIEW: ("GET", "/{0}/views/{1}"),
    }

    def __init__(self, site: Site, hunt: Hunt) -> None:
        self._site = site
        self._hunt = hunt
        self._asked = 0

    async def begin(self, node: GuardedNode) -> None:
        """Let the servers know who is in which group."""
        for user in self.MEMBERS:
            await vouch_for(node.kernel, user)
        for group in GROUPS:
            await create_group(node.kernel, group)
            members = [user for user, groups in self.MEMBERS.items() if group in groups]
            await change_members(node.kernel, group, add=members)

    def check(self) -> Check:
        """Something that can be asked over HTTP and changes nothing."""
        while True:
            check = self._hunt.check()
            if check.rule in self.PATHS:
                groups = self.MEMBERS.get(check.caller.name, ())
                return check._replace(caller=check.caller._replace(groups=groups))

    async def answer(self, check: Check) -> str:
        """The answer of one of the servers, which take turns."""
        caller, rule, (_, *below) = check
        method, form = self.PATHS[rule]
        levels = below[:-1] if rule in ON_RELATION else below
        self._asked += 1
        path = form.format(":".join(levels), below[-1] if below else "")
        heard = await self._site.send(
            self._asked % len(self._site.nodes),
            method,
            f"/iceberg/v1/default.main/namespaces{path}",
            {"updates": []} if method == "POST" else None,
            caller.name,
            **({} if caller.roles is None else {ACTIVE_ROLES: ",".join(caller.roles) or "NONE"}),
        )
        if heard.status_code == 403:
            return OFF if "Metalake is not in use" in heard.text else NO
        assert heard.status_code in {200, 404}, heard.text
        return YES


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"] if FULL else ["sqlite"])
async def test_no_answer_of_a_server_is_stale(
    tmp_path: Path, request: pytest.FixtureRequest, database: str
) -> None:
    """Two server processes answer while a third one changes what they answer by."""
    hunt_seed = draw_seed(f"staleness of servers on {database}")
    place = Place(tmp_path)
    if database == "postgresql":
        place = Place(tmp_path, request.getfixturevalue("postgresql_server").create_database())
    async with processes(Mode(), place, 2) as site, site.insider() as node:
        hunt = Hunt(Clerk(node), hunt_seed)
        over_http = OverHttp(site, hunt)
        await over_http.begin(node)
        await hunt.begin()
        stale: list[Stale] = []
        for _ in range(HTTP_CHECKS // CHECKS_PER_CHANGE):
            after = await hunt.change()
            for _ in range(CHECKS_PER_CHANGE):
                check = over_http.check()
                answer, expected = await over_http.answer(check), check.expected(hunt.model)
                if answer != expected:
                    stale.append(Stale(after, check, answer, expected))
        assert stale == []


class Forgetful(Guard):
    """A guard that does not look at one of the pointers that rights depend on."""

    ignored = 0

    async def _current(self, realm: str, values: tuple[int | None, ...]) -> Any:
        known = self._known.get(realm)
        if known is not None:
            at = self.ignored
            values = (*values[:at], known.values[at], *values[at + 1 :])
        return await super()._current(realm, values)


def forgetful(pointer: str) -> Callable[[Kernel, GuardOptions], Guard]:
    """Makes a guard that ignores this pointer."""

    def make(kernel: Kernel, options: GuardOptions) -> Guard:
        guard = Forgetful(kernel, options)
        guard.ignored = RIGHTS.index(pointer)
        return guard

    return make


@pytest.mark.parametrize("pointer", RIGHTS)
async def test_the_hunt_finds_a_guard_that_ignores_a_pointer(
    world: GuardedWorld, pointer: str
) -> None:
    """Whichever of them it is: so the hunt would find a fault."""
    changing, checking = await world.guarded(), await world.guarded(make=forgetful(pointer))
    hunt = Hunt(Clerk(changing), seed=1)
    await hunt.begin()
    assert await hunted(hunt, [checking], MUTANT_CHECKS)


async def test_the_hunt_finds_names_that_are_looked_up_only_once(
    world: GuardedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that keeps the ways to objects when their names have changed gives wrong answers."""
    changing, checking = await world.guarded(), await world.guarded()
    kept: dict[Any, Any] = {}
    make = checking.lake.openings._opened

    async def stale(call: Call, *rest: Any) -> Opened:
        return (await make(call, *rest))._replace(ways=kept)

    monkeypatch.setattr(checking.lake.openings, "_opened", stale)
    hunt = Hunt(Clerk(changing), seed=1)
    await hunt.begin()
    assert await hunted(hunt, [checking], MUTANT_CHECKS)
