"""A process that reads manifests for another one, which deletes what they name. It deletes nothing
itself, so it needs no fence."""

from collections.abc import Iterator

import msgspec

from headgate.planning.files import open_files
from headgate.planning.reachable import Listed, Unread, Walk
from headgate.workers.priority import step_back
from headgate.workers.serving import live


class Named(msgspec.Struct, frozen=True, array_like=True):
    """Some files that manifests name, and manifests that could not be read."""

    paths: list[str] = []
    sizes: list[int] = []
    unread: list[Unread] = []


def read(factory: bytes, asked: bytes) -> Iterator[bytes]:
    """What these manifests name, some files at a time."""
    step_back()
    walk = Walk(b"{}", open_files(factory))  # which begins with manifests
    encoder = msgspec.msgpack.Encoder()
    for _, found in walk.content_of(msgspec.msgpack.decode(asked, type=list[Listed])):
        yield encoder.encode(Named(found.paths, found.sizes))
    if walk.unread:
        yield encoder.encode(Named(unread=walk.unread))


if __name__ == "__main__":
    live({b"read": read})
