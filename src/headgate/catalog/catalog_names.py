"""What the name of a catalog means, found with as few reads if there is none as if there is one.

The time of a refusal would tell otherwise what its words do not. So one read brings all pointers
that an answer about an absent catalog depends on, and the realm of a metalake is remembered.
"""

from typing import NamedTuple

from headgate.access.rules import LOAD_CATALOG
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.guards import Guard
from headgate.catalog.identities import IDENTITIES_KEY
from headgate.catalog.in_use import metalake_in_use
from headgate.catalog.judging import Judge
from headgate.catalog.naming import CATALOGS, ROOT, Names
from headgate.catalog.polling import Validation
from headgate.catalog.stored_names import CATALOG_POINTER, NAMES
from headgate.errors import BackendUnavailable, CatalogNotFound, MetalakeNotFound
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import BY_NAME, REALMS_KEY, check_active
from headgate.kernel.records import PointerKey
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import OPENINGS_KNOWN_MAX, RESOLVE_TRIES_MAX

_OWN_KEYS = 2  # the pointers before those that rights depend on


class FoundCatalog(NamedTuple):
    """What a name means."""

    realm: str
    catalog: CatalogEntity
    owner: int


class CatalogNames:
    """Finds catalogs by name."""

    def __init__(self, kernel: Kernel, guard: Guard, judge: Judge, validation: Validation) -> None:
        self._kernel = kernel
        self._guard = guard
        self._judge = judge
        self._validation = validation
        self._known: dict[str, str] = {}
        """Which realm the name of a metalake meant."""

    async def find(self, call: Call) -> FoundCatalog:
        """The catalog that a call is about; refused if the caller may not know of its absence."""
        name = call.catalog
        for _ in range(RESOLVE_TRIES_MAX):
            realm = self._known.get(name.metalake) or await self._look_up(call)
            keys = (REALMS_KEY, PointerKey(realm, CATALOG_POINTER), *self._guard.keys(realm))
            vector = await self._validation.reader(call).read_together(keys, None)
            realms = await open_head(self._kernel.store, SYSTEM_REALM, vector[0])
            if await realms.index(BY_NAME).get(name.metalake.encode()) != realm.encode():
                self._known.pop(name.metalake, None)  # the name is another metalake's by now
                continue
            access = await self._judge.admit(self._guard, call, realm, vector[_OWN_KEYS:])
            with metalake_in_use(name.metalake):  # all its users may know that
                await check_active(realms, realm)
            catalogs = await open_head(self._kernel.store, realm, vector[1])
            try:
                return FoundCatalog(realm, *await self.in_list(realm, catalogs, name))
            except CatalogNotFound:
                self._judge.check(LOAD_CATALOG, access, access.base, call, (name.catalog,))
                raise
        raise too_busy(name)

    async def in_list(
        self, realm: str, catalogs: HeadView, name: CatalogName
    ) -> tuple[CatalogEntity, int]:
        """A catalog and its owner, in this list of a metalake's catalogs."""
        entry = await look(
            catalogs.index(NAMES), lambda tree: Names(tree).find(ROOT, CATALOGS, name.catalog)
        )
        if entry is None:
            raise no_catalog(name)
        return await self._kernel.store.get(realm, entry.object, CatalogEntity), entry.owner

    async def _look_up(self, call: Call) -> str:
        """The realm of a metalake that is not known yet."""
        name = call.catalog.metalake
        read = await self._kernel.pointers.read([REALMS_KEY, IDENTITIES_KEY])
        realms = await open_head(self._kernel.store, SYSTEM_REALM, read[0])
        try:
            realm = await realm_of(realms, name)
        except MetalakeNotFound:
            await self._guard.confirmed(call.caller, read[1])
            self._judge.miss_metalake(self._guard, call)
            raise
        if len(self._known) >= OPENINGS_KNOWN_MAX:
            self._known.clear()
        self._known[name] = realm
        return realm


async def realm_of(realms: HeadView, metalake: str) -> str:
    """The id of a metalake, which may be switched off."""
    id = await realms.index(BY_NAME).get(metalake.encode())
    if id is None:
        raise MetalakeNotFound(
            f"Metalake does not exist: {metalake}",
            fix="`headgate realm list` shows those that do",
        )
    return id.decode()


def no_catalog(name: CatalogName) -> CatalogNotFound:
    """What to say of a catalog that does not exist."""
    return CatalogNotFound(
        f"Catalog does not exist: {name}", fix="`headgate catalog list` shows those that do"
    )


def too_busy(name: CatalogName) -> BackendUnavailable:
    """What to say if the meaning of a name never stands still."""
    return BackendUnavailable(
        f"catalog {name} cannot be opened",
        why="it was dropped and created again and again meanwhile",
        fix="Try again",
    )
