"""The files of a dropped table, as the purger of a third party may use them."""

from collections.abc import Sequence

from headgate.catalog.ports import Files, Roots
from headgate.errors import Forbidden
from headgate.purge.territory import Standing, Territory

WHY = "it is not in a location that the dropped table holds or held"


class TableFiles:
    """Reads in all of a catalog's locations; writes and deletes in those of one table only."""

    def __init__(self, files: Files, roots: Roots, own: Roots) -> None:
        self._files = files
        self._territory = Territory(roots, own, ())

    async def read(self, location: str) -> bytes:
        return await self._files.read(location)

    async def missing(self, location: str) -> bool:
        return await self._files.missing(location)

    def missing_now(self, location: str) -> bool | None:
        return self._files.missing_now(location)

    async def is_empty(self, location: str) -> bool:
        return await self._files.is_empty(location)

    async def write(self, location: str, data: bytes | Sequence[bytes]) -> None:
        self._check(self._is_own_file(location), location)
        await self._files.write(location, data)

    async def prepare(self, location: str) -> None:
        self._check(self._is_own_folder(location), location)
        await self._files.prepare(location)

    async def delete(self, locations: Sequence[str]) -> list[tuple[str, str]]:
        """Delete files; what is not the table's is not, as any other file that cannot be."""
        own = [location for location in locations if self._is_own_file(location)]
        known = set(own)
        refused = [(location, WHY) for location in locations if location not in known]
        return [*await self._files.delete(own), *refused]

    async def remove_folders(self, location: str) -> None:
        self._check(self._is_own_folder(location), location)
        await self._files.remove_folders(location)

    def _is_own_file(self, location: str) -> bool:
        folder, name = self._territory.find(location)
        return folder.standing_of(name) is Standing.OWN

    def _is_own_folder(self, location: str) -> bool:
        return self._territory.standing_of(location) is Standing.OWN

    @staticmethod
    def _check(is_own: bool, location: str) -> None:  # noqa: FBT001  it is what was found
        if not is_own:
            raise Forbidden(f"Location is not allowed: {location}", why=WHY)
