"""Where the tables of both tenants lie, as whoever holds the store's own keys sees it."""

import hashlib
import tempfile
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from pyiceberg.manifest import ManifestFile

from headgate.storage.sigv4 import Keys
from headgate.testing.object_stores import S3Server, send
from tests.planning.tables import MetadataTable, data_file
from tests.purge.listing import files_below, keys_in, local_path


class Store(Protocol):
    """A place for warehouses."""

    settings: tuple[str, ...]
    """What a server is told to use it."""

    def write(self, location: str, data: bytes) -> None:
        """Write a file."""
        ...

    def files(self, folder: str) -> dict[str, str]:
        """The digest of each file below a location."""
        ...


class LocalStore:
    """The disk, where a server keeps its warehouses by itself."""

    settings: tuple[str, ...] = ()

    def write(self, location: str, data: bytes) -> None:
        path = local_path(location)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def files(self, folder: str) -> dict[str, str]:
        found = sorted(files_below(local_path(folder)))
        return {path.as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


class BucketStore:
    """A bucket of an S3 server."""

    def __init__(self, server: S3Server, bucket: str) -> None:
        self._server = server
        self._bucket = bucket
        self.settings: tuple[str, ...] = (
            f"bootstrap.warehouse=s3://{bucket}/main",
            f"catalogs.warehouse=s3://{bucket}/others",
            f"s3.endpoint={server.url}",
            "s3.allow-http=true",
            f"s3.access-key-id={server.keys.access_key_id}",
            f"s3.secret-access-key={server.keys.secret_access_key}",
            "s3.delegation=sts",
            "s3.role-arn=arn:aws:iam::123456789012:role/tables",
            f"storage.allowed-endpoints={server.url}",
        )

    def write(self, location: str, data: bytes) -> None:
        status, answer = send(self._server.keys, "PUT", self._url(location), data)
        assert status == 200, answer

    def statuses(self, keys: Keys, location: str) -> set[int]:
        """What the store answers to whoever reads, writes, deletes or lists with these keys."""
        url = self._url(location)
        prefix = location.removeprefix(f"s3://{self._bucket}/").rpartition("/")[0]
        listing = f"{self._server.url}/{self._bucket}?list-type=2&prefix={quote(prefix, safe='')}"
        asked = [("GET", url), ("PUT", url), ("DELETE", url), ("GET", listing)]
        return {send(keys, method, where)[0] for method, where in asked}

    def files(self, folder: str) -> dict[str, str]:
        prefix = folder.removeprefix(f"s3://{self._bucket}/")
        keys = sorted(key for key in keys_in(self._server, self._bucket) if key.startswith(prefix))
        return {key: self._digest(f"s3://{self._bucket}/{key}") for key in keys}

    def _digest(self, location: str) -> str:
        status, data = send(self._server.keys, "GET", self._url(location))
        assert status == 200, data
        return hashlib.sha256(data).hexdigest()

    def _url(self, location: str) -> str:
        return f"{self._server.url}/{quote(location.removeprefix('s3://'))}"


def write_snapshot(store: Store, folder: str, id: int, paths: list[str]) -> str:
    """Write a manifest that names these data files, and its list: the location of the list."""
    with tempfile.TemporaryDirectory() as scratch:
        table = MetadataTable(Path(scratch))
        manifest = table.manifest([data_file(path) for path in paths])
        table.snapshot(id, [_moved(manifest, folder)])
        for path in Path(scratch).iterdir():
            store.write(f"{folder}/{path.name}", path.read_bytes())
    return f"{folder}/snap-{id}.avro"


def _moved(manifest: ManifestFile, folder: str) -> ManifestFile:
    """The same manifest, in the folder in which it will lie."""
    manifest[0] = f"{folder}/{Path(manifest.manifest_path).name}"
    return manifest
