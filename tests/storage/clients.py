"""Clients of an S3 server that use what they were handed, and nothing else."""

from headgate.clock import SystemClock
from headgate.storage.files import StorageFiles
from headgate.storage.options import StorageOptions
from headgate.storage.sigv4 import Keys
from headgate.storage.vending import StorageVending
from headgate.testing.object_stores import S3Server


def vending(server: S3Server) -> StorageVending:
    """Makes temporary keys at the server."""
    options = StorageOptions(s3=server.options(delegation="sts"), allowed_endpoints=(server.url,))
    return StorageVending(options, SystemClock())


async def vended_keys(server: S3Server, location: str, *, write: bool) -> Keys:
    """Temporary keys for one location."""
    [credential] = await vending(server).credentials(location, write=write)
    names = ("s3.access-key-id", "s3.secret-access-key", "s3.session-token")
    return Keys(*(credential.config[name] for name in names))


def files_of(server: S3Server, keys: Keys, *buckets: str) -> StorageFiles:
    """Files as somebody with these keys sees them."""
    options = server.options(**keys._asdict())
    roots = [f"s3://{bucket}" for bucket in buckets]
    return StorageFiles(StorageOptions(s3=options, allowed_endpoints=(server.url,)), roots)
