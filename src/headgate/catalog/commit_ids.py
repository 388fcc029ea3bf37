"""The ids of commits that were found on the way back to a position, for the pages that follow.

Heads lead backwards only: whoever reads forwards from far behind walks the whole way back first.
Once is enough.
"""

from array import array
from collections.abc import Sequence

from headgate.kernel.log import CommitLog
from headgate.kernel.records import PointerKey
from headgate.limits import CHANGES_AHEAD_MAX, CHANGES_AHEAD_MIN


class CommitIds:
    """Finds the ids of the commits behind a position."""

    def __init__(self, log: CommitLog) -> None:
        self._log = log
        self._known: dict[PointerKey, array[int]] = {}

    async def behind(self, key: PointerKey, after: int | None) -> Sequence[int]:
        """Some ids behind this commit, or from the oldest that is kept; none if it is the last."""
        known = self._known.get(key)
        if known is not None and after is not None and after in known:
            ids = known[known.index(after) + 1 :]
            if ids:
                return ids
        ids = await self._log.ids_behind(key, after)
        self._known.pop(key, None)
        if len(ids) >= CHANGES_AHEAD_MIN:
            self._keep(key, ids)
        return ids

    def forget(self, key: PointerKey) -> None:
        """Find them anew: some are no longer kept."""
        self._known.pop(key, None)

    def _keep(self, key: PointerKey, ids: "array[int]") -> None:
        kept = ids[:CHANGES_AHEAD_MAX]
        while self._known and len(kept) + sum(map(len, self._known.values())) > CHANGES_AHEAD_MAX:
            del self._known[next(iter(self._known))]
        self._known[key] = kept
