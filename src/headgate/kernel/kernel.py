"""The kernel as a whole: opened on a backend, closed in order."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Self

import msgspec

from headgate.clock import Clock
from headgate.errors import CorruptRow
from headgate.ids import IdGenerator, check_clock
from headgate.kernel.backend import Backend
from headgate.kernel.cache import Cache
from headgate.kernel.chain import ChainReader
from headgate.kernel.commit import CommitOptions, Committer
from headgate.kernel.handle import RealmHandle
from headgate.kernel.head import HEAD_TYPES
from headgate.kernel.leases import NODE_LEASE_TYPE, NodeLeases
from headgate.kernel.levels import FORMAT_LEVEL_TYPE, check_level, raise_level
from headgate.kernel.log import CommitLog
from headgate.kernel.objects import ObjectType, ObjectTypes
from headgate.kernel.pages import PAGE_TYPE
from headgate.kernel.pointers import Pointers
from headgate.kernel.realms import REALMS_KEY, Realms
from headgate.kernel.shared_separator import (
    SHARED_SEPARATOR_TYPE,
    Check,
    check_in_force,
    check_still_in_force,
    share_separator,
)
from headgate.kernel.store import Store
from headgate.kernel.system import REALMS, SYSTEM_REALM, check_realm_id
from headgate.kernel.unserved import UnservedRealms
from headgate.limits import CACHE_BYTES, IDLE_LANES_MAX

LEVEL = 1
"""The newest format level this program understands."""

KERNEL_TYPES = (
    *HEAD_TYPES,
    PAGE_TYPE,
    NODE_LEASE_TYPE,
    FORMAT_LEVEL_TYPE,
    SHARED_SEPARATOR_TYPE,
)


class KernelOptions(msgspec.Struct, frozen=True):
    """How a kernel is opened."""

    cache_bytes: int = CACHE_BYTES
    commit: CommitOptions = CommitOptions()
    writable: bool = True
    """False leases no node id; such a kernel can only read."""
    holder: str = "headgate"
    """Who leases the node id, for people: host and process."""
    separator: str = ""
    """What joins the levels of names, if this process writes any: all nodes need the same."""


class Kernel:
    """Realms, commits and logs on one backend, for one process."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        entropy: Callable[[], int],
        options: KernelOptions = KernelOptions(),
        types: Iterable[ObjectType] = (),
    ) -> None:
        self.backend = backend
        self.clock = clock
        self.ids = IdGenerator(clock)
        self.cache = Cache(options.cache_bytes)
        self.store = Store(backend, ObjectTypes((*KERNEL_TYPES, *types)), self.cache)
        self.pointers = Pointers(backend)
        self.committer = Committer(self.store, self.pointers, self.ids, clock, options.commit)
        self.realms = Realms(self.store, self.pointers, self.committer)
        self.unserved = UnservedRealms(self.store, self.committer)
        self.log = CommitLog(self.store, self.pointers)
        self.chains = ChainReader(self.store, self.pointers)
        self._options = options
        self._entropy = entropy
        self._handles: dict[str, RealmHandle] = {}
        self._leases = NodeLeases(
            self.store,
            clock,
            self.ids,
            holder=options.holder,
            level=LEVEL,
            entropy=entropy,
        )
        self._leases.separator = options.separator
        self._shares_separator = False

    async def open(self) -> None:
        """Open the backend, check that this program and clock suit it, lease a node id."""
        try:
            await self.backend.open()
            await self._find_realms()
            if self._options.writable:
                await self._check_clock()
                await self._leases.start(self._agree)
                await self._agree()
            else:
                await self.committer.close("this node only reads")
        except BaseException:
            await self.close()
            raise

    async def share_separator(self, check: Check | None = None) -> None:
        """Agree with all nodes on the separator of the options, before anything is written.

        It is agreed on again whenever the lease was lost. With `check` the one in force may be
        replaced, if no node lives that has it and the check lets all names pass.
        """
        separator = self._options.separator
        assert separator, "this process writes no names"
        if not self._options.writable:
            await check_in_force(self.store, self._leases, separator)
            return
        agree = partial(share_separator, self.store, self._leases, self._entropy, separator)
        await agree(check)
        self._leases.confirm_by(agree)
        self._shares_separator = True

    async def close(self) -> None:
        """Finish commits that were taken, give the node id back, close the backend."""
        try:
            await self.committer.close()
            await self._leases.stop()
        finally:
            await self.backend.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self.close())

    async def _find_realms(self) -> None:
        """Make the pointer `realms` if the store is new; it must be there if it is not."""
        level = await check_level(self.store, LEVEL)
        [realms] = await self.pointers.read([REALMS_KEY])
        if realms is None and level is not None:
            raise CorruptRow(
                "the store cannot be opened",
                why="it is not new and has no list of realms",
                fix="Restore the database from a backup",
            )
        if realms is None:
            await self.backend.create_pointers(SYSTEM_REALM, [REALMS])

    async def _check_clock(self) -> None:
        """Refuse a clock that is behind the newest commit of any pointer."""
        async for pointers in self.backend.scan_pointers():
            check_clock(self.clock.wall_ms(), max(pointer.value for pointer in pointers))

    async def _agree(self) -> None:
        """Settle on a format level with the other nodes, now and before each renewal."""
        await raise_level(self.store, self._leases, LEVEL, self._entropy)
        if self._shares_separator:
            await check_still_in_force(self.store, self._options.separator)

    def realm(self, id: str) -> RealmHandle:
        """The realm with this id; whether it serves requests is checked at each operation."""
        check_realm_id(id)
        handle = self._handles.get(id)
        if handle is None:
            if len(self._handles) >= IDLE_LANES_MAX:
                self._handles.clear()
            handle = RealmHandle(id, self.store, self.pointers, self.committer)
            self._handles[id] = handle
        return handle
