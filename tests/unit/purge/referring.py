"""Tables that refer to files of others, as a test says, and what is read to know it."""

import math
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from headgate.catalog.openings import Opened
from headgate.catalog.ports import Roots
from headgate.catalog.purging import LiveJob, PurgeJob
from headgate.errors import StorageUnavailable
from headgate.model.locations import index_key
from headgate.model.names import Identifier
from headgate.purge.referrers import Referrers
from headgate.purge.surveyor import Outside, Referrer, Shared, Surveyed
from headgate.testing.manual_clock import ManualClock
from headgate.workers.turns import NO_TENANT, Tenant
from tests.unit.catalog.lakes import METALAKE, Node

PLACE = "file:///purged/t"


class Surveyor:
    """Tables refer to what a test says."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        """Names of the folders of the tables that were read."""
        self.roots: list[Roots] = []
        """Below which they were read."""
        self.outside: dict[str, Outside] = {}
        self.seconds: dict[str, float] = {}
        """That reading some of the tables takes, by the clock of a test."""
        self.clock: ManualClock | None = None
        self.is_down = False
        self.tenants: list[Tenant] = []
        """For which files were looked up."""
        self.while_read: Callable[[], Awaitable[None]] | None = None

    async def survey(
        self, tables: Sequence[Surveyed], roots: Roots, seconds: float = math.inf
    ) -> list[Outside]:
        if self.is_down:
            raise StorageUnavailable("it is down")
        names = [name_of(table) for table in tables]
        self.asked += names
        self.roots.append(roots)
        found = [self._read(name, seconds) for name in names]
        if self.while_read is not None:
            await self.while_read()
        return found

    def _read(self, name: str, seconds: float) -> Outside:
        outside, took = self.outside.get(name, Outside()), self.seconds.get(name, 0.0)
        if self.clock is not None:
            self.clock.advance(1_000 * min(took, seconds))
        if took > seconds:
            return Outside(unclear="it takes long", is_late=True, seconds=seconds)
        return msgspec.structs.replace(outside, seconds=took)

    async def shared(
        self,
        referrers: Sequence[Referrer],
        roots: Roots,
        paths: Sequence[str],
        tenant: Tenant = NO_TENANT,
    ) -> Shared:
        self.tenants.append(tenant)
        return Shared([name_of(one.table) for one in referrers])


def name_of(table: Surveyed) -> str:
    return table.own[0].rpartition("/")[2].partition("-")[0]


def into(place: str, digest: bytes = b"1") -> Outside:
    """References to files in a folder."""
    return Outside((index_key(f"{place}/data"),), digest=digest)


class Referring:
    """A node, and what is asked of its tables when another one is purged."""

    def __init__(self, node: Node, opened: Opened) -> None:
        self.node = node
        self.warehouse = opened.catalog.warehouse
        self.surveyor = Surveyor()
        self.referrers = Referrers(node.kernel, self.surveyor)
        job = PurgeJob(Identifier(("a",), "purged"), f"{PLACE}/metadata/1.json", (PLACE,))
        self.job = LiveJob(
            opened.realm.id, METALAKE, opened.catalog.id, "main", 1, job, ("file:///purged",)
        )

    async def look(self) -> list[str]:
        """The tables that refer to files of the purged one."""
        return sorted(
            name_of(one.table) for one in (await self.referrers.to_places(self.job)).tables
        )

    def read(self) -> list[str]:
        """What was read since the last time."""
        asked, self.surveyor.asked = sorted(self.surveyor.asked), []
        return asked
