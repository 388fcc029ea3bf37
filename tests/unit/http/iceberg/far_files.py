"""An object store that is a dictionary, for catalogs that lie far away."""

from collections.abc import Sequence

from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.ports import Files
from headgate.errors import FileMissing
from tests.unit.catalog.lakes import METALAKE, Node

WAREHOUSE = "s3://bucket/warehouse"


class FarFiles:
    """Files by location."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    async def read(self, location: str) -> bytes:
        if location not in self.contents:
            raise FileMissing(f"Failed to open input stream for file: {location}")
        return self.contents[location]

    async def write(self, location: str, data: bytes | Sequence[bytes]) -> None:
        self.contents[location] = data if isinstance(data, bytes) else b"".join(data)

    async def missing(self, location: str) -> bool:
        return location not in self.contents

    def missing_now(self, location: str) -> bool | None:
        return None

    async def prepare(self, location: str) -> None:
        pass

    async def delete(self, locations: Sequence[str]) -> list[tuple[str, str]]:
        for location in locations:
            self.contents.pop(location, None)
        return []

    async def is_empty(self, location: str) -> bool:
        return not any(one.startswith(f"{location}/") for one in self.contents)

    async def remove_folders(self, location: str) -> None:
        pass


async def far_catalog(node: Node, name: str = "far") -> None:
    """A catalog in that store, with a namespace and a table."""
    files: Files = FarFiles()
    near = node.storage.files

    def by_roots(roots: tuple[str, ...]) -> Files:
        return files if roots[0].startswith("s3:") else near(roots)

    setattr(node.storage, "files", by_roots)  # noqa: B010  in this test only
    entity = CatalogEntity(0, name, f"{WAREHOUSE}/{name}".replace(" ", "_"), {})
    await create_catalog(node.kernel, METALAKE, entity)
