"""What a listing of a purged table's own locations shows besides the files that its metadata leads
to: metadata files of commits that never landed, and files that nothing refers to."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from headgate.catalog.metadata_files import is_metadata_file
from headgate.limits import PURGE_LEFT_PATHS_MAX, PURGE_STRAYS_AT_ONCE
from headgate.purge.ledger import LeftFiles, left_files
from headgate.purge.territory import NOWHERE, Folder, Standing, Territory


def file_of(name: str) -> str:
    """The file that a name in a listing stands for: a checksum of Hadoop's stands for its file."""
    return name[1:-4] if name.startswith(".") and name.endswith(".crc") else name


def metadata_folders(territory: Territory, own: Iterable[str], known: Iterable[str]) -> set[bytes]:
    """The keys of the folders in which the server writes metadata files of a table: those of the
    files that are `known`, each of its own locations, which may be or have been its
    `write.metadata.path`, and the folder `metadata` in each of these."""
    places = [place.rstrip("/") for place in own]
    usual = [f"{place}{folder}/0" for place in places for folder in ("", "/metadata")]
    return {territory.find(path)[0].key for path in (*usual, *known)}


class Leftovers:
    """Takes in one listing of the table's own locations, in bounded memory.

    Files are given as hashes that other tables need, and that are yet to be deleted.
    """

    def __init__(
        self, folders: AbstractSet[bytes], needed: AbstractSet[int], rest: AbstractSet[int]
    ) -> None:
        self._folders = folders
        self._needed = needed
        self._rest = rest
        self._strays: dict[str, None] = {}
        self._count = 0
        self._first: list[str] = []

    def add(self, folder: Folder, name: str, location: str) -> None:
        """Take in a file of the listing."""
        file = file_of(name)
        key = hash((folder.key, file))
        is_foreign = folder is not NOWHERE and folder.standing_of(file) is not Standing.OWN
        if is_foreign or key in self._needed or key in self._rest:
            return
        if is_metadata_file(file) and folder.key in self._folders:
            if len(self._strays) < PURGE_STRAYS_AT_ONCE:
                self._strays[f"{folder.location}/{file}"] = None
            return
        self._count += 1
        if len(self._first) < PURGE_LEFT_PATHS_MAX:
            self._first.append(location)

    @property
    def strays(self) -> list[str]:
        """The first metadata files that no commit landed with, or that fell out of the log. No
        commit can be under way on a dropped table."""
        return list(self._strays)

    @property
    def unreferenced(self) -> LeftFiles:
        """The files that nothing refers to, and that the server did not write."""
        return LeftFiles(self._count, left_files(self._first).paths)
