"""Mark and sweep, by one process: what no pointer leads to any more is deleted.

The order is what makes it safe. First the time is fixed: whatever is younger than the grace before
it is left alone. Then the list of realms is read, then their pointers, then all that these lead to,
now and about the beginning of the grace. Only then rows are scanned. A row that is old and that
nothing led to at either time is dead. Before the first row of a realm is deleted its pointers are
fenced (see `fences`), and all that was committed since the survey is looked at (see `clocks`): from
then on what is dead never lives again. So it does no harm if a run takes long, is killed, or runs
beside another.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple

from headgate.catalog.references import References
from headgate.catalog.stored_names import CATALOG_POINTER
from headgate.errors import HeadgateError, Unavailable
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import REALMS_KEY
from headgate.kernel.records import PointerKey, ScannedRow
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import PURGE_ROWS_PER_CALL
from headgate.maintenance.clocks import Surveyed, Times
from headgate.maintenance.commits import KeptCommits
from headgate.maintenance.deleting import Deletions
from headgate.maintenance.extent import SWEPT, Extent, is_forgotten
from headgate.maintenance.fences import Fences
from headgate.maintenance.id_sets import IdSet
from headgate.maintenance.judging import Verdict, judge
from headgate.maintenance.live import Survey, survey
from headgate.maintenance.marks import marks
from headgate.maintenance.runs import Counts


class Live(NamedTuple):
    """What lives in a realm."""

    ids: IdSet
    commits: KeptCommits


class Sweep:
    """One run, step by step."""

    def __init__(
        self,
        kernel: Kernel,
        references: References,
        extent: Extent,
        times: Times,
        rest: Callable[[], Awaitable[None]],
        *,
        is_dry: bool = False,
    ) -> None:
        self.counts = Counts()
        self.failures: list[str] = list(extent.left)
        self.phase = ""
        self._kernel = kernel
        self._references = references
        self.extent = extent
        self.cutoff_ms = times.cutoff_ms
        self.rest = rest
        """Is called again and again: gives way to others, and raises if there is to be an end."""
        self.is_dry = is_dry
        self.surveyed = Surveyed(times.started_ms)
        self._fences = Fences(kernel, self.surveyed, self.counts, rest)
        self._deletions = Deletions(kernel.store, self.counts, self.guard, is_dry=is_dry)
        self._changes: dict[str, list[ScannedRow]] = {}
        self._forgotten: set[str] = set()

    async def run(self) -> None:
        """All of it."""
        await self.purge()
        live: dict[str, Live] = {}
        for realm in self.extent.sweep:
            found = await self.survey(realm)
            if found is not None:
                marked = await self._marked(realm, found)
                if marked is not None:
                    live[realm] = marked
        await self._scan(live)
        await self.forget(self._forgotten)

    async def purge(self) -> None:
        """Delete the data of realms that are to be purged, in bulk."""
        self.phase = "purging realms"
        for realm in self.extent.purge:
            if not self.is_dry:
                await self._purge(realm)

    async def survey(self, realm: str) -> Survey | None:
        """Look at the heads of a realm, and delete pointers that nobody needs; None if it cannot be
        swept."""
        self.phase = f"looking at realm {realm}"
        try:
            found = await self._look(realm)
            if found.dead and not self.is_dry:
                await self.surveyed.check(self._kernel.store, [realm])
                await self._fences.on([PointerKey(realm, CATALOG_POINTER)])
                found = await self._look(realm)  # with all that can still refer to them
                await self._kernel.backend.delete_pointers(found.dead)
            self.counts.pointers_deleted += len(found.dead)
        except HeadgateError as error:
            await self._cannot_sweep(realm, error)
            return None
        await self.rest()
        return found

    async def guard(self, realms: Collection[str]) -> None:
        """Make sure that no row of these realms which is dead now can live again; `ClockRefused` if
        one may live already."""
        if not self.is_dry:
            await self._fences.around(realms)
        await self.surveyed.check(self._kernel.store, sorted(realms))

    async def forget(self, realms: set[str]) -> None:
        """Delete what is left of realms that are not listed any more: of these, in which a scan
        came by rows, and of those that have nothing but pointers."""
        self.phase = "deleting what is left of deleted realms"
        if self.is_dry:
            return
        forgotten = sorted(realms | await self._pointed_to())
        if forgotten:
            await self._fences.on([REALMS_KEY])
        for realm in forgotten:
            while await self._is_unlisted(realm):
                deleted = await self._kernel.backend.delete_realm(realm, PURGE_ROWS_PER_CALL)
                self.counts.rows_deleted += deleted
                await self.rest()
                if not deleted:
                    break

    async def end_changes(self, realm: str, commits: KeptCommits, rows: list[ScannedRow]) -> None:
        """Delete those changes that belong to no commit."""
        store, by_id = self._kernel.store, {row.id for row in rows}
        orphans = set(await commits.orphans(store, realm, by_id))
        for row in rows:
            if row.id in orphans:
                self._deletions.add(row)
            else:
                self.counts.live += 1
        await self._flush()

    async def _look(self, realm: str) -> Survey:
        found = await survey(self._kernel, self._references, realm, self.cutoff_ms)
        self.surveyed.take(found.pointers)
        return found

    async def _pointed_to(self) -> set[str]:
        """Realms that are not listed any more and have pointers."""
        if not self.extent.is_whole:
            return set()
        return {
            one.realm
            async for batch in self._kernel.backend.scan_pointers()
            for one in batch
            if is_forgotten(one.realm, self.extent, self.cutoff_ms)
        }

    async def _purge(self, realm: str) -> None:
        before = self.counts.rows_deleted

        def progress(deleted: int) -> None:
            self.counts.rows_deleted = before + deleted

        try:
            await self._kernel.realms.purge(realm, progress)
            self.counts.realms_purged += 1
        except HeadgateError as error:
            self._fail(f"realm {realm} is not purged: {error}", error)
        await self.rest()

    async def _marked(self, realm: str, found: Survey) -> Live | None:
        """All that lives in a realm; None if it cannot be told."""
        self.phase = f"marking realm {realm}"
        ids = IdSet()
        try:
            for outlined in found.outlines:
                ids.add(outlined.ids)
                async for some in marks(self._kernel.store, self._references, outlined, set()):
                    ids.add(some)
                    await self.rest()
        except HeadgateError as error:
            await self._cannot_sweep(realm, error)
            return None
        await ids.sort()
        self.counts.realms += 1
        self.counts.marked += len(ids)
        return Live(ids, found.commits)

    async def _scan(self, live: dict[str, Live]) -> None:
        """Look at all rows of the database, and delete those that are dead."""
        self.phase = "scanning"
        async for batch in self._kernel.backend.scan_rows():
            for row in batch:
                self._judge(row, live.get(row.realm))
                if self._deletions.is_full:
                    await self._flush()
            self.counts.scanned += len(batch)
            await self.rest()
        await self._flush()
        for realm, rows in self._changes.items():
            await self.end_changes(realm, live[realm].commits, rows)

    def _judge(self, row: ScannedRow, live: Live | None) -> None:
        counts = self.counts
        if live is None:
            counts.left += 1
            if self.extent.is_whole and is_forgotten(row.realm, self.extent, self.cutoff_ms):
                self._forgotten.add(row.realm)
            return
        match judge(row, self.cutoff_ms, live.ids, self._kernel.store.types.knows):
            case Verdict.LIVE:
                counts.live += 1
            case Verdict.YOUNG:
                counts.young += 1
            case Verdict.UNKNOWN:
                counts.left += 1
            case Verdict.CHANGES:
                self._changes.setdefault(row.realm, []).append(row)
            case Verdict.DEAD:
                self._deletions.add(row)

    async def _flush(self) -> None:
        await self.rest()
        await self._deletions.flush()

    async def _is_unlisted(self, realm: str) -> bool:
        """Whether a realm is not there now either: an import may have brought it back."""
        return realm not in {one.id for one in await self._kernel.realms.list()}

    async def _cannot_sweep(self, realm: str, error: HeadgateError) -> None:
        """Remember why a realm is left alone, unless somebody began to purge it meanwhile."""
        now = {one.id: one.state for one in await self._kernel.realms.list()}
        if realm == SYSTEM_REALM or now.get(realm) in SWEPT:
            self._fail(f"realm {realm} is not swept: {error}", error)

    def _fail(self, words: str, error: HeadgateError) -> None:
        """Remember what is left alone; if nothing else can work either, that is the end."""
        if isinstance(error, Unavailable):
            raise error
        self.failures.append(words)
