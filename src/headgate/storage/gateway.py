"""All stores of a server behind one port, as the catalog asks for it."""

from collections.abc import Sequence

from headgate.catalog.ports import Files, Signed, SignRequest, StorageCredential
from headgate.clock import Clock
from headgate.errors import Unsupported
from headgate.limits import STORES_OPEN_MAX
from headgate.storage.file_writers import FileWriters
from headgate.storage.files import StorageFiles
from headgate.storage.options import StorageOptions
from headgate.storage.signing import S3Signer
from headgate.storage.vending import StorageVending


class StorageGateway:
    """Files, credentials and signatures, all from the same options."""

    def __init__(self, options: StorageOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._vending = StorageVending(options, clock)
        self._files: dict[tuple[str, ...], StorageFiles] = {}
        self._writers = FileWriters()

    def close(self) -> None:
        """Write no more files."""
        self._writers.close()

    def files(self, roots: tuple[str, ...]) -> Files:
        """The files below these roots, opened once."""
        files = self._files.get(roots)
        if files is None:
            if len(self._files) >= STORES_OPEN_MAX:
                self._files.pop(next(iter(self._files)))
            files = StorageFiles(self._options, roots, clock=self._clock, writers=self._writers)
            self._files[roots] = files
        return files

    def client_config(self, location: str) -> dict[str, str]:
        return self._vending.config(location)

    async def credentials(self, location: str, *, write: bool) -> list[StorageCredential]:
        return await self._vending.credentials(location, write=write)

    def credential_generation(self, location: str) -> str:
        return self._vending.generation(location)

    def credential_seconds(self, location: str) -> int:
        return self._vending.seconds(location)

    def sign(self, request: SignRequest, locations: Sequence[str], *, write: bool) -> Signed:
        if self._options.s3 is None:
            raise Unsupported("Remote signing is not available", why="no S3 store is configured")
        url, headers = S3Signer(self._options.s3, self._clock).sign(
            request.method,
            request.url,
            {name: ",".join(values) for name, values in request.headers.items()},
            region=request.region,
            body=request.body.encode() if request.body is not None else None,
            prefixes=locations,
            write=write,
        )
        signed = {name: [value] for name, value in headers.items()}
        return Signed(url, request.headers | signed, cacheable=request.method in {"GET", "HEAD"})
