"""Tables that miss files which lead to others: as long as these are gone, such a table refers to
what it did. To know that costs less than to read the table. Runs in a child process."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from headgate.errors import Forbidden, InvalidInput, StorageUnavailable
from headgate.limits import REFERENCE_GAPS_MAX, REFERENCE_GAPS_TABLES_MAX
from headgate.purge.surveyor import Outside, Surveyed


class Store(Protocol):
    """Where files are."""

    def check_store(self, location: str, *, may_be_empty: bool = True) -> None:
        """Raise StorageUnavailable if what is missing may only be out of sight."""
        ...


class Files(Store, Protocol):
    """Files that may be back."""

    def all_missing(self, locations: Sequence[str]) -> bool:
        """Whether none of these files is there."""
        ...


class Gaps(NamedTuple):
    """What a table misses, and what all that it has leads to."""

    paths: Sequence[str]
    outside: Outside


_known: dict[Surveyed, Gaps] = {}


def remember(table: Surveyed, gaps: Gaps) -> None:
    """Take over what a table misses, unless that is too much."""
    forget(table)
    if table.metadata or len(gaps.paths) > REFERENCE_GAPS_MAX:
        return
    while len(_known) >= REFERENCE_GAPS_TABLES_MAX:
        with suppress(KeyError, StopIteration, RuntimeError):  # another thread was faster
            del _known[next(iter(_known))]
    _known[table] = gaps


def forget(table: Surveyed) -> None:
    """It misses nothing, or what it misses is to be looked for once more."""
    _known.pop(table, None)


def as_before(table: Surveyed, files: Files) -> Outside | None:
    """What a table refers to, if all that it missed is still gone."""
    known = _known.get(table)
    if known is None:
        return None
    with suppress(Forbidden, InvalidInput, StorageUnavailable):  # nobody knows before it is read
        if files.all_missing(known.paths):
            check_stores(table, known.paths, files)
            return known.outside
    return None


def check_stores(table: Surveyed, paths: Sequence[str], store: Store) -> None:
    """Raise StorageUnavailable if what a table misses may only be out of sight. It is asked about
    each folder once: a table may miss very many files."""
    for path in {path.rpartition("/")[0]: path for path in paths}.values():
        # The table is there: a disk without even its metadata file is the wrong one.
        store.check_store(path, may_be_empty=table.metadata_location not in paths)
