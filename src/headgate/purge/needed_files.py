"""Collects the files of a purged table that other tables refer to, in bounded memory."""

from headgate.errors import StorageUnavailable
from headgate.limits import WALK_SEEN_PATHS_MAX
from headgate.purge.surveyor import PassedOver, Referrer


class NeededFiles:
    """Hashes of needed files. Tables of the same schema and those of others have separate bounds:
    a table of another schema that names too many files protects none."""

    def __init__(self, passed_over: list[PassedOver]) -> None:
        """What protects nothing is added to `passed_over`."""
        self._near: set[int] = set()
        self._far: set[int] = set()
        self._table: set[int] = set()
        """Of the table of another schema that is looked at."""
        self._referrer: Referrer | None = None
        self._too_large: set[Referrer] = set()
        self._passed_over = passed_over

    def add(self, referrer: Referrer, files: set[int]) -> None:
        """Add files that a table refers to; all of one table are added in a row."""
        if referrer.holds_up:
            self._near |= files
            if len(self._near) > WALK_SEEN_PATHS_MAX:
                raise _too_many()
            return
        if referrer != self._referrer:
            self._end_table()
            self._referrer = referrer
        if referrer in self._too_large:
            return
        self._table |= files
        if len(self._far) + len(self._table) > WALK_SEEN_PATHS_MAX:
            self._too_large.add(referrer)
            self._table.clear()
            why = f"tables of other schemas name more than {WALK_SEEN_PATHS_MAX:,} files"
            self._passed_over.append(PassedOver(referrer.table.metadata_location, why))

    def all(self) -> set[int]:
        """All files that are needed, when all tables were looked at."""
        self._end_table()
        return self._near | self._far

    def _end_table(self) -> None:
        self._far |= self._table
        self._table.clear()


def _too_many() -> StorageUnavailable:
    return StorageUnavailable(
        f"more than {WALK_SEEN_PATHS_MAX:,} files of the table are needed by its schema",
        why="so many cannot be remembered while it is purged",
        fix="Drop the tables that need them first, or cancel the job: then its files stay",
    )
