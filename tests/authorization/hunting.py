"""A hunt for stale answers: rights change at random, and each check is compared with the model."""

import random
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from headgate.access import rules
from headgate.access.objects import ObjectType as T
from headgate.access.privileges import BINDS, Privilege
from headgate.access.rules import Rule
from headgate.catalog.calls import Caller
from headgate.catalog.principals import GROUP, USER
from headgate.errors import Forbidden, MetalakeNotInUse
from headgate.testing.access_model import AccessModel, Path
from tests.authorization.clerk import Clerk
from tests.authorization.guarded import ADMIN, GuardedNode
from tests.unit.catalog.lakes import CATALOG

USERS = ("ann", "bob", "cat", ADMIN)
STRANGER = "eve"
GROUPS = ("ops", "dev")
ROLES = ("r1", "r2", "r3")
SCHEMAS = (("a",), ("a", "b"), ("c",))
RELATIONS = tuple((*schema, name) for schema in SCHEMAS for name in ("t", "u", "v"))
_USED = rules.MISS_RELATION.rights | rules.CREATE_SCHEMA.rights | rules.ASSIGN_ROLES.rights
RIGHTS = tuple(
    right
    for right in Privilege
    if right & (_USED | rules.CHANGE_USERS.rights | rules.CREATE_CATALOG.rights)
)

ON_METALAKE = (rules.CHANGE_USERS, rules.CREATE_CATALOG, rules.ASSIGN_ROLES, rules.ALTER_METALAKE)
ON_CATALOG = (rules.LOAD_CATALOG, rules.ALTER_CATALOG, rules.CREATE_SCHEMA)
ON_SCHEMA = (rules.LOAD_SCHEMA, rules.ALTER_SCHEMA, rules.CREATE_SCHEMA, rules.CREATE_TABLE)
ON_RELATION = (
    rules.LOAD_TABLE,
    rules.ALTER_TABLE,
    rules.DROP_TABLE,
    rules.LOAD_VIEW,
    rules.ALTER_VIEW,
)

YES, NO, OFF = "yes", "no", "off"


class Check(NamedTuple):
    """A question: may this caller do this here?"""

    caller: Caller
    rule: Rule
    path: Path

    def expected(self, model: AccessModel) -> str:
        """The answer that is right."""
        is_permitted = model.permits(self.caller, self.rule, self.path)
        if model.is_on:
            return YES if is_permitted else NO
        return OFF if model.permits(self.caller, rules.LOAD_METALAKE, ()) else NO

    async def answer(self, node: GuardedNode) -> str:
        """The answer of a node."""
        try:
            if not self.path:
                (await node.metalake(self.caller)).require(self.rule)
            else:
                _, *below = self.path
                is_leaf = self.rule in ON_RELATION
                levels, name = (below[:-1], below[-1]) if is_leaf else (below, "")
                await (await node.catalog(self.caller)).require(self.rule, tuple(levels), name)
        except Forbidden:
            return NO
        except MetalakeNotInUse:
            return OFF
        return YES


class Hunt:
    """Chooses what changes and what is asked."""

    def __init__(self, clerk: Clerk, seed: int) -> None:
        self.clerk = clerk
        self.model = clerk.model
        self._random = random.Random(seed)

    async def begin(self) -> None:
        """A world in which most things are there and some may be done."""
        clerk = self.clerk
        await clerk.add(USER, *USERS[:3])
        await clerk.add(GROUP, *GROUPS)
        for role in ROLES:
            await clerk.create_role(role)
        for schema in SCHEMAS:
            await clerk.create_schema(*schema)
            for name in ("t", "v"):
                await clerk.create(T.TABLE if name == "t" else T.VIEW, *schema, name)
        for right in (Privilege.USE_CATALOG, Privilege.USE_SCHEMA, Privilege.SELECT_TABLE):
            await clerk.grant("r1", (), right)
        await clerk.assign(USER, "ann", "r1")
        await clerk.assign(GROUP, "ops", "r1")

    async def change(self) -> str:
        """Change something; what it was."""
        if not self.model.is_on:
            await self.clerk.switch_metalake(on=True)
            return "metalake on"
        while True:
            what = self._random.choice(self._changes)
            done = await what(self)
            if done:
                return done

    def check(self) -> Check:
        """Ask something."""
        choose = self._random.choice
        name = choose((*USERS, *USERS[:2], STRANGER))
        groups = tuple(one for one in GROUPS if self._random.random() < 0.4)
        roles = None
        if self._random.random() < 0.1:
            roles = tuple(one for one in ROLES if self._random.random() < 0.4)
        caller = Caller(name, groups, roles)
        dice = self._random.random()
        if dice < 0.1:
            return Check(caller, choose(ON_METALAKE), ())
        if dice < 0.2:
            return Check(caller, choose(ON_CATALOG), (CATALOG,))
        if dice < 0.4:
            return Check(caller, choose(ON_SCHEMA), (CATALOG, *choose(SCHEMAS)))
        return Check(caller, choose(ON_RELATION), (CATALOG, *choose(RELATIONS)))

    async def _switch_principal(self) -> str:
        """A user or group comes or goes."""
        sort, names = self._random.choice(((USER, USERS), (GROUP, GROUPS)))
        name = self._random.choice(names)
        known = self.model.users if sort is USER else self.model.groups
        if name not in known:
            await self.clerk.add(sort, name)
            return f"add {name}"
        if self.model.metalake.owner is known[name] or self._random.random() < 0.6:
            return ""
        await self.clerk.remove(sort, name)
        return f"remove {name}"

    async def _switch_user(self) -> str:
        """A user is switched off, or on."""
        name = self._random.choice(USERS)
        user = self.model.users.get(name)
        if user is None or self.model.metalake.owner is user:
            return ""
        await self.clerk.switch_user(name, on=not user.is_on)
        return f"switch {name}"

    async def _switch_metalake(self) -> str:
        """The metalake is switched off; the next change switches it on."""
        if self._random.random() < 0.8:
            return ""
        await self.clerk.switch_metalake(on=False)
        return "metalake off"

    async def _switch_role(self) -> str:
        """A role comes or goes."""
        name = self._random.choice(ROLES)
        if name not in self.model.roles:
            await self.clerk.create_role(name)
            return f"create {name}"
        if self._random.random() < 0.7:
            return ""
        await self.clerk.delete_role(name)
        return f"delete {name}"

    async def _assign(self) -> str:
        """A user or group gets or loses a role."""
        sort, names = self._random.choice(((USER, USERS), (GROUP, GROUPS)))
        name, role = self._random.choice(names), self._random.choice(ROLES)
        principal = (self.model.users if sort is USER else self.model.groups).get(name)
        if principal is None or role not in self.model.roles:
            return ""
        if (principal, self.model.roles[role]) in self.model.assigned:
            await self.clerk.unassign(sort, name, role)
            return f"take {role} from {name}"
        await self.clerk.assign(sort, name, role)
        return f"give {role} to {name}"

    async def _grant(self) -> str:
        """A role gets or loses a right, or it is denied, or denied no more."""
        name, path = self._random.choice(ROLES), self._path()
        role, thing = self.model.roles.get(name), self.model.find(path)
        right, deny = self._random.choice(RIGHTS), self._random.random() < 0.25
        if role is None or thing is None or not BINDS[right] & thing.kind:
            return ""
        mine, other = (role.deny, role.allow) if deny else (role.allow, role.deny)
        if (thing, right) in mine:
            await self.clerk.revoke(name, path, right, deny=deny)
            return f"revoke {right.name} {deny=} on {path} from {name}"
        if (thing, right) in other:
            return ""
        await self.clerk.grant(name, path, right, deny=deny)
        return f"grant {right.name} {deny=} on {path} to {name}"

    async def _own(self) -> str:
        """Something gets another owner."""
        sort, names = self._random.choice(((USER, USERS), (GROUP, GROUPS)))
        name, path = self._random.choice(names), self._path()
        known = self.model.users if sort is USER else self.model.groups
        if name not in known or self.model.find(path) is None:
            return ""
        await self.clerk.own(path, sort, name)
        return f"{name} owns {path}"

    async def _switch_relation(self) -> str:
        """A table or view is dropped, created, or renamed."""
        path = self._random.choice(RELATIONS)
        if self.model.find((CATALOG, *path[:-1])) is None:
            return ""
        if self.model.find((CATALOG, *path)) is None:
            kind = self._random.choice((T.TABLE, T.VIEW))
            await self.clerk.create(kind, *path)
            return f"create {path}"
        target = self._random.choice(RELATIONS)
        is_free = self.model.find((CATALOG, *target)) is None
        if is_free and self.model.find((CATALOG, *target[:-1])) is not None:
            await self.clerk.rename(path, target)
            return f"rename {path} to {target}"
        await self.clerk.drop(*path)
        return f"drop {path}"

    async def _switch_schema(self) -> str:
        """A schema is created; or dropped with all that is in it, one by one, and created again."""
        schema = self._random.choice(SCHEMAS[1:])
        thing = self.model.find((CATALOG, *schema))
        if thing is None:
            if self.model.find((CATALOG, *schema[:-1])) is None:
                return ""
            await self.clerk.create_schema(*schema)
            return f"create {schema}"
        if len(thing.below) > 1:
            return ""
        for name in list(thing.below):
            await self.clerk.drop(*schema, name)
            return f"drop {name} of {schema}"
        await self.clerk.drop(*schema)
        return f"drop {schema}"

    def _path(self) -> Path:
        if self._random.random() < 0.2:
            return ()
        return (CATALOG, *self._random.choice(((), *SCHEMAS, *RELATIONS)))

    _changes: Sequence[Callable[["Hunt"], Awaitable[str]]] = (
        _switch_principal,
        _switch_user,
        _switch_metalake,
        _switch_role,
        _assign,
        _assign,
        _grant,
        _grant,
        _grant,
        _own,
        _switch_relation,
        _switch_relation,
        _switch_schema,
    )


class Stale(NamedTuple):
    """A wrong answer."""

    after: str
    check: Check
    answer: str
    expected: str
