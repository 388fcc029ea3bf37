"""Node ids: leased by compare-and-swap, renewed by a task, given back on close.

Nobody compares another's clock with its own: the old holder makes ids only for times before the end
of its lease, the new one only for times behind it, each by its own clock.
"""

import asyncio
import logging
import zlib
from collections.abc import Awaitable, Callable, Iterator

import msgspec

from headgate.clock import Clock
from headgate.errors import (
    BadSetting,
    NewerFormat,
    NoNodeId,
    OutcomeUnknown,
    StoreRestored,
    Unavailable,
)
from headgate.ids import IdGenerator, Lease, lease_row
from headgate.kernel.objects import ObjectType, Stored, expect
from headgate.kernel.records import Outcome
from headgate.kernel.store import Store, Versioned
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import (
    LEASE_BATCH,
    LEASE_CHECK_SECONDS,
    LEASE_MS,
    LEASE_RENEW_MS,
    NODES,
)

logger = logging.getLogger(__name__)

Confirm = Callable[[], Awaitable[None]]
"""Raises if a lease must not be used."""


async def _no_look() -> None:
    """Look at nothing between renewals."""


class NodeLease(Stored, frozen=True):
    """The lease row of one node id."""

    node: int
    holder: str
    """Who holds it, for people: host and process."""
    token: int
    """Who holds it, for the holder: chosen by chance when it started."""
    leased_ms: int
    ends_ms: int
    level: int
    """The newest format level the holder understands."""
    separator: str | None = None
    """The separator of the holder; empty if it writes no names, None if it is of a program that
    did not say so."""
    renewed_ms: int = 0
    """The holder's clock when it wrote this; 0 if it gave the node id back, or did not say."""
    is_retired: bool = False
    """Whether its end lies so far in the future that no right clock wrote it, and a repair found
    it: the node id stays taken until then, but no node lives that has it."""


NODE_LEASE_TYPE = ObjectType("node-lease", NodeLease)


class NodeLeases:
    """This process's lease. The generator may make ids while it is valid, and only then."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        generator: IdGenerator,
        *,
        holder: str,
        level: int,
        entropy: Callable[[], int],
    ) -> None:
        self._store = store
        self._clock = clock
        self._generator = generator
        self._holder = holder
        self._level = level
        self._entropy = entropy
        self._token = entropy()
        self.separator = ""
        """What the lease says of it; to be set before there is one."""
        self._confirm: Confirm | None = None
        self._held: Versioned | None = None
        self._renewing: asyncio.Task[None] | None = None

    def confirm_by(self, confirm: Confirm) -> None:
        """From now on a lease that takes the place of one that was lost is used only if `confirm`
        does not object: other nodes may have taken this one for dead."""
        self._confirm = confirm

    async def start(self, before_renewal: Confirm, look: Confirm = _no_look) -> None:
        """Lease a node id and keep it leased, as long as `before_renewal` does not object.

        `look` is called every few seconds, and puts a renewal off if it raises.
        """
        await self.acquire()
        self._renewing = asyncio.create_task(self._keep(before_renewal, look))

    async def stop(self) -> None:
        """Give the node id back. If the database does not answer, the lease just runs out."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
            self._renewing = None
        await self.release()

    async def acquire(self) -> None:
        """Lease a node id that is free; `NoNodeId` if all are taken."""
        for nodes in self._candidates():
            rows = await self._store.read_versioned(SYSTEM_REALM, [lease_row(n) for n in nodes])
            for node in nodes:
                if await self._try(node, rows.get(lease_row(node))):
                    await self._begin()
                    return
        raise NoNodeId(
            "no node id can be leased",
            why=f"all {NODES} are held",
            fix=f"Stop nodes that are not needed; a crashed one frees its id after "
            f"{LEASE_MS // 60_000} min",
        )

    async def renew(self) -> None:
        """Move the end of the lease; take another node id if this one was lost."""
        held = self._held
        is_over = held is None or lease_of(held).ends_ms <= self._clock.wall_ms()
        if held is None or is_over or not await self._write(lease_of(held).node, held):
            await self._look()  # another node has it, or the store went back
            self._drop()
            await self.acquire()
        self._use()

    async def _look(self) -> None:
        """Check that the lease is stored as this process wrote it, or was taken over later."""
        held = self._held
        if held is None:
            return
        id = lease_row(lease_of(held).node)
        found = (await self._store.read_versioned(SYSTEM_REALM, [id])).get(id)
        if _is_of_the_past(held, found):
            node = lease_of(held).node
            raise self._store.history.declare_restored(f"the lease of node {node} is an older one")

    async def release(self) -> None:
        """Let the lease end now, behind the newest id made under it."""
        held = self._held
        if held is None:
            return
        self._drop()
        try:
            if await self._end(held) is Outcome.LOST:
                id = lease_row(lease_of(held).node)
                row = (await self._store.read_versioned(SYSTEM_REALM, [id])).get(id)
                if row is not None and lease_of(row).token == self._token:
                    await self._end(row)  # a renewal that was cut short had landed
        except (Unavailable, OutcomeUnknown):
            return

    async def live(self) -> list[NodeLease]:
        """The leases of all nodes that run now, as far as this clock can tell."""
        now_ms = self._clock.wall_ms()
        leases = [lease_of(row) for row in (await read_leases(self._store)).values()]
        return [one for one in leases if one.ends_ms > now_ms and not one.is_retired]

    def is_own(self, lease: NodeLease) -> bool:
        """Whether this process wrote it."""
        return lease.token == self._token

    async def _end(self, row: Versioned) -> Outcome:
        lease = lease_of(row)
        ends_ms = max(self._clock.wall_ms(), self._generator.last_ms) + 1
        return await self._store.update(
            SYSTEM_REALM,
            lease_row(lease.node),
            msgspec.structs.replace(lease, ends_ms=ends_ms, renewed_ms=0),
            expected=row.version,
            version=self._entropy(),
        )

    def _candidates(self) -> Iterator[list[int]]:
        """All node ids in batches: first the one this holder had last time, most likely."""
        yield [zlib.crc32(self._holder.encode()) % NODES]
        start = self._entropy() % NODES
        for offset in range(0, NODES, LEASE_BATCH):
            yield [(start + offset + step) % NODES for step in range(LEASE_BATCH)]

    async def _try(self, node: int, row: Versioned | None) -> bool:
        if row is not None and lease_of(row).ends_ms >= self._clock.wall_ms():
            return False
        return await self._write(node, row)

    async def _write(self, node: int, row: Versioned | None) -> bool:
        """Write our lease over this row; True if it is ours now."""
        now_ms = self._clock.wall_ms()
        renewed = row is not None and row is self._held
        leased_ms = lease_of(row).leased_ms if row is not None and renewed else now_ms
        ends_ms = now_ms + LEASE_MS
        who = (node, self._holder, self._token)
        lease = NodeLease(*who, leased_ms, ends_ms, self._level, self.separator, now_ms)
        version = self._entropy()
        id = lease_row(node)
        try:
            if row is None:
                outcome = await self._store.insert(SYSTEM_REALM, id, lease, version)
            else:
                outcome = await self._store.update(
                    SYSTEM_REALM, id, lease, expected=row.version, version=version
                )
        except OutcomeUnknown:
            found = (await self._store.read_versioned(SYSTEM_REALM, [id])).get(id)
            landed = found is not None and found.version == version
            outcome = Outcome.APPLIED if landed else Outcome.LOST
        if outcome is Outcome.LOST:
            return False
        self._held = Versioned(lease, version)
        return True

    async def _begin(self) -> None:
        """Use a new lease, unless it is objected to: then it is given back."""
        if self._confirm is not None:
            try:
                await self._confirm()
            except BaseException:
                await self.release()
                raise
        self._use()

    def _use(self) -> None:
        assert self._held is not None
        lease = lease_of(self._held)
        self._generator.use(Lease(lease.node, lease.leased_ms, lease.ends_ms))

    def _drop(self) -> None:
        self._held = None
        self._generator.use(None)

    async def _keep(self, before_renewal: Confirm, look: Confirm) -> None:
        """Renew for ever. Failures are tried again; the generator stops by itself at the end.

        The wall clock says when: a machine that slept wakes up with its lease long over.
        """
        due_ms = self._clock.wall_ms() + LEASE_RENEW_MS
        while True:
            await self._clock.sleep(LEASE_CHECK_SECONDS)
            try:
                await look()
                await self._look()
                if self._clock.wall_ms() < due_ms:
                    continue
                await before_renewal()
                await self.renew()
                due_ms = self._clock.wall_ms() + LEASE_RENEW_MS
            except NewerFormat:
                self._drop()
            except StoreRestored:
                self._drop()  # and nothing is given back: it is not this store's
                return
            except BadSetting as error:
                logger.error("%s", error)  # noqa: TRY400  where it was found tells an operator nothing
                self._drop()
                due_ms = self._clock.wall_ms() + LEASE_RENEW_MS
            except Exception:  # noqa: BLE001, S112  whatever it is, the next try may work  # nosec B112
                continue


def _is_of_the_past(held: Versioned, found: Versioned | None) -> bool:
    """Whether the row of a lease was stored before the process that holds it wrote it last.

    Lease rows are never deleted, and another node takes one over only for times behind its end; a
    repair of clocks retires some.
    """
    if found is None:
        return True
    if lease_of(found).is_retired:
        return False
    if found.version == held.version:
        return False
    mine, other = lease_of(held), lease_of(found)
    if other.token == mine.token:
        return other.ends_ms < mine.ends_ms
    return other.leased_ms <= mine.ends_ms


async def read_leases(store: Store) -> dict[int, Versioned]:
    """The lease rows of all node ids that were ever leased, by their row ids."""
    return await store.read_versioned(SYSTEM_REALM, [lease_row(one) for one in range(NODES)])


def lease_of(row: Versioned) -> NodeLease:
    """What a lease row says."""
    return expect(row.value, NodeLease, 0)
