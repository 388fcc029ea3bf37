"""The file that orphans are reported in: a table, in the format that its name asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headgate.errors import BadSetting

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ["path", "size", "modified", "place", "table", "outcome", "why"]

Write = Callable[["pa.Table"], None]
"""Adds orphans with what came of them."""


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
def report_file(name: str) -> Iterator[Write]:
    """Takes orphans; the file has its name once it is complete. Without a name nobody reads it."""
    if not name:
        yield lambda _: None
        return
    path = Path(name)
    part = path.with_name(f".{path.name}.part")
    try:
        with _FORMATS[path.suffix](part) as write:
            yield lambda orphans: write(orphans.select(COLUMNS).cast(_schema()))
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


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

        yield write
        output.write(b"\n]\n")


_FORMATS = {".parquet": _parquet, ".csv": _csv, ".json": _json}
