"""Which files a table has, by kind, found without Headgate and without pyiceberg's readers.

Metadata is plain JSON, and manifests are read by DuckDB.
"""

import importlib.resources
import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import duckdb
from pyiceberg.typedef import TableVersion

Kind = Literal[
    "data",
    "position deletes",
    "equality deletes",
    "deletion vectors",
    "manifests",
    "manifest lists",
    "statistics",
    "partition statistics",
    "metadata",
]
Kinds = dict[Kind, set[str]]
Read = Callable[[str], bytes]
"""The content of a file, by its location."""

DELETES: tuple[Kind, ...] = ("position deletes", "equality deletes", "deletion vectors")
STATISTICS: tuple[Kind, ...] = ("statistics", "partition statistics")
EXPECTED: dict[TableVersion, set[Kind]] = {
    1: set(get_args(Kind)) - set(DELETES),
    2: set(get_args(Kind)) - {"deletion vectors"},
    3: set(get_args(Kind)) - {"position deletes"},
}
"""What each version of the format can have, if it is written as that version demands."""


class Enumeration:
    """Reads a table's files one after the other; `folder` is for copies of what DuckDB reads."""

    def __init__(self, read: Read, folder: Path, duck: duckdb.DuckDBPyConnection) -> None:
        self._read = read
        self._folder = folder
        self._numbers = itertools.count()
        self._duck = duck

    def kinds(self, metadata_location: str) -> Kinds:
        """All locations that a table's metadata leads to."""
        metadata = json.loads(self._read(metadata_location))
        older = [entry["metadata-file"] for entry in metadata.get("metadata-log", [])]
        found: Kinds = defaultdict(set)
        found["metadata"] = {metadata_location, *older}
        for kind in STATISTICS:
            files = metadata.get(kind.replace(" ", "-"), [])
            found[kind] |= {file["statistics-path"] for file in files}
        found["manifest lists"] = {one["manifest-list"] for one in metadata["snapshots"]}
        for location in found["manifest lists"]:
            found["manifests"] |= {path for [path] in self._rows(location, "manifest_path")}
        for location in found["manifests"]:
            for [file] in self._rows(location, "data_file"):
                found[kind_of(file)].add(file["file_path"])
        return {kind: paths for kind, paths in found.items() if paths}

    def _rows(self, location: str, column: str) -> list[tuple[Any]]:
        copy = self._folder / f"{next(self._numbers)}.avro"  # DuckDB remembers files by their names
        copy.write_bytes(self._read(location))
        return self._duck.execute(f"SELECT {column} FROM read_avro('{copy}')").fetchall()


def kind_of(file: dict[str, Any]) -> Kind:
    """By the fields of a manifest's entry; in version 1 all is data."""
    match file.get("content", 0), file["file_format"].upper():
        case 0, _:
            return "data"
        case 1, "PUFFIN":
            return "deletion vectors"
        case 1, _:
            return "position deletes"
        case _:
            return "equality deletes"


@contextmanager
def enumeration(read: Read, folder: Path) -> Iterator[Enumeration]:
    """With a DuckDB that can read Avro."""
    package = importlib.resources.files("duckdb_extension_avro")
    file = f"extensions/v{duckdb.__version__}/avro.duckdb_extension"
    with duckdb.connect(config={"extension_directory": str(folder)}) as duck:
        duck.execute(f"INSTALL '{package / file}'; LOAD avro")
        yield Enumeration(read, folder, duck)
