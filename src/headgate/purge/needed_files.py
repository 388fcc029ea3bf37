"""Collects the files of a purged table that other tables refer to, in bounded memory."""

from headgate.errors import StorageUnavailable
from headgate.limits import WALK_SEEN_PATHS_MAX
from headgate.purge.surveyor import PassedOver, Referrer


class NeededFiles:
    """Hashes of needed files. Tables of the same schema and those of others have separate bounds.

    If those of others name too many files, the schema that names most protects none: however many
    files one tenant makes up, what tables of others need stays.
    """

    def __init__(self, passed_over: list[PassedOver]) -> None:
        """What protects nothing is added to `passed_over`."""
        self._near: set[int] = set()
        self._far: dict[str, set[int]] = {}
        """By schema."""
        self._count = 0
        self._too_large: set[str] = set()
        self._passed_over = passed_over

    def add(self, referrer: Referrer, files: set[int]) -> None:
        """Add files that a table refers to."""
        if referrer.holds_up:
            self._near |= files
            if len(self._near) > WALK_SEEN_PATHS_MAX:
                raise _too_many()
        elif referrer.schema not in self._too_large:
            known = self._far.setdefault(referrer.schema, set())
            before = len(known)
            known |= files
            self._count += len(known) - before
            if self._count > WALK_SEEN_PATHS_MAX:
                self._drop_largest(referrer)

    def all(self) -> set[int]:
        """All files that are needed, when all tables were looked at."""
        return self._near.union(*self._far.values())

    def _drop_largest(self, referrer: Referrer) -> None:
        """Forget the files of the schema that has most; a table that is looked at is reported."""
        largest = max(self._far, key=lambda schema: len(self._far[schema]))
        self._count -= len(self._far.pop(largest))
        self._too_large.add(largest)
        why = f"tables of other schemas name more than {WALK_SEEN_PATHS_MAX:,} files"
        if largest != referrer.schema:
            why += "; those of another schema, which names most of them, protect none"
        self._passed_over.append(PassedOver(referrer.table.metadata_location, why))


def _too_many() -> StorageUnavailable:
    return StorageUnavailable(
        f"more than {WALK_SEEN_PATHS_MAX:,} files of the table are needed by its schema",
        why="so many cannot be remembered while it is purged",
        fix="Drop the tables that need them first, or cancel the job: then its files stay",
    )
