"""What all use cases work with: the kernel, the stores, and the way to open and commit."""

from collections.abc import Callable

import msgspec

from headgate.catalog.calls import Call, Done, decode_outcome, encode_outcome
from headgate.catalog.entities import TableEntity
from headgate.catalog.events import EventBus
from headgate.catalog.guards import Guard
from headgate.catalog.lanes import Lanes
from headgate.catalog.large_metadata import LargeMetadata
from headgate.catalog.metadata_cache import MetadataCache
from headgate.catalog.metalake_openings import MetalakeOpenings, OpenedMetalake
from headgate.catalog.openings import Opened, Openings
from headgate.catalog.polling import Validation
from headgate.catalog.ports import Audit, Files, MetadataWorkers, Planner, Storage
from headgate.catalog.purging import Purging, Recorded
from headgate.catalog.shared_work import SharedWork
from headgate.catalog.versions import Terms
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView
from headgate.kernel.kernel import Kernel
from headgate.model.separators import Governance


class LakeOptions(msgspec.Struct, frozen=True):
    """How catalogs behave, for all of them."""

    separator: str = ":"
    """Joins the levels of a namespace where they are written as one text."""
    governance: Governance = Governance.RESTRICTED
    """Whether names may contain the separator where it joins nothing."""
    metadata_cache_bytes: int = 64 << 20
    verify_metadata_files: bool = False
    """Look for the metadata file at each load even where that takes a round trip."""
    can_be_allowed: Callable[[str], bool] = bool
    """Whether an operator could allow a catalog this location; where the server's own files lie
    none can."""


class Lake:
    """The catalogs of one server process."""

    def __init__(  # noqa: PLR0913  one argument for each port
        self,
        kernel: Kernel,
        storage: Storage,
        planner: Planner,
        workers: MetadataWorkers,
        new_uuid: Callable[[], str],
        options: LakeOptions,
        *,
        guard: Guard | None = None,
        audit: Audit | None = None,
        validation: Validation | None = None,
        events: EventBus | None = None,
        purging: Purging | None = None,
    ) -> None:
        self.kernel = kernel
        self.storage = storage
        self.planner = planner
        self.new_uuid = new_uuid
        self.options = options
        self.openings = Openings(kernel, options.separator, guard, audit, validation)
        self.metalakes = MetalakeOpenings(kernel, self.openings)
        self.large = LargeMetadata(workers)
        self.metadata = MetadataCache(options.metadata_cache_bytes, self.large)
        self.lanes = Lanes()
        self.completing: SharedWork[HeadView] = SharedWork()
        """Indexes of older catalogs that are being completed, by realm and pointer."""
        self.commits_repeated = 0
        """Worked out anew, because others had changed meanwhile what they rested on."""
        self.events = events or EventBus()
        self.purging = purging or Recorded()

    async def open(self, call: Call) -> Opened:
        """The catalog of a call as it is now; one read of the database, or none if it is polled."""
        return await self.openings.open(call)

    async def open_metalake(self, call: Call, *, inactive: bool = False) -> OpenedMetalake:
        """The metalake of a call as it is now; `inactive` also if it is switched off."""
        return await self.metalakes.open(call, inactive=inactive)

    def files(self, opened: Opened) -> Files:
        """The files of a catalog."""
        return self.storage.files(opened.allowed_locations)

    def terms(self, before: TableEntity | None) -> Terms:
        """What a new version is made on."""
        return Terms(self.now_ms(), self.new_uuid(), self.new_uuid(), before)

    def now_ms(self) -> int:
        """The time, for metadata."""
        return self.kernel.clock.wall_ms()

    async def done_before(self, opened: Opened, what: str) -> Done | None:
        """What an earlier delivery of this call did, None if this is the first."""
        return await opened.done_before(what, self.now_ms())

    async def commit(self, opened: Opened, what: str, attempt: Callable[[Draft], Done]) -> Done:
        """Change a catalog once, however often the call is delivered; what it did."""
        delivery = self.kernel.ids.next()  # the record of another delivery has another number
        what = opened.named(what)

        def recorded(draft: Draft) -> bytes:
            return encode_outcome(what, delivery, attempt(draft))

        record = await opened.realm.commit(opened.pointer, recorded, operation=opened.call.key)
        return decode_outcome(record, what, delivery)
