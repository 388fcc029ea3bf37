"""What came of orphans, summed up for each place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from headgate.pipelines.bounds import ORPHANS_FAILURES_SHOWN
from headgate.pipelines.orphans_removal import DELETED, FAILED, MISSING

if TYPE_CHECKING:
    import pyarrow as pa


class PlaceSum(msgspec.Struct):
    """The orphans of one place."""

    place: str
    table: str
    """The table or view that has it; empty if nobody has."""
    files: int = 0
    bytes: int = 0
    deleted: int = 0
    missing: int = 0
    failed: int = 0


class NotDeleted(msgspec.Struct, frozen=True):
    """An orphan that is still there."""

    path: str
    why: str


class Account:
    """Sums up."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], PlaceSum] = {}
        self.failures: list[NotDeleted] = []
        """The first ones."""
        self.doubt = ""
        """Why there are no more in nobody's place; empty if it is known of all."""

    @property
    def places(self) -> list[PlaceSum]:
        """Those with most bytes first."""
        return sorted(self._places.values(), key=lambda one: (-one.bytes, one.place))

    def add(self, orphans: pa.Table) -> None:
        """Orphans with what came of them."""
        import pyarrow.compute as pc

        groups = orphans.group_by(["place", "table", "outcome"])
        for row in groups.aggregate([("size", "sum"), ("size", "count")]).to_pylist():
            self._count(**row)
        failed = orphans.filter(pc.equal(orphans["outcome"], FAILED)).select(["path", "why"])
        room = ORPHANS_FAILURES_SHOWN - len(self.failures)
        self.failures += [NotDeleted(**row) for row in failed.slice(0, room).to_pylist()]

    def _count(
        self, *, place: str, table: str, outcome: str, size_sum: int, size_count: int
    ) -> None:
        one = self._places.setdefault((place, table), PlaceSum(place, table))
        one.files += size_count
        one.bytes += size_sum
        one.deleted += size_count if outcome == DELETED else 0
        one.missing += size_count if outcome == MISSING else 0
        one.failed += size_count if outcome == FAILED else 0
