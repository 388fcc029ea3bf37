"""All stores of a server behind one port, as the catalog asks for it."""

from collections.abc import Callable, Sequence

from headgate.catalog.ports import Files, Signed, SignRequest, StorageCredential
from headgate.storage.files import StorageFiles
from headgate.storage.options import StorageOptions
from headgate.storage.places import parse
from headgate.storage.vending import StorageVending

Sign = Callable[[SignRequest, Sequence[str]], Signed]


class StorageGateway:
    """Files, credentials and signatures, all from the same options."""

    def __init__(self, options: StorageOptions, vending: StorageVending, sign: Sign) -> None:
        self._options = options
        self._vending = vending
        self._sign = sign
        self._files: dict[tuple[str, ...], StorageFiles] = {}

    def files(self, roots: tuple[str, ...]) -> Files:
        """The files below these roots, opened once."""
        files = self._files.get(roots)
        if files is None:
            local = [root for root in roots if parse(root).kind == "file"]
            files = self._files[roots] = StorageFiles(self._options, local)
        return files

    def client_config(self, location: str) -> dict[str, str]:
        return self._vending.config(location)

    async def credentials(self, location: str, *, write: bool) -> list[StorageCredential]:
        found = await self._vending.credentials(location, write=write)
        return [StorageCredential(one.prefix, one.config) for one in found]

    def credential_generation(self, location: str) -> str:
        return self._vending.generation(location)

    def sign(self, request: SignRequest, locations: Sequence[str]) -> Signed:
        return self._sign(request, locations)
