"""The kernel as a whole: opened on a backend, closed in order."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Self

import msgspec

from headgate.clock import Clock
from headgate.errors import CorruptRow, NewerFormat
from headgate.ids import IdGenerator, check_clock
from headgate.kernel.backend import Backend
from headgate.kernel.cache import Cache
from headgate.kernel.chain import ChainReader
from headgate.kernel.clock_guard import ClockGuard
from headgate.kernel.clock_repair import ClockRepair
from headgate.kernel.commit import CommitOptions, Committer
from headgate.kernel.handle import RealmHandle
from headgate.kernel.head import HEAD_TYPES
from headgate.kernel.history import History
from headgate.kernel.leases import NODE_LEASE_TYPE, NodeLeases
from headgate.kernel.levels import (
    FORMAT_LEVEL_TYPE,
    Formats,
    check_level,
    join_level,
    level_of,
    raise_level,
)
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
from headgate.kernel.write_guard import WriteGuard
from headgate.limits import CACHE_BYTES, IDLE_LANES_MAX

logger = logging.getLogger(__name__)

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
    is_repair: bool = False
    """True opens a store whose newest id lies in the future, to mend that, if no node runs."""
    separator: str = ""
    """What joins the levels of names, if this process writes any: all nodes need the same."""
    level: int = LEVEL
    """The newest format level this program understands; tests open kernels of other programs."""


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
        history = History()
        self.backend = WriteGuard(backend, history)
        self.clock = clock
        self.ids = IdGenerator(clock)
        self.cache = Cache(options.cache_bytes)
        stored = ObjectTypes((*KERNEL_TYPES, *types))
        self.store = Store(self.backend, stored, self.cache, history)
        self.pointers = Pointers(self.backend)
        self.committer = Committer(self.store, self.pointers, self.ids, clock, options.commit)
        self.realms = Realms(self.store, self.pointers, self.committer)
        self.unserved = UnservedRealms(self.store, self.committer)
        self.log = CommitLog(self.store, self.pointers)
        self.chains = ChainReader(self.store, self.pointers)
        self.formats = Formats(options.level)
        self._options = options
        self._entropy = entropy
        self._handles: dict[str, RealmHandle] = {}
        self._leases = NodeLeases(
            self.store,
            clock,
            self.ids,
            holder=options.holder,
            level=options.level,
            entropy=entropy,
        )
        self._leases.separator = options.separator
        self._guard = ClockGuard(self.store, self._leases, clock, self.ids)
        self.clock_repair = ClockRepair(self.store, self._leases, clock, self.ids, entropy)
        self._leases.confirm_by(self._join)
        self._agree_on_separator: Check | None = None

    async def open(self) -> None:
        """Open the backend, check that this program and clock suit it, lease a node id."""
        try:
            await self.backend.open()
            await self._find_realms()
            if self._options.writable or self._options.is_repair:
                await self._check_clock()
            if self._options.writable:
                await self._leases.start(self._before_renewal, self._guard.look)
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
        self._agree_on_separator = agree

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
        level = await check_level(self.store, self.formats.understood)
        self.formats.learn(level_of(level))
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
        """Refuse a clock that is certainly wrong, or behind the newest commit of any pointer."""
        await self._guard.compare()
        if self._options.is_repair:
            await self.clock_repair.check_alone()
            return
        async for pointers in self.backend.scan_pointers():
            check_clock(self.clock.wall_ms(), max(pointer.value for pointer in pointers))

    async def _before_renewal(self) -> None:
        """Object to a renewal by a clock that is wrong, or by a node that the others outgrew."""
        await self._guard.compare()
        await self._agree()

    async def _join(self) -> None:
        """Agree with the other nodes under a new lease, before it is used."""
        with self._stopping_for_good():
            level = await join_level(self.store, self.formats.understood, self._entropy)
            self.formats.learn(level)
        if self._agree_on_separator is not None:
            await self._agree_on_separator()

    async def _agree(self) -> None:
        """Settle on a format level with the other nodes, now and before each renewal."""
        with self._stopping_for_good():
            understood = self.formats.understood
            level = await raise_level(self.store, self._leases, understood, self._entropy)
            self.formats.learn(level)
        if self._agree_on_separator is not None:
            await check_still_in_force(self.store, self._options.separator)

    @contextmanager
    def _stopping_for_good(self) -> Iterator[None]:
        """Tell callers why nothing is committed any more, once the store is beyond this node."""
        try:
            yield
        except NewerFormat as error:
            if self.committer.refuse(str(error)):
                logger.error("%s", error)  # noqa: TRY400  where it was found tells an operator nothing
            raise

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
