"""The file that orphans are reported in: a table, in the format that its name asks for.

What was deleted is nowhere else. So there is room for it before it is deleted, and what was written
is kept if the rest cannot be.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headgate.errors import BadSetting, Unavailable

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

COLUMNS = ["path", "size", "modified", "place", "table", "outcome", "why"]

Write = Callable[["pa.Table"], None]
"""Adds orphans with what came of them."""
ROOM_BYTES, ROOM_BYTES_PER_ROW = 1 << 20, 512
"""Kept free for what belongs to no row, and for what each has besides its own text."""


class _UnwritableError(Exception):
    """The disk does not take it."""


class ReportFile:
    """Takes orphans. Without a file nobody reads them."""

    def __init__(self, write: Write | None = None, spare: Path | None = None) -> None:
        self.rows = 0
        self._write = write
        self._spare = spare

    def make_room(self, orphans: pa.Table) -> None:
        """Take room for these before something is done to them that has to be told."""
        if self._spare is not None:
            size = ROOM_BYTES + ROOM_BYTES_PER_ROW * orphans.num_rows + 2 * orphans.nbytes
            with _written():
                self._spare.write_bytes(bytes(size))

    def free(self) -> None:
        """Leave the room to what is to be written now."""
        if self._spare is not None:
            self._spare.unlink(missing_ok=True)

    def __call__(self, orphans: pa.Table) -> None:
        """Add orphans with what came of them."""
        if self._write is not None:
            self.rows += orphans.num_rows  # a part of them is worth keeping too
            with _written():
                self.free()
                self._write(orphans.select(COLUMNS).cast(_schema()))


def check_report(name: str) -> None:
    """Refuse a file that could not be written in the end."""
    path = Path(name)
    if path.suffix not in _FORMATS:
        raise BadSetting(
            f"--report {name!r} cannot be used",
            why=f"{path.suffix or 'a name without a suffix'} is no format of tables",
            fix=f"End it with {', '.join(_FORMATS)}",
        )
    if not path.absolute().parent.is_dir():
        raise BadSetting(
            f"--report {name!r} cannot be used", why="there is no such folder", fix="Make it first"
        )


@contextmanager
def report_file(name: str) -> Iterator[ReportFile]:
    """The file has its name once it is complete; if that fails, what was written is beside it."""
    if not name:
        yield ReportFile()
        return
    path = Path(name)
    part, output = path.with_name(f".{path.name}.part"), ReportFile()
    try:
        with ExitStack() as opened:
            with _written():
                write = opened.enter_context(_FORMATS[path.suffix](part))
            output = ReportFile(write, path.with_name(f".{path.name}.room"))
            try:
                yield output
            finally:  # whatever happened, what was written is to be read
                with _written():
                    output.free()
                    opened.close()
        with _written():
            part.replace(path)
    except _UnwritableError as error:
        raise Unavailable(
            f"--report {name!r} cannot be written",
            why=str(error),
            fix=" ".join(["Make room and run it again;", *_kept(part, path, output)]).rstrip(";"),
        ) from error
    except BaseException:
        for words in _kept(part, path, output):
            logger.warning("the report is not complete: %s", words)
        raise
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _kept(part: Path, path: Path, output: ReportFile) -> Iterator[str]:
    """Keep what was written, if anything was, under a name that nothing has yet; which that is."""
    if output.rows:
        names = (path.with_name(f"{path.stem}.part-{n}{path.suffix}") for n in count(1))
        kept = part.replace(next(name for name in names if not name.exists()))
        yield f"what was written until then is in {kept}"


@contextmanager
def _written() -> Iterator[None]:
    """Tell failures of the disk from others."""
    try:
        yield
    except OSError as error:
        raise _UnwritableError(error.strerror or str(error)) from error


def _schema() -> pa.Schema:
    import pyarrow as pa

    types = {"size": pa.int64(), "modified": pa.timestamp("ms", "UTC")}
    return pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])


@contextmanager
def _parquet(file: Path) -> Iterator[Write]:
    from pyarrow.parquet import ParquetWriter

    with ParquetWriter(file, _schema()) as writer:
        yield writer.write_table


@contextmanager
def _csv(file: Path) -> Iterator[Write]:
    from pyarrow.csv import CSVWriter

    with CSVWriter(str(file), _schema()) as writer:
        yield writer.write_table


@contextmanager
def _json(file: Path) -> Iterator[Write]:
    """An array with an object in each line."""
    with file.open("wb") as output:
        output.write(b"[")
        is_first = True

        def write(orphans: pa.Table) -> None:
            nonlocal is_first
            for row in orphans.to_pylist():
                output.write((b"\n" if is_first else b",\n") + msgspec.json.encode(row))
                is_first = False
            output.flush()  # a full disk is to be noticed now

        yield write
        output.write(b"\n]\n")


_FORMATS = {".parquet": _parquet, ".csv": _csv, ".json": _json}
