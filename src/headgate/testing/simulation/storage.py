"""The files of a simulation: names, and nothing in them."""

from collections.abc import Sequence

from headgate.catalog.ports import Roots, Signed, SignRequest, StorageCredential
from headgate.errors import FileMissing, Unsupported

# Ports name their arguments; here most of them make no difference.
# ruff: noqa: ARG002


class SimulatedStorage:
    """One store for all nodes; it is always there."""

    def __init__(self) -> None:
        self.files_there: set[str] = set()
        self._metadata: set[str] = set()

    def add(self, data: Sequence[str], metadata: str) -> None:
        """Make the files of a table."""
        self.files_there.update(data, [metadata])
        self._metadata.add(metadata)

    def below(self, location: str, *, leaves: bool) -> list[str]:
        """The files of a table that lead to no others, or those that do, in order."""
        prefix = f"{location}/"
        found = [path for path in self.files_there if path.startswith(prefix)]
        return sorted(path for path in found if (path in self._metadata) != leaves)

    def files(self, _roots: Roots) -> "SimulatedFiles":
        return SimulatedFiles(self)

    def client_config(self, _location: str) -> dict[str, str]:
        return {}

    async def credentials(self, location: str, *, write: bool) -> list[StorageCredential]:
        return []

    def credential_seconds(self, _location: str) -> int:
        return 0

    def credential_generation(self, _location: str) -> str:
        return ""

    def sign(self, request: SignRequest, locations: Sequence[str], *, write: bool) -> Signed:
        raise Unsupported("nothing is signed", why="the storage is simulated")


class SimulatedFiles:
    """The files of one catalog."""

    def __init__(self, storage: SimulatedStorage) -> None:
        self._storage = storage

    async def read(self, location: str) -> bytes:
        if await self.missing(location):
            raise FileMissing(f"{location} is missing")
        return b""

    async def write(self, location: str, data: bytes | Sequence[bytes]) -> None:
        self._storage.files_there.add(location)

    async def missing(self, location: str) -> bool:
        return location not in self._storage.files_there

    def missing_now(self, location: str) -> bool | None:
        return location not in self._storage.files_there

    async def prepare(self, location: str) -> None:
        """There are no folders."""

    async def delete(self, locations: Sequence[str]) -> list[tuple[str, str]]:
        self._storage.files_there.difference_update(locations)
        return []

    async def is_empty(self, location: str) -> bool:
        return not any(path.startswith(location) for path in self._storage.files_there)

    async def remove_folders(self, location: str) -> None:
        """There are no folders."""
