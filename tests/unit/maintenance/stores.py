"""Stores that tests sweep: things in a realm, some of which nothing refers to."""

from collections.abc import Callable, Iterable

from headgate.catalog.entities import CATALOG_TYPES
from headgate.catalog.references import (
    NOTHING,
    REFERENCES,
    IndexReferences,
    PointerReferences,
)
from headgate.kernel.backend import Backend
from headgate.kernel.draft import Draft
from headgate.kernel.handle import RealmHandle
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import Stored
from headgate.kernel.records import PointerKey
from headgate.maintenance.extent import EVERYTHING, Wanted
from headgate.maintenance.lease import MAINTENANCE_TYPES
from headgate.maintenance.running import Order, Running
from headgate.maintenance.runs import Run
from headgate.testing.kernels import THING_TYPE, Rig, Thing

POINTER = "root"
THINGS, ROWS, PLAIN = "things", "rows", "plain"
TYPES = (THING_TYPE, *MAINTENANCE_TYPES, *CATALOG_TYPES)
HOUR_MS = 3_600_000
MINUTE_MS = 60_000


def _in_value(_key: bytes, value: bytes) -> list[int]:
    return [int.from_bytes(value, "big")]


def _in_key(key: bytes, _value: bytes) -> list[int]:
    return [int.from_bytes(key, "big")]


KNOWN = REFERENCES.with_realm_pointers(
    {
        POINTER: PointerReferences(
            {
                THINGS: IndexReferences(_in_value),
                ROWS: IndexReferences(rows=_in_key),
                PLAIN: NOTHING,
            },
            {"thing": True, "number": False},
        )
    }
)
"""What the things of these tests refer to."""


class Sweeper:
    """A database, nodes on it, and a realm whose things are swept."""

    def __init__(self, rig: Rig, kernel: Kernel, realm: RealmHandle) -> None:
        self.rig = rig
        self.kernel = kernel
        self.realm = realm

    async def put(self, key: bytes, thing: Stored | None = None) -> int:
        """Store a thing under this name; its id."""

        def attempt(draft: Draft) -> int:
            id = draft.stage(thing or Thing(key.decode()))
            draft.index(THINGS).put(key, id.to_bytes(8, "big"))
            return id

        return await self.realm.commit(POINTER, attempt)

    async def remove(self, key: bytes) -> None:
        """Lose the reference to a thing."""
        await self.realm.commit(POINTER, lambda draft: draft.index(THINGS).remove(key))

    async def waste(self, text: str = "waste") -> int:
        """Store a thing that nothing refers to."""
        id = self.kernel.ids.next()
        await self.realm.write({id: Thing(text)})
        return id

    async def sweep(
        self, grace_ms: int = 0, wanted: Wanted = EVERYTHING, *, is_dry: bool = False
    ) -> Run:
        """Sweep, a millisecond later."""
        self.rig.clock.advance(1)
        return await sweep(self.kernel, grace_ms, wanted, is_dry=is_dry)

    async def ids(self, type: str = "thing") -> set[int]:
        """The objects of a type that are stored in the realm."""
        return {
            row.id
            async for batch in self.rig.backend.scan_rows()
            for row in batch
            if row.realm == self.realm.id and row.type == type
        }

    async def head(self) -> int:
        """The current commit."""
        [value] = await self.kernel.pointers.read([PointerKey(self.realm.id, POINTER)])
        assert value is not None
        return value

    async def things(self) -> dict[bytes, str]:
        """All things as a node sees them that knows nothing yet."""
        fresh = await self.rig.open(types=TYPES, cache_bytes=0)
        [head] = await fresh.realm(self.realm.id).heads(POINTER)
        found = {}
        async for key, value in head.index(THINGS).scan():
            found[key] = (await head.get(int.from_bytes(value, "big"), Thing)).text
        return found


async def sweeper(rig: Rig) -> Sweeper:
    """One node and a realm on this database."""
    kernel = await rig.open(types=TYPES)
    realm = kernel.realm((await kernel.realms.create("acme")).id)
    return Sweeper(rig, kernel, realm)


async def sweep(
    kernel: Kernel, grace_ms: int = 0, wanted: Wanted = EVERYTHING, *, is_dry: bool = False
) -> Run:
    """Sweep the things of these tests."""
    order = Order(by="test", holder="test:1", wanted=wanted, grace_ms=grace_ms, is_dry=is_dry)
    running = Running(kernel, order, KNOWN)
    await running.begin()
    return await running.complete()


async def scanned(backend: Backend) -> Iterable[tuple[str, int]]:
    """All rows there are."""
    return [(row.realm, row.id) async for batch in backend.scan_rows() for row in batch]


def marking(name: str, number: int) -> Callable[[Draft], None]:
    """An attempt that sets a mark."""
    return lambda draft: draft.mark(name, number)
