"""What a caller may do in a metalake: compiled once, and good for as long as the pointers stand
that it was compiled from.

Nothing here has a lifetime. Whoever asks brings the values of the pointers that the request has
read, and gets what follows from exactly these. If they moved, the difference of the two heads tells
whose rights changed; the others' are kept.
"""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import NamedTuple, cast

from headgate.access.decisions import EVERYTHING, Access
from headgate.access.rules import Standing
from headgate.catalog.access_cache import AccessCache, BoundedAccessCache, Key
from headgate.catalog.calls import Caller
from headgate.catalog.compiling import Compiled, KnownRoles, Rights, RoleGrants, compile_access
from headgate.catalog.identities import IDENTITIES_KEY, Identities
from headgate.catalog.rights_changes import Changed, changed_rights
from headgate.catalog.shared_work import SharedWork
from headgate.errors import ObjectNotFound
from headgate.kernel.index import open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import EMPTY, PointerKey
from headgate.limits import ACCESS_KNOWN_MAX, REALMS_KNOWN_MAX

ROOT, PRINCIPALS, PRINCIPAL_ROLES, GRANTS = RIGHTS = (
    "root",
    "principals",
    "principal-roles",
    "grants",
)
"""The pointers of a realm that rights depend on."""
_ALL = Compiled(EVERYTHING, frozenset())
ACCESS, ROLE = "access", "role"
"""What the cache holds of a realm: of each caller what it may do, of each role what it grants."""


class GuardOptions(NamedTuple):
    """Whether rights are checked, and who may begin."""

    is_on: bool = False
    admins: frozenset[str] = frozenset()
    is_fine: bool = True
    """Whether only those whose rights changed are compiled again, or all of a metalake."""
    cache_entries: int = ACCESS_KNOWN_MAX
    cache_seconds: float = 0
    """After which what was compiled is compiled again, though nothing changed; 0 means never."""


class _Known(NamedTuple):
    """The heads from which all that the cache holds of a metalake was compiled."""

    realm: str
    values: tuple[int | None, ...]
    rights: Rights


class Guard:
    """Compiles what callers may do."""

    def __init__(
        self,
        kernel: Kernel,
        options: GuardOptions,
        identities: Identities | None = None,
        cache: AccessCache | None = None,
    ) -> None:
        self.cache = cache or BoundedAccessCache(
            kernel.clock, options.cache_entries, options.cache_seconds
        )
        self._kernel = kernel
        self._options = options
        self._identities = identities
        self._known: dict[str, _Known] = {}
        self._opening = SharedWork[_Known]()
        self._compiling = SharedWork[Compiled]()
        """By the values of the pointers: a burst after a change compiles each access once."""
        self.compiled = self.reused = 0
        """How often rights were worked out, and how often they were at hand; in neither are those
        that waited for others."""

    @property
    def is_on(self) -> bool:
        """Whether rights are checked at all."""
        return self._options.is_on

    def keys(self, realm: str) -> tuple[PointerKey, ...]:
        """All pointers that the rights of a caller depend on, whatever it asks for."""
        if self.is_on:
            return (IDENTITIES_KEY, *(PointerKey(realm, name) for name in RIGHTS))
        return (IDENTITIES_KEY,) if self._identities is not None else ()

    def is_admin(self, caller: Caller) -> bool:
        """Whether it is named in the settings."""
        return caller.name in self._options.admins

    async def confirmed(self, caller: Caller, identities: int | None) -> Caller:
        """The caller with all its groups, if it is who it says."""
        if self._identities is None or caller.is_server:
            return caller
        return await self._identities.confirmed(caller, identities)

    async def rights_of(self, caller: Caller, realm: str, values: Sequence[int | None]) -> Compiled:
        """What a caller may do, by the values of the pointers of `keys`."""
        if caller.is_server or not values:
            return _ALL
        caller = await self.confirmed(caller, values[0])
        if not self.is_on:
            return _ALL
        known = await self._current(realm, tuple(values[1:]))
        found = cast("Compiled | None", self.cache.get((realm, ACCESS, caller)))
        if found is not None:
            self.reused += 1
            return found
        key = (realm, known.values, caller)
        return await self._compiling.run(key, lambda: self._compile(known, caller))

    def outsider(self, caller: Caller) -> Access:
        """What a caller may do where there is no metalake."""
        standing = Standing.SERVICE_ADMIN if self.is_admin(caller) else 0
        return (
            EVERYTHING
            if not self.is_on or caller.is_server
            else EVERYTHING._replace(standing=int(standing), is_checked=True)
        )

    async def _compile(self, known: _Known, caller: Caller) -> Compiled:
        self.compiled += 1
        roles = KnownRoles(partial(self._role, known), partial(self._keep, known, ROLE))
        compiled = await compile_access(known.rights, caller, roles, is_admin=self.is_admin(caller))
        self._keep(known, ACCESS, caller, compiled)
        return compiled

    def _role(self, known: _Known, role: int) -> RoleGrants | None:
        """What a role grants by these heads, if that is at hand."""
        if self._known.get(known.realm) is not known:
            return None
        return cast("RoleGrants | None", self.cache.get((known.realm, ROLE, role)))

    def _keep(self, known: _Known, kind: str, what: Hashable, value: object) -> None:
        """Keep what follows from these heads, unless others are current by now."""
        if self._known.get(known.realm) is known:
            self.cache.put((known.realm, kind, what), value)

    async def _current(self, realm: str, values: tuple[int | None, ...]) -> _Known:
        """The heads of these values, once the cache holds nothing that they contradict."""
        known = self._known.get(realm)
        if known is not None and known.values == values:
            return known
        return await self._opening.run((realm, values), lambda: self._follow(realm, values))

    async def _follow(self, realm: str, values: tuple[int | None, ...]) -> _Known:
        """Open the heads of these values, and forget what they contradict."""
        new = _Known(realm, values, await self._open(realm, values))
        while True:
            known = self._known.get(realm)
            if known is not None and known.values == values:
                return known
            changed = await self._changed(known, new)
            if self._known.get(realm) is known:  # nobody else was faster
                break
        self._forget(realm, changed)
        if len(self._known) >= REALMS_KNOWN_MAX:
            self._known.clear()
        self._known[realm] = new
        return new

    async def _open(self, realm: str, values: tuple[int | None, ...]) -> Rights:
        store = self._kernel.store
        await store.fetch(realm, [value for value in values if value and value != EMPTY])
        return Rights(int(realm), *[await open_head(store, realm, value) for value in values])

    async def _changed(self, known: _Known | None, new: _Known) -> Changed | None:
        """What differs from before; None if that is not known, or nobody wants to know it."""
        if known is None or not self._options.is_fine:
            return None
        try:
            return await changed_rights(known.rights, new.rights)
        except ObjectNotFound:
            return None  # the old heads are too old to be compared with

    def _forget(self, realm: str, changed: Changed | None) -> None:
        if changed is None:
            self.cache.invalidate_prefix((realm,))
            return

        def is_stale(key: Key, value: object) -> bool:
            of, kind, what = key
            if of != realm:
                return False
            if kind == ROLE:
                return what in changed.roles
            return changed.concerns(cast(Caller, what), cast(Compiled, value))

        self.cache.invalidate_where(is_stale)
