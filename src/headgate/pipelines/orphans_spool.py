"""Orphans on the driver's own disk: however many there are, its memory holds some at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.pipelines.orphans_finding import schema

if TYPE_CHECKING:
    import pyarrow as pa


class Spool:
    """Written first, read after."""

    def __init__(self, file: Path) -> None:
        import pyarrow as pa

        self.files = 0
        self._file = file
        self._writer = pa.ipc.new_file(str(file), schema())

    def add(self, packed: bytes) -> int:
        """Orphans, as executors pack them; how many they are."""
        import pyarrow as pa

        found = pa.ipc.open_stream(packed).read_all()
        self._writer.write_table(found)
        self.files += found.num_rows
        return int(found.num_rows)

    def parts(self, rows: int) -> Iterator[pa.Table]:
        """All of them, about so many at a time; nothing is added any more."""
        import pyarrow as pa

        self._writer.close()
        with pa.OSFile(str(self._file), "rb") as source:
            reader = pa.ipc.open_file(source)
            waiting, count = list[pa.RecordBatch](), 0
            for number in range(reader.num_record_batches):
                waiting.append(reader.get_batch(number))
                count += waiting[-1].num_rows
                if count >= rows:
                    yield pa.Table.from_batches(waiting)
                    waiting, count = [], 0
            if waiting:
                yield pa.Table.from_batches(waiting)


@contextmanager
def spool() -> Iterator[Spool]:
    """A spool that is gone in the end."""
    with tempfile.TemporaryDirectory(prefix="headgate-orphans-") as folder:
        yield Spool(Path(folder) / "orphans.arrow")
