"""The files of an audit: found under their names and the names they are rotated to, read in part.

A file is known by its first line, which no other has. So it may be renamed, copied and compressed
between two runs, and it is read on where it was left.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from headgate.errors import BadRequest

LINE_BYTES_MAX = 1 << 20  # of one line; what is longer is no line of ours, and read in pieces
COMPRESSED = ".gz"
ROTATED = (".", "-", "_")
"""What may follow the name of a file in the names it is rotated to."""


class AuditFile(NamedTuple):
    """A file with at least one whole line."""

    id: str
    """What its first line is known by."""
    path: Path
    source: str
    """Where the file lies that it is, or was before it was rotated."""
    is_live: bool
    """Whether the server still writes to it."""
    size: int | None
    """How far it is read: what comes meanwhile is for the next time. None for all."""


class Line(NamedTuple):
    """A line with its end, and where it is."""

    offset: int
    data: bytes


class Readers:
    """Files that are read on where they were left, without a search for that place."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[int, Iterator[Line]]] = {}

    def lines(self, file: AuditFile, offset: int) -> Iterator[Line]:
        """The whole lines of a file from a place on."""
        at, rest = self._open.get(file.id, (-1, iter(())))
        if at != offset:
            rest = read_lines(file, offset)
        for line in rest:
            self._open[file.id] = (line.offset + len(line.data), rest)
            yield line


def find_files(paths: list[Path], host: str) -> list[AuditFile]:
    """All files that the audits at these places consist of, the oldest first."""
    found: dict[str, AuditFile] = {}
    for path in paths:
        whole = path.absolute()
        rotated = [one for one in whole.parent.glob("*") if _is_rotated(one, whole)]
        for one in (*sorted(rotated, key=_age), *([whole] if whole.is_file() else [])):
            file = _opened(one, f"{host}:{whole}", is_live=one == whole)
            known = found.get(file.id) if file else None
            if file and (known is None or _is_better(file, known)):
                found[file.id] = file
        if not rotated and not whole.is_file():
            raise BadRequest(
                f"the audit {str(path)!r} cannot be read",
                why="there is no file of this name, nor one it was rotated to",
                fix="Give the path that audit.file of the server names",
            )
    return list(found.values())


def read_lines(file: AuditFile, offset: int) -> Iterator[Line]:
    """The whole lines of a file from a place on; the last one may be in the making."""
    with _content(file.path) as content:
        content.seek(offset)
        while file.size is None or offset < file.size:
            data = _line(content, LINE_BYTES_MAX)
            end = offset + len(data)
            is_whole = data.endswith(b"\n") or len(data) == LINE_BYTES_MAX
            if not is_whole or (file.size is not None and end > file.size):
                return
            yield Line(offset, data)
            offset = end


def _opened(path: Path, source: str, *, is_live: bool) -> AuditFile | None:
    """A file by its first line that is not empty; None if there is none yet."""
    size = None if path.suffix == COMPRESSED else path.stat().st_size
    nameless = AuditFile("", path, source, is_live, size)
    try:
        first = next((line.data for line in read_lines(nameless, 0) if line.data.strip()), None)
    except OSError as error:
        raise BadRequest(
            f"the audit {str(path)!r} cannot be read",
            why=error.strerror or str(error),
            fix="Let the user who runs this read it",
        ) from error
    digest = hashlib.sha256(first).hexdigest()[:24] if first else ""
    return nameless._replace(id=digest) if digest else None


def _is_rotated(path: Path, live: Path) -> bool:
    rest = path.name.removeprefix(live.name)
    return rest != path.name and rest.startswith(ROTATED) and path.is_file()


def _age(path: Path) -> tuple[float, str]:
    return path.stat().st_mtime, path.name


def _is_better(file: AuditFile, known: AuditFile) -> bool:
    """Of a file and its copy the one that is no archive, then the longer one."""
    return (file.size or 0) > (known.size or 0)


@contextmanager
def _content(path: Path) -> Iterator[BinaryIO | gzip.GzipFile]:
    with path.open("rb") as raw:
        if path.suffix == COMPRESSED:
            with gzip.GzipFile(fileobj=raw) as content:
                yield content
        else:
            yield raw


def _line(content: BinaryIO | gzip.GzipFile, limit: int) -> bytes:
    """The next line; of an archive in the making, what can be read of it."""
    try:
        return content.readline(limit)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return b""
