"""Who may do what, as plainly as it can be said: what a server answers is compared with this.

Nothing here is quick, cached or shared with the server but the table of rules. Users, groups, roles
and objects are Python objects: one that is dropped and made again is another one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege
from headgate.access.rules import LOAD_TABLE, LOAD_VIEW, MISS_RELATION, Clause, Rule, Standing
from headgate.catalog.calls import Caller

Path = tuple[str, ...]
"""Names from the catalog down; none for the metalake itself."""


@dataclass(eq=False)
class Principal:
    """A user or group."""

    name: str
    is_on: bool = True


@dataclass(eq=False)
class Thing:
    """An object that is owned and that rights are given on."""

    kind: T
    name: str
    owner: Principal | None = None
    below: dict[str, "Thing"] = field(default_factory=dict)


@dataclass(eq=False)
class Role:
    """Rights on objects."""

    name: str
    allow: set[tuple[Thing, Privilege]] = field(default_factory=set)
    deny: set[tuple[Thing, Privilege]] = field(default_factory=set)


class AccessModel:
    """One metalake with all that is in it."""

    def __init__(self, admins: Sequence[str] = ()) -> None:
        self.admins = frozenset(admins)
        self.metalake = Thing(T.METALAKE, "")
        self.is_on = True
        self.users: dict[str, Principal] = {}
        self.groups: dict[str, Principal] = {}
        self.roles: dict[str, Role] = {}
        self.assigned: set[tuple[Principal, Role]] = set()

    def find(self, path: Path) -> Thing | None:
        """What is there under these names."""
        way = list(self._way(path))
        return way[-1] if len(way) == len(path) + 1 else None

    def permits(self, caller: Caller, rule: Rule, path: Path) -> bool:
        """Whether a caller may do this here, also if nothing is there."""
        me = self._principals(caller)
        held = {role for owner, role in self.assigned if owner in me and self._exists(role)}
        if not self._is_admitted(caller) or not self._has(caller, held):
            return False
        way = list(self._way(path))
        if self._holds(rule, caller, me, held, way):
            return True
        is_missed = rule in (LOAD_TABLE, LOAD_VIEW) and len(way) <= len(path)
        return is_missed and self._holds(MISS_RELATION, caller, me, held, way)

    def _is_admitted(self, caller: Caller) -> bool:
        user = self.users.get(caller.name)
        return user.is_on if user is not None else self._is_heir(caller)

    def _is_heir(self, caller: Caller) -> bool:
        """Those who may make metalakes own those that nobody owns."""
        return caller.name in self.admins and not self._is_owned()

    def _is_owned(self) -> bool:
        return self.metalake.owner in (*self.users.values(), *self.groups.values())

    def _principals(self, caller: Caller) -> list[Principal]:
        mine = [self.groups[name] for name in caller.groups if name in self.groups]
        user = self.users.get(caller.name)
        return mine if user is None else [user, *mine]

    def _exists(self, role: Role) -> bool:
        return self.roles.get(role.name) is role

    def _has(self, caller: Caller, held: set[Role]) -> bool:
        """Whether it has the roles that it wants to use."""
        return {role.name for role in held}.issuperset(caller.roles or ())

    def _way(self, path: Path) -> Iterator[Thing]:
        thing: Thing | None = self.metalake
        names = iter(path)
        while thing is not None:
            yield thing
            name = next(names, None)
            thing = None if name is None else thing.below.get(name)

    def _holds(
        self,
        rule: Rule,
        caller: Caller,
        me: list[Principal],
        held: set[Role],
        way: list[Thing],
    ) -> bool:
        used = {role for role in held if caller.roles is None or role.name in caller.roles}
        return any(
            self._owns(clause, caller, me, way)
            and all(
                any((thing, right) in role.allow for role in used for thing in way)
                and not any((thing, right) in role.deny for role in held for thing in way)
                for right in Privilege
                if right & clause.rights
            )
            and self._is(clause, caller)
            for clause in rule.clauses
        )

    def _owns(self, clause: Clause, caller: Caller, me: list[Principal], way: list[Thing]) -> bool:
        return clause.owner == 0 or any(
            thing.kind & clause.owner
            and (thing.owner in me or (thing is self.metalake and self._is_heir(caller)))
            for thing in way
        )

    def _is(self, clause: Clause, caller: Caller) -> bool:
        standing = Standing.MEMBER
        if caller.name in self.admins:
            standing |= Standing.SERVICE_ADMIN
        return clause.standing & ~standing == 0
