"""Opening a catalog for one request: one read of all pointers that its answer depends on.

Names are resolved in the heads that this read returned. What was resolved before is used again as
long as the heads are the same: then the read is all that a request costs the database.
"""

import shlex
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

from headgate.access.auditing import Unrecorded
from headgate.access.decisions import (
    Access,
    Scope,
    permits,
    sieve,
    weigh,
)
from headgate.access.objects import ObjectType
from headgate.access.rules import LOAD_CATALOG, LOAD_TABLE, LOAD_VIEW, MISS_RELATION, Rule
from headgate.catalog.calls import Call, CatalogName, Done, decode_outcome
from headgate.catalog.catalog_names import CatalogNames, no_catalog, realm_of, too_busy
from headgate.catalog.entities import CatalogEntity, Entry
from headgate.catalog.guards import Guard, GuardOptions
from headgate.catalog.in_use import metalake_in_use
from headgate.catalog.judging import Judge
from headgate.catalog.naming import RELATIONS, Names
from headgate.catalog.nesting import SEPARATOR, check_nesting
from headgate.catalog.polling import PointerReader, Validation, per_request
from headgate.catalog.ports import Audit
from headgate.catalog.stored_names import CATALOG_POINTER, NAMES
from headgate.catalog.ways import Way, way_to
from headgate.errors import (
    BadSetting,
    CatalogNotFound,
    CatalogNotInUse,
    Conflict,
    MetalakeNotFound,
    MetalakeNotInUse,
)
from headgate.kernel import operations
from headgate.kernel.handle import RealmHandle
from headgate.kernel.history import KnownHead
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.pointers import Vector
from headgate.kernel.realms import REALMS_KEY, check_active
from headgate.kernel.records import PointerKey
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import ENTRIES_KNOWN_MAX, OPENINGS_KNOWN_MAX, RESOLVE_TRIES_MAX
from headgate.model.locations import check_allowed
from headgate.model.names import Identifier, Levels

OWN_KEYS = 3  # the pointers of an opening before those that rights depend on

R = TypeVar("R")


class Heads(NamedTuple):
    """All pointers that an answer about a catalog depends on, as they were."""

    pointers: PointerReader
    keys: tuple[PointerKey, ...]
    vector: Vector

    async def holds(self) -> bool:
        """Whether all are as they were; one read of the database, or none if they are polled."""
        return await self.pointers.read_together(self.keys, self.vector) == self.vector


class Opened(NamedTuple):
    """A catalog for one call, as it was at one instant after the call arrived."""

    call: Call
    realm: RealmHandle
    catalog: CatalogEntity
    head: HeadView
    entries: dict[Identifier, Entry]
    """Tables and views that were looked up under this head, by this call or another."""
    heads: Heads
    access: Access
    """What the caller may do."""
    scope: Scope
    """The catalog, as rules see it."""
    ways: dict[tuple[Levels, bytes, str], Way]
    """Ways that were looked up under this head, by this call or another."""
    judge: Judge

    @property
    def owner(self) -> int:
        """Who owns what the caller creates; 0 where authorization is off."""
        return self.access.user

    async def require(
        self, rule: Rule, levels: Levels = (), name: str = "", group: bytes = RELATIONS
    ) -> None:
        """Refuse the call unless this rule permits it, here.

        Where a way ends before, what it leads to counts: so who may not know whether something is
        there is not told. Only who may create a table is told that there is none.
        """
        if not self.access.is_checked:
            return
        way = await self._way(levels, group, name)
        weight = weigh(self.access, (self.scope, *way.scopes))
        if name and not way.is_whole and rule in (LOAD_TABLE, LOAD_VIEW):
            # A refusal names the rule that was asked for: another would tell that nothing is there.
            rules = (rule, MISS_RELATION)
            rule = next((one for one in rules if permits(one, weight, self.access.standing)), rule)
        names = (self.catalog.name, *levels, *((name,) if name else ()))
        self.judge.check(rule, self.access, weight, self.call, names)

    async def may(self, rule: Rule, levels: Levels, name: str = "") -> bool:
        """Whether the rule permits it with a namespace, table or view, without refusing it."""
        if not self.access.is_checked:
            return True
        way = await self._way(levels, RELATIONS, name)
        weight = weigh(self.access, (self.scope, *way.scopes))
        return permits(rule, weight, self.access.standing)

    async def sieve(self, rule: Rule, levels: Levels) -> Callable[[Entry], bool] | None:
        """Tells which entries below a namespace the caller may see; None if it may see all."""
        if not self.access.is_checked:
            return None
        way = await self._way(levels, b"", "")
        return sieve(rule, self.access, weigh(self.access, (self.scope, *way.scopes)))

    async def _way(self, levels: Levels, group: bytes, name: str) -> Way:
        key = (levels, group, name)
        way = self.ways.get(key)
        if way is None:
            way = await self.look(lambda names: way_to(names, levels, group, name))
            if way.is_whole and len(self.ways) < ENTRIES_KNOWN_MAX:  # else names have any length
                self.ways[key] = way
        return way

    @property
    def pointer(self) -> str:
        """The pointer that commits to this catalog swap."""
        return head_pointer(self.catalog.id)

    @property
    def allowed_locations(self) -> tuple[str, ...]:
        """Where files of this catalog may lie."""
        return self.catalog.locations

    def check_allowed(
        self, locations: Iterable[str], can_be_allowed: Callable[[str], bool]
    ) -> None:
        """Refuse locations where files of this catalog may not lie, and say how to allow those
        that can be."""
        for location in locations:
            allowing = partial(self._allowing, location, can_be_allowed)
            check_allowed(location, self.allowed_locations, allowing)

    def _allowing(self, location: str, can_be_allowed: Callable[[str], bool]) -> str:
        """The command that allows a location, empty if it would be refused; `set` replaces what was
        allowed before."""
        folder = location.partition("/metadata/")[0]
        if not can_be_allowed(folder):
            return ""
        allowed = ",".join((*self.catalog.allowed_locations, folder))
        metalake, catalog = self.call.catalog
        words = ("headgate", "catalog", "set", catalog, f"allowed-locations={allowed}")
        return f"`{shlex.join((*words, '--metalake', metalake))}`"

    async def look(self, find: Callable[[Names], R]) -> R:
        """What this pure function finds in the catalog's names."""
        return await look(self.head.index(NAMES), lambda tree: find(Names(tree)))

    def named(self, what: str) -> str:
        """What a call does, told apart from other calls that do the same kind of thing."""
        return f"{what} {self.call.fingerprint}" if self.call.fingerprint else what

    async def done_before(self, what: str, now_ms: int) -> Done | None:
        """What an earlier delivery of this call did, None if this is the first."""
        key = self.call.key
        if not key:
            return None
        index = self.head.index(operations.INDEX)
        record = await look(index, lambda tree: operations.find(tree, key, now_ms))
        return None if record is None else decode_outcome(record, self.named(what))


class _Known(NamedTuple):
    """What names meant under which heads."""

    realm: str
    catalog: CatalogEntity
    owner: int
    vector: Vector
    opened: Opened | None = None
    """For an earlier call under the same heads."""


class Openings:
    """Opens catalogs by name."""

    def __init__(
        self,
        kernel: Kernel,
        separator: str = "",
        guard: Guard | None = None,
        audit: Audit | None = None,
        validation: Validation | None = None,
    ) -> None:
        self.validation = validation or per_request(kernel)
        self.guard = guard or Guard(kernel, GuardOptions())
        self.judge = Judge(audit or Unrecorded(), kernel.clock, separator)
        self._kernel = kernel
        self._separator = separator
        self._names = CatalogNames(kernel, self.guard, self.judge, self.validation)
        self._known: dict[CatalogName, _Known] = {}

    async def open(self, call: Call) -> Opened:
        """The catalog that a call is about, as it is now."""
        known = self._known.get(call.catalog)
        try:
            return await self._open(call, known)
        except (MetalakeNotFound, CatalogNotFound, MetalakeNotInUse):
            if known is None:
                raise
            self._known.pop(call.catalog, None)
        return await self._open(call, None)  # who may not know that it is gone is refused there

    async def _open(self, call: Call, known: _Known | None) -> Opened:
        name = call.catalog
        reader = self.validation.reader(call)
        for _ in range(RESOLVE_TRIES_MAX):
            if known is None:
                known = _Known(*await self._names.find(call), [])
            realm, catalog, owner, vector, before = known
            keys = self._keys(realm, catalog.id)
            read = await reader.read_together(keys, vector or None)
            if read[:1] != vector[:1] and await self._realm_under(read[0], name) != realm:
                known = None  # the name is another metalake's by now
                continue
            if read != vector:  # all that moved is read together
                heads = [*read[1:OWN_KEYS], *read[OWN_KEYS + 1 :]]
                await self._kernel.store.fetch(realm, [one for one in heads if one])
            if read[:2] != vector[:2]:
                catalogs = await open_head(self._kernel.store, realm, read[1])
                still = _Known(realm, *await self._names.in_list(realm, catalogs, name), read)
                if still.catalog.id != catalog.id:
                    known = still
                    continue
                catalog, owner = still.catalog, still.owner
            access = await self.judge.admit(self.guard, call, realm, read[OWN_KEYS:])
            self._check_in_use(catalog, owner, access, call)
            if before is not None and read == vector:
                return before._replace(call=call, access=access)
            current = known._replace(catalog=catalog, owner=owner)
            opened = await self._opened(call, current, read, access)
            await self._check_separator(opened, before)
            self._remember(name, _Known(realm, catalog, owner, read, opened))
            return opened
        raise too_busy(name)

    async def _realm_under(self, value: int | None, name: CatalogName) -> str:
        """The metalake of this name under this head of all realms, which must serve requests."""
        realms = await open_head(self._kernel.store, SYSTEM_REALM, value)
        id = await realm_of(realms, name.metalake)
        with metalake_in_use(name.metalake):
            await check_active(realms, id)
        return id

    async def _opened(self, call: Call, known: _Known, vector: Vector, access: Access) -> Opened:
        realm, catalog = known.realm, known.catalog
        head = vector[2]
        view = None if head is None else await open_head(self._kernel.store, realm, head)
        if view is None or view.head.sealed:
            self.judge.check(LOAD_CATALOG, access, access.base, call, (call.catalog.catalog,))
            raise no_catalog(call.catalog)
        keys = self._keys(realm, catalog.id)
        self._kernel.store.history.see(keys[2], KnownHead(view.head.seq, view.id))
        return Opened(
            call,
            self._kernel.realm(realm),
            catalog,
            view,
            {},
            Heads(self.validation.usual, keys, vector),
            access,
            _scope_of(catalog, known.owner),
            {},
            self.judge,
        )

    def _check_in_use(self, catalog: CatalogEntity, owner: int, access: Access, call: Call) -> None:
        """A catalog that is switched off serves nobody but the server itself.

        Who may not know that there is one is not told that it is off.
        """
        if catalog.in_use or call.caller.is_server:
            return
        weight = weigh(access, (_scope_of(catalog, owner),))
        self.judge.check(LOAD_CATALOG, access, weight, call, (call.catalog.catalog,))
        raise CatalogNotInUse(
            f"Catalog is not in use: {call.catalog}",
            why="its owner switched it off",
            fix="Enable it first",
        )

    async def _check_separator(self, opened: Opened, before: Opened | None) -> None:
        """Refuse a catalog whose names were checked with another separator, if ours is in one."""
        catalog, own = opened.catalog, self._separator
        checked = catalog.properties.get(SEPARATOR, own)
        if not catalog.nested or not own or checked == own:
            return
        if before is not None and before.catalog != catalog:
            before = None  # it may have been flat
        try:
            await check_nesting(
                opened.head.index(NAMES), own, before.head.index(NAMES) if before else None
            )
        except Conflict as error:
            raise BadSetting(
                f"Catalog {opened.call.catalog} cannot be served with the separator {own!r}",
                why=f"it was made nested with {checked!r}, and {error.why}",
                fix=f"Start the server with schema.separator={checked!r}, or rename these schemas",
            ) from error

    def _keys(self, realm: str, catalog: int) -> tuple[PointerKey, ...]:
        """All pointers that an answer about a catalog depends on."""
        return _keys(realm, catalog, self.guard)

    def _remember(self, name: CatalogName, known: _Known) -> None:
        if len(self._known) >= OPENINGS_KNOWN_MAX:
            self._known.clear()
        self._known[name] = known


@lru_cache(OPENINGS_KNOWN_MAX)
def _keys(realm: str, catalog: int, guard: Guard) -> tuple[PointerKey, ...]:
    head = PointerKey(realm, head_pointer(catalog))
    return (REALMS_KEY, PointerKey(realm, CATALOG_POINTER), head, *guard.keys(realm))


def head_pointer(catalog: int) -> str:
    """The pointer of all that a catalog holds."""
    return f"cat/{catalog}/heads/main"


async def content_of(kernel: Kernel, realm: str, catalog: int) -> HeadView:
    """All that a catalog holds now, also in a metalake that serves nobody.

    A catalog whose pointer is missing holds nothing.
    """
    [value] = await kernel.pointers.read([PointerKey(realm, head_pointer(catalog))])
    return await open_head(kernel.store, realm, value)


def _scope_of(catalog: CatalogEntity, owner: int) -> Scope:
    return Scope(ObjectType.CATALOG, catalog.id, owner)
