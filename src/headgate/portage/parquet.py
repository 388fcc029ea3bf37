"""Rows as Parquet: one file at a time, in memory. pyarrow is loaded when it is needed."""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from headgate.errors import Corrupt, Unsupported
from headgate.limits import PORTAGE_GROUP_ROWS
from headgate.portage.rows import Carried, Row


def check_pyarrow() -> None:
    """Refuse to go on without it."""
    try:
        import_module("pyarrow.parquet")
    except ImportError as error:
        raise Unsupported(
            "exports cannot be written or read",
            why=f"{error.name} is not installed",
            fix="Run pip install 'headgate[export]'",
        ) from error


def encoded(rows: Sequence[Row]) -> bytes:
    """A file with these rows; the same rows give the same bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.Table.from_pylist([_plain(row) for row in rows], schema=_schema(pa))
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd", row_group_size=PORTAGE_GROUP_ROWS)
    return bytes(sink.getvalue())


def decoded(data: bytes, name: str) -> Iterator[Row]:
    """The rows of a file; `Corrupt` if it is none of ours."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(pa.BufferReader(data))
        for batch in file.iter_batches(PORTAGE_GROUP_ROWS, columns=_schema(pa).names):
            yield from _rows(batch.to_pylist())
    except (pa.ArrowException, KeyError, TypeError) as error:
        raise Corrupt(
            f"file {name} of the export cannot be read",
            why=str(error),
            fix="Export again, or copy it once more",
        ) from error


def _plain(row: Row) -> dict[str, Any]:
    objects = [
        {"id": one.id, "type": one.type, "payload": one.payload, "versioned": one.is_versioned}
        for one in row.objects
    ]
    return {
        "pointer": row.pointer,
        "index": row.index,
        "key": row.key,
        "value": row.value,
        "objects": objects,
    }


def _rows(plain: Iterable[dict[str, Any]]) -> Iterator[Row]:
    for one in plain:
        objects = tuple(
            Carried(each["id"], each["type"], each["payload"], each["versioned"])
            for each in one["objects"]
        )
        yield Row(one["pointer"], one["index"], one["key"], one["value"], objects)


def _schema(pa: Any) -> Any:  # noqa: ANN401  pyarrow has no types
    carried = pa.struct(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("type", pa.string(), nullable=False),
            pa.field("payload", pa.binary(), nullable=False),
            pa.field("versioned", pa.bool_(), nullable=False),
        ]
    )
    return pa.schema(
        [
            pa.field("pointer", pa.string(), nullable=False),
            pa.field("index", pa.string(), nullable=False),
            pa.field("key", pa.binary(), nullable=False),
            pa.field("value", pa.binary(), nullable=False),
            pa.field("objects", pa.list_(pa.field("element", carried, nullable=False))),
        ]
    )
