"""Opening a metalake for one request: one read of all pointers that its control plane rests on."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from headgate.access.decisions import Access, Scope, permits, weigh
from headgate.access.rules import Rule
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.compiling import METALAKE_MARK
from headgate.catalog.entities import MetalakeEntity
from headgate.catalog.guards import RIGHTS, Guard
from headgate.catalog.identities import IDENTITIES_KEY
from headgate.catalog.in_use import metalake_in_use
from headgate.catalog.judging import Judge
from headgate.catalog.openings import Heads, Openings
from headgate.catalog.polling import Validation
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import Forbidden, MetalakeNotFound
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.index import HeadView, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.pointers import Vector
from headgate.kernel.realms import (
    DROPPED,
    REALMS_KEY,
    Realm,
    RealmState,
    check_serving,
    find_realm,
)
from headgate.kernel.records import EMPTY, PointerKey
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import METALAKES_AT_ONCE, OPENINGS_KNOWN_MAX

R = TypeVar("R")


class OpenedMetalake(NamedTuple):
    """A metalake for one call, as it was at one instant after the call arrived."""

    call: Call
    realm: RealmHandle
    state: Realm
    """Its name, whether it is switched on, and since when."""
    root: MetalakeEntity
    access: Access
    """What the caller may do."""
    catalogs: HeadView
    principals: HeadView
    roles: HeadView
    grants: HeadView
    identities: HeadView
    """Users that the server keeps for all metalakes."""
    heads: Heads
    judge: Judge

    @property
    def id(self) -> int:
        """What rights on the metalake itself are given on."""
        return int(self.realm.id)

    @property
    def name(self) -> str:
        """As it is called now."""
        return self.state.name

    @property
    def owner(self) -> int:
        """Who owns what the caller creates; 0 where authorization is off."""
        return self.access.user

    def require(
        self,
        rule: Rule,
        scopes: Iterable[Scope] = (),
        standing: int = 0,
        names: tuple[str, ...] = (),
        shown: str = "",
    ) -> None:
        """Refuse the call unless this rule permits it on the last of these, below the metalake."""
        access, weight = self.access, weigh(self.access, scopes)
        if standing:
            access = access._replace(standing=access.standing | standing)
        self.judge.check(rule, access, weight, self.call, names, shown)

    def may(self, rule: Rule, scopes: Iterable[Scope] = (), standing: int = 0) -> bool:
        """Whether the rule permits it, without refusing anything."""
        access = self.access
        if not access.is_checked:
            return True
        return permits(rule, weigh(access, scopes), access.standing | standing)

    async def commit(self, pointer: str, attempt: Callable[[Draft], R]) -> R:
        """Change what one pointer of the metalake holds."""
        return await self.realm.commit(pointer, attempt)


class MetalakeOpenings:
    """Opens metalakes by name."""

    def __init__(self, kernel: Kernel, openings: Openings) -> None:
        self._kernel = kernel
        self._guard: Guard = openings.guard
        self._judge: Judge = openings.judge
        self._validation: Validation = openings.validation
        self._known: dict[str, tuple[str, Vector]] = {}
        """Which realm a name meant, and under which heads."""

    async def open(self, call: Call, *, inactive: bool = False) -> OpenedMetalake:
        """The metalake that a call is about, as it is now; `inactive` also if it is off."""
        return await self._open(call, self._judge, inactive=inactive)

    async def _open(self, call: Call, judge: Judge, *, inactive: bool) -> OpenedMetalake:
        name = call.catalog.metalake
        id, known = self._known.get(name) or ("", None)
        identities = None
        if not id:
            id, identities = await self._look_up(name)
        while id:
            keys = self._keys(id)
            vector = await self._validation.reader(call).read_together(keys, known)
            still = await self._find(vector[0], name)
            if still is not None and still.id == id:
                self._remember(name, id, vector)
                heads = Heads(self._validation.usual, keys, vector)
                opened = await self._opened(call, still, heads, judge)
                if not inactive:
                    with metalake_in_use(name):  # all its users may know that
                        check_serving(still)
                return opened
            id, known = still.id if still else "", None
        await self._refuse(call, judge, identities)
        raise MetalakeNotFound(f"Metalake does not exist: {name}")

    async def _look_up(self, name: str) -> tuple[str, int | None]:
        """The id of a metalake, empty if there is none, and the value of the identities' pointer.

        One read, as for a metalake that is known: its absence is not to be told by the time.
        """
        realms, identities = await self._kernel.pointers.read([REALMS_KEY, IDENTITIES_KEY])
        found = await self._find(realms, name)
        return found.id if found else "", identities

    async def _find(self, realms: int | None, name: str) -> Realm | None:
        head = await open_head(self._kernel.store, SYSTEM_REALM, realms)
        realm = await find_realm(head, name)
        return realm if realm is not None and is_there(realm) else None

    def _remember(self, name: str, id: str, vector: Vector) -> None:
        if len(self._known) >= OPENINGS_KNOWN_MAX:
            self._known.clear()
        self._known[name] = id, vector

    async def known_to(self, call: Call) -> list[OpenedMetalake]:
        """All that the caller is a user of, by name, switched on or off.

        That it is no user of the others is no refusal: it did not ask for them.
        """
        realms = list(filter(is_there, await self._kernel.realms.list()))
        found: list[OpenedMetalake] = []
        for at in range(0, len(realms), METALAKES_AT_ONCE):
            found += await self._known_of(call, realms[at : at + METALAKES_AT_ONCE])
        return found

    async def _known_of(self, call: Call, realms: Sequence[Realm]) -> list[OpenedMetalake]:
        """Those that the caller is a user of; the pointers of all are read together."""
        unheard, found = self._judge.unheard(), []
        all_keys = tuple(dict.fromkeys(key for realm in realms for key in self._keys(realm.id)))
        vector = await self._validation.reader(call).read_together(all_keys, None)
        values = dict(zip(all_keys, vector, strict=True))
        for realm in realms:
            still, keys = await self._find(values[REALMS_KEY], realm.name), self._keys(realm.id)
            if still is None or still.id != realm.id:
                continue  # it was dropped or renamed since
            named = call._replace(catalog=CatalogName(still.name, ""))
            heads = Heads(self._validation.usual, keys, [values[key] for key in keys])
            with suppress(Forbidden):
                opened = await self._opened(named, still, heads, unheard)
                found.append(opened._replace(judge=self._judge))
        return found

    async def _opened(self, call: Call, realm: Realm, heads: Heads, judge: Judge) -> OpenedMetalake:
        store, own = self._kernel.store, len(self._guard.keys(realm.id))
        catalogs, rights = heads.vector[1], heads.vector[-len(RIGHTS) :]
        wanted = [value for value in (catalogs, *rights) if value and value != EMPTY]
        await store.fetch(realm.id, wanted)
        access = await judge.admit(self._guard, call, realm.id, heads.vector[2 : 2 + own])
        root, principals, roles, grants = [
            await open_head(store, realm.id, value) for value in rights
        ]
        entity = root.head.marks.get(METALAKE_MARK)
        return OpenedMetalake(
            call,
            self._kernel.realm(realm.id),
            realm,
            await root.get(entity, MetalakeEntity) if entity else MetalakeEntity(),
            access,
            await open_head(store, realm.id, catalogs),
            principals,
            roles,
            grants,
            await self._identities(heads),
            heads,
            judge,
        )

    async def _identities(self, heads: Heads) -> HeadView:
        """What is kept of users, by the value that was read; nothing if none was."""
        value = dict(zip(heads.keys, heads.vector, strict=True)).get(IDENTITIES_KEY)
        return await open_head(self._kernel.store, SYSTEM_REALM, value)

    def _keys(self, realm: str) -> tuple[PointerKey, ...]:
        """All pointers that the answer depends on: at the end those of the rights."""
        own = self._guard.keys(realm)
        rights = tuple(PointerKey(realm, name) for name in RIGHTS)
        return (
            REALMS_KEY,
            PointerKey(realm, CATALOG_POINTER),
            *(own if self._guard.is_on else (*own, *rights)),
        )

    async def _refuse(self, call: Call, judge: Judge, identities: int | None) -> None:
        """Who may not know which metalakes there are is not told that there is none."""
        if identities is None:
            [identities] = await self._kernel.pointers.read([IDENTITIES_KEY])
        await self._guard.confirmed(call.caller, identities)
        judge.miss_metalake(self._guard, call)


def is_there(realm: Realm) -> bool:
    """Whether a realm is a metalake that people know, switched on or off."""
    known = realm.state in {RealmState.ACTIVE, RealmState.INACTIVE}
    return known and DROPPED not in realm.properties
