"""What a caller may do in a metalake: compiled once, and good for as long as the pointers stand
that it was compiled from.

Nothing here has a lifetime. Whoever asks brings the values of the pointers that the request has
read, and gets what follows from exactly these. If they moved, the difference of the two heads tells
whose rights changed; the others' are kept.
"""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.access.decisions import EVERYTHING, Access
from headgate.access.rules import Standing
from headgate.catalog.calls import Caller
from headgate.catalog.compiling import Compiled, Rights, compile_access
from headgate.catalog.identities import IDENTITIES_KEY, Identities
from headgate.catalog.rights_changes import changed_rights
from headgate.errors import Forbidden, ObjectNotFound
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


class GuardOptions(NamedTuple):
    """Whether rights are checked, and who may begin."""

    is_on: bool = False
    admins: frozenset[str] = frozenset()
    is_fine: bool = True
    """Whether only those whose rights changed are compiled again, or all of a metalake."""


class _Known(NamedTuple):
    """What was compiled from the same heads."""

    values: tuple[int | None, ...]
    rights: Rights
    compiled: dict[Caller, Compiled]


class Guard:
    """Compiles what callers may do."""

    def __init__(
        self, kernel: Kernel, options: GuardOptions, identities: Identities | None = None
    ) -> None:
        self._kernel = kernel
        self._options = options
        self._identities = identities
        self._known: dict[str, _Known] = {}
        self.compiled = self.reused = 0
        """How often rights were worked out, and how often they were at hand."""

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

    async def access(self, caller: Caller, realm: str, values: Sequence[int | None]) -> Access:
        """What a caller may do, by the values of the pointers of `keys`."""
        if caller.is_server or not values:
            return EVERYTHING
        caller = await self.confirmed(caller, values[0])
        if not self.is_on:
            return EVERYTHING
        known = await self._current(realm, tuple(values[1:]))
        found = known.compiled.get(caller)
        if found is None:
            self.compiled += 1
            found = await compile_access(known.rights, caller, is_admin=self.is_admin(caller))
            if len(known.compiled) >= ACCESS_KNOWN_MAX:
                known.compiled.clear()
            known.compiled[caller] = found
        else:
            self.reused += 1
        if found.why:
            raise Forbidden(
                f"User '{caller.name}' is not authorized to use this metalake", why=found.why
            )
        return found.access

    def outsider(self, caller: Caller) -> Access:
        """What a caller may do where there is no metalake."""
        standing = Standing.SERVICE_ADMIN if self.is_admin(caller) else 0
        return (
            EVERYTHING
            if not self.is_on or caller.is_server
            else EVERYTHING._replace(standing=int(standing), is_checked=True)
        )

    async def _current(self, realm: str, values: tuple[int | None, ...]) -> _Known:
        known = self._known.get(realm)
        if known is not None and known.values == values:
            return known
        fresh = _Known(values, await self._open(realm, values), {})
        if known is not None and self._options.is_fine:
            fresh = await self._kept(known, fresh)
        if len(self._known) >= REALMS_KNOWN_MAX:
            self._known.clear()
        self._known[realm] = fresh
        return fresh

    async def _open(self, realm: str, values: tuple[int | None, ...]) -> Rights:
        store = self._kernel.store
        await store.fetch(realm, [value for value in values if value and value != EMPTY])
        return Rights(int(realm), *[await open_head(store, realm, value) for value in values])

    async def _kept(self, known: _Known, fresh: _Known) -> _Known:
        """What is as it was before."""
        try:
            changed = await changed_rights(known.rights, fresh.rights)
        except ObjectNotFound:
            return fresh  # the old heads are too old to be compared with
        rights = fresh.rights
        rights.roles_known.update(
            (role, grants)
            for role, grants in known.rights.roles_known.items()
            if role not in changed.roles
        )
        kept = {
            caller: compiled
            for caller, compiled in known.compiled.items()
            if not changed.concerns(caller, compiled)
        }
        return fresh._replace(compiled=kept)
