"""The corpus that fuzzing starts from: `python -m tests.fuzz.seeds` writes it anew.

A file whose name begins as those of libFuzzer do (`crash-`, `oom-`, `timeout-`) was found by
fuzzing and is kept: nothing makes it again.
"""

import gzip
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pyiceberg.manifest import ManifestFile

from tests.fuzz.signed_tokens import tokens
from tests.planning.bombs import (
    LISTS,
    PACKS,
    SYNC,
    avro,
    laughing,
    list_bomb,
    nested,
    with_fields,
)
from tests.planning.tables import EQUALITY, POSITIONS, MetadataTable, bounds, data_file

CORPUS = Path(__file__).parent / "corpus"
BYTES_MAX = 200_000
"""Of all files together."""
FOUND = ("crash-", "oom-", "timeout-")
FOLDER = "/warehouse/table"
VERSIONS: tuple[Literal[1, 2, 3], ...] = (1, 2, 3)

Seeds = Mapping[str, bytes]


class MadeTable(NamedTuple):
    """A table as its files are, in a folder that is named the same on every machine."""

    manifest: ManifestFile
    files: Mapping[str, bytes]
    """Avro files by name."""
    metadata: bytes


def made_table(version: Literal[1, 2, 3] = 2, extra: dict[str, Any] | None = None) -> MadeTable:
    """A table of two files, and in newer formats deletes."""
    with tempfile.TemporaryDirectory() as name:
        table = MetadataTable(Path(name), version=version, extra=extra or {})
        rows = [data_file(f"a/{number}", **bounds(1, 2)) for number in range(2)]
        manifests = [table.manifest(rows)]
        if version > 1:
            deletes = [
                data_file("a/d", content=POSITIONS),
                data_file("a/e", content=EQUALITY, equality_ids=[1]),
            ]
            manifests.append(table.manifest(deletes))
        for manifest in manifests:
            manifest[0] = manifest.manifest_path.replace(name, FOLDER)  # it has no setter
        table.snapshot(1, manifests)
        files = {
            path.stem: _with_fixed_marker(path.read_bytes())
            for path in sorted(Path(name).glob("*.avro"))
        }
        metadata = table.metadata().replace(name.encode(), FOLDER.encode())
    return MadeTable(manifests[0], files, metadata)


def _with_fixed_marker(data: bytes) -> bytes:
    """An Avro file whose sync marker, which is chosen at random, is always the same."""
    return data.replace(data[-len(SYNC) :], SYNC)


@cache
def _avro_seeds() -> Seeds:
    tables = {
        f"v{version}-{name}": data
        for version in VERSIONS
        for name, data in made_table(version).files.items()
    }
    codecs = {f"list-{codec}": list_bomb(3, codec) for codec in PACKS}
    return {
        **tables,
        **codecs,
        "no-fields": avro({**LISTS, "fields": []}, 1, b""),
        "more-fields": avro(with_fields("string", {"type": "map", "values": "long"}), 0, b""),
        "nested": avro(nested(20), 0, b""),
        "laughing": avro(laughing(6), 0, b""),
        "blocks": list_bomb(2, "null", blocks=3),
    }


def _metadata_seeds() -> Seeds:
    plain = {f"v{version}": made_table(version).metadata for version in VERSIONS}
    odd = made_table(
        extra={
            "statistics": [{"snapshot-id": 1, "statistics-path": f"{FOLDER}/s.puffin"}],
            "refs": {"main": {"snapshot-id": 1, "type": "branch"}},
            "metadata-log": [{"timestamp-ms": 1, "metadata-file": f"{FOLDER}/0.json"}],
        }
    ).metadata
    small = json.dumps({**json.loads(plain["v2"]), "snapshots": []}).encode()
    packed = gzip.compress(small, mtime=0)
    return {**plain, "odd": odd, "no-snapshots": small, "packed-gzip": packed, "empty": b"{}"}


def _location_seeds() -> Seeds:
    return {
        "s3": b"s3://b/a/t\ns3a://b/a",
        "file": b"file:///w/%20a/t\n/w",
        "azure": b"abfss://c@x.dfs.core.windows.net/a\nabfs://c@x.dfs.core.windows.net/",
        "gcs": b"gs://b/x//y\ngs://b/x",
        "dots": b"/a/../b\n/b",
        "slashes": b"s3://b//a/\ns3://b/a//",
    }


def _name_seeds() -> Seeds:
    return {
        "one": b"a",
        "two": b"a\nb",
        "dots": b"my.schema\nsales",
        "colon": "é:ü".encode(),
        "encoded": b"a%2Fb\n.",
        "control": b"\x1f",
    }


def _header_seeds() -> Seeds:
    return {
        "basic": b"Basic YW5uOnBhc3M=\nreader,writer\nlocalhost:8181\nhttp://localhost:8181\n"
        b"192.0.2.7, 10.0.0.2\na=1&b=%20c+d&a=2\ngzip;q=0.5, zstd",
        "none": b"\nNONE\n[::1]:8181\nnull\nfe80::1%eth0\n&&=&%\n*;q=0",
        "form": b"grant_type=client_credentials&client_id=a&client_secret=b&scope=c",
        "odd": b"basic =\n,,\n:\n://\n::ffff:10.0.0.1\n%ff=%ff\ngzip;q=1e9",
    }


def _token_seeds() -> Seeds:
    return {name: token.encode() for name, token in tokens().items()}


SEEDS: Mapping[str, Callable[[], Seeds]] = {
    "columns": _avro_seeds,
    "rows": _avro_seeds,
    "metadata": _metadata_seeds,
    "locations": _location_seeds,
    "names": _name_seeds,
    "headers": _header_seeds,
    "tokens": _token_seeds,
}
"""By target. What two targets read is kept for each: libFuzzer takes a folder."""


def files(target: str) -> dict[str, bytes]:
    """The corpus of a target, as it is kept."""
    return {path.name: path.read_bytes() for path in sorted((CORPUS / target).iterdir())}


def was_found(name: str) -> bool:
    """Whether a file was found by fuzzing and not made."""
    return name.startswith(FOUND)


def write() -> Iterator[Path]:
    """Write what is made, and delete what is not made any more; what was found stays."""
    for target, seeds in SEEDS.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        made = seeds()
        for path in folder.iterdir():
            if path.name not in made and not was_found(path.name):
                path.unlink()
        for name, data in made.items():
            (folder / name).write_bytes(data)
            yield folder / name


if __name__ == "__main__":
    print(f"{sum(1 for _ in write())} files are written to {CORPUS}")
