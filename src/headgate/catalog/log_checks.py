"""Whether the logs of a store are what they were: all chains walked, one pointer at a time."""

from collections.abc import Callable

import msgspec

from headgate.catalog.catalogs import stored_catalogs
from headgate.catalog.checkpoints import Known
from headgate.ids import time_ms
from headgate.kernel.chain import Chain
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import RealmState
from headgate.kernel.records import PointerKey
from headgate.kernel.system import REALM_POINTERS, SYSTEM_REALM
from headgate.limits import CHAIN_BREAKS_MAX

_DELETED = (RealmState.PURGING, RealmState.PURGED)


class BrokenCommit(msgspec.Struct, frozen=True, rename="kebab"):
    """A commit at which a log does not hold; the number is 0 if it is not known."""

    realm: str
    realm_id: str
    pointer: str
    seq: int
    commit: str
    why: str


class LogPlace(msgspec.Struct, frozen=True, rename="kebab"):
    """A log, and the oldest commit that is kept of it."""

    realm: str
    realm_id: str
    pointer: str
    seq: int = 0
    commit: str = ""


class LogFindings(msgspec.Struct, rename="kebab"):
    """What came of it. Lists have the first entries, counts are of all."""

    pointers: int = 0
    commits: int = 0
    unlinked: int = 0
    """Commits of programs that did not know of digests: accepted as such."""
    cut: int = 0
    """Logs whose older commits are no longer kept."""
    checkpoints: int = 0
    matched: int = 0
    """Positions of checkpoints that are in the logs."""
    no_longer_kept: int = 0
    """Positions of checkpoints that lie before the oldest commit that is kept."""
    cut_early: list[LogPlace] = []
    """Logs that begin later than the retention would have it."""
    gone: list[LogPlace] = []
    """Logs of checkpoints that are no longer there, as those of a catalog that was dropped."""
    broken: int = 0
    breaks: list[BrokenCommit] = []


class LogChecks:
    """One check of the logs of a store, or of one realm."""

    def __init__(self, kernel: Kernel, known: Known, retention_ms: int) -> None:
        self.findings = LogFindings()
        self._kernel = kernel
        self._known = known
        self._retention_ms = retention_ms
        self._realms: dict[str, str] = {SYSTEM_REALM: "system"}

    async def make(self, realm: str | None, told: Callable[[int], None]) -> LogFindings:
        """Walk all chains, or those of one realm, by its id. `told` is told how many commits more
        were looked at."""
        self._realms |= {one.id: one.name for one in await self._kernel.realms.list()}
        keys = await self._kernel.log.pointers(realm)
        for key in keys:
            await self._walk(key, told)
        for key in sorted(self._known.keys() - set(keys)):
            await self._walk(key, told)
        return self.findings

    async def _walk(self, key: PointerKey, told: Callable[[int], None]) -> None:
        found, known = self.findings, self._known.get(key, {})
        chain = await self._kernel.chains.verify(key, known, told)
        if chain.broken and await self._is_gone(key):
            if key in self._known and len(found.gone) < CHAIN_BREAKS_MAX:
                found.gone.append(self._place(key))
            return
        found.pointers += 1
        found.commits += chain.commits
        found.unlinked += chain.unlinked
        found.matched += chain.matched
        found.no_longer_kept += chain.cut_positions
        found.cut += chain.is_cut
        if chain.is_cut and self._is_early(chain) and len(found.cut_early) < CHAIN_BREAKS_MAX:
            found.cut_early.append(self._place(key, chain.first, chain.begins))
        self._take_breaks(chain)

    def _take_breaks(self, chain: Chain) -> None:
        found, key = self.findings, chain.key
        found.broken += chain.broken
        for one in chain.breaks[: CHAIN_BREAKS_MAX - len(found.breaks)]:
            name = self._realms.get(key.realm, "")
            found.breaks.append(
                BrokenCommit(name, key.realm, key.name, one.seq, str(one.commit), one.why)
            )

    async def _is_gone(self, key: PointerKey) -> bool:
        """Whether a pointer is not there, and need not be: its catalog or realm was deleted."""
        [current] = await self._kernel.pointers.read([key])
        if current is not None:
            return False
        if key.realm == SYSTEM_REALM:
            return False
        kept = {one.id: one for one in await self._kernel.realms.list()}
        realm = kept.get(key.realm)
        if realm is None or realm.state in _DELETED:
            return True
        if key.name in REALM_POINTERS:
            return False
        there = await stored_catalogs(self._kernel, realm)
        return not any(key.name.startswith(f"cat/{one.id}/") for one in there)

    def _is_early(self, chain: Chain) -> bool:
        """Whether commits are gone that no cut would have taken: the oldest that is kept is older
        than the retention."""
        oldest_ms = self._kernel.clock.wall_ms() - self._retention_ms
        return not self._retention_ms or time_ms(chain.begins) > oldest_ms

    def _place(self, key: PointerKey, seq: int = 0, commit: int = 0) -> LogPlace:
        name = self._realms.get(key.realm, "")
        return LogPlace(name, key.realm, key.name, seq, str(commit) if commit else "")
