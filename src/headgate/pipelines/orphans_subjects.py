"""Tables, views and purges as whoever looks for orphans sees them, and what each leads to.

Runs on executors: each asks the server and reads metadata for itself.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

import msgspec

from headgate.catalog.metadata_files import unzipped
from headgate.errors import (
    BadMetadata,
    FileMissing,
    Forbidden,
    HeadgateError,
    InvalidInput,
    NamespaceNotFound,
    NotAuthenticated,
    TableNotFound,
    Unavailable,
    ViewNotFound,
)
from headgate.model.locations import metadata_paths
from headgate.pipelines.bounds import MANIFEST_ENTRY_BYTES
from headgate.pipelines.names import TableName
from headgate.pipelines.server import Server
from headgate.planning.files import OpenFiles
from headgate.planning.reachable import Walk
from headgate.storage.options import StorageOptions
from headgate.storage.places import parse
from headgate.storage.worker_files import OpenedFiles, WorkerFiles

GC = "gc.enabled"
HINT = "version-hint.text"  # some clients write one
METADATA_PATH = "write.metadata.path"
TABLE, VIEW, PURGE = "table", "view", "purge"


class Subject(msgspec.Struct, frozen=True):
    """A table, a view, or a dropped table whose files are still to be deleted."""

    kind: Literal["table", "view", "purge"]
    name: TableName
    metadata_location: str = ""
    """Of a purge; of others that which was seen before: then only changes are of interest."""
    places: tuple[str, ...] = ()
    """Of a purge."""

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells it from others."""
        own = self.metadata_location if self.kind == PURGE else ""
        return (self.kind, own, *self.name.namespace, self.name.name)


class State(msgspec.Struct, frozen=True):
    """What a subject is at a moment."""

    metadata_location: str
    places: tuple[str, ...] = ()
    kept: str = ""
    """Why nothing in its places is called an orphan; empty if things are."""
    is_in_doubt: bool = False
    """Not all that it refers to is known, wherever that lies."""
    manifests: int = 0
    files: int = 0
    """In manifests: about so many, as lists of these say, or their length."""
    is_same: bool = False
    """It is as it was seen before: nothing else is told."""

    def doubted(self, why: str) -> "State":
        """The same of a subject of which something cannot be read."""
        return msgspec.structs.replace(self, kept=self.kept or why, is_in_doubt=True)


class Files(NamedTuple):
    """Files that a subject refers to."""

    paths: list[str]
    lengths: list[int] = []
    """Of manifests, which lead to more; nobody asks for those of others."""


Told = Files | State
"""The state of a subject comes last."""
States = Mapping[tuple[str, ...], State]
"""By the identities of subjects."""


class _Outline(msgspec.Struct, frozen=True):
    """What the metadata of tables and of views have in common."""

    location: str
    properties: dict[str, str] | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """Where its files lie."""
        return tuple(metadata_paths(self.properties or {}, self.location))

    @property
    def metadata_folders(self) -> set[str]:
        """Where its metadata may lie."""
        own = f"{self.location.rstrip('/')}/metadata"
        return {own, (self.properties or {}).get(METADATA_PATH, own).rstrip("/")}


class _View(msgspec.Struct, frozen=True, rename="kebab"):
    metadata_location: str
    metadata: _Outline


class Walker:
    """Finds what subjects lead to."""

    def __init__(self, server: Server, files: OpenFiles) -> None:
        self._server = server
        self._files = files

    def walk(self, subject: Subject) -> Iterator[Told]:
        """All that it leads to but for what is in manifests. Nothing if it is gone meanwhile."""
        if subject.kind == TABLE:
            yield from self._table(subject)
        elif subject.kind == VIEW:
            yield from self._view(subject)
        else:
            yield from self._purge(subject)

    def _table(self, subject: Subject) -> Iterator[Told]:
        with suppress(TableNotFound, NamespaceNotFound):
            with _known(subject):
                loaded = self._server.load(subject.name)
            location = loaded.metadata_location
            if location == subject.metadata_location:
                yield State(location, is_same=True)
            else:
                yield from self._metadata(loaded.metadata, location)

    def _view(self, subject: Subject) -> Iterator[Told]:
        catalog, namespace, name = subject.name
        with suppress(ViewNotFound, NamespaceNotFound):
            with _known(subject):
                answer = self._server.get(self._server.path(catalog, namespace, "views", name))
            view = msgspec.convert(answer, _View)
            location = view.metadata_location
            if location == subject.metadata_location:
                yield State(location, is_same=True)
            else:
                yield Files([location])
                yield State(location, view.metadata.places)

    def _purge(self, subject: Subject) -> Iterator[Told]:
        """All in its places is the purger's business, and so is what it has elsewhere."""
        location = subject.metadata_location
        last = State(location)
        yield Files([location])
        with suppress(FileMissing, Forbidden, InvalidInput):  # it may be nearly over
            data = unzipped(self._files.read(location), location)
            for told in self._metadata(data, location):
                if isinstance(told, State):
                    last = told
                else:
                    yield told
        places = dict.fromkeys((*subject.places, *last.places))
        yield msgspec.structs.replace(last, places=tuple(places), kept="its purge is not over")

    def _metadata(self, metadata: bytes, location: str) -> Iterator[Told]:
        walk = Walk(metadata, self._files)
        outline = _outline(metadata)
        hints = (f"{folder}/{HINT}" for folder in outline.metadata_folders)
        yield Files([location, *hints])
        for found in chain(walk.lists(), walk.statistics(), walk.older(location)):
            yield Files(found.paths)
        count = length = 0
        for found in walk.manifests():
            count += len(found.paths)
            length += sum(found.sizes)
            yield Files(found.paths, found.sizes)
        files = max(walk.listed, length // MANIFEST_ENTRY_BYTES)
        yield State(location, outline.places, _kept(walk), bool(walk.unread), count, files)


@dataclass(frozen=True)
class AnyStore:
    """Opens all stores that the options open."""

    options: StorageOptions

    def __call__(self) -> "AnyFiles":
        return AnyFiles(self.options)


class AnyFiles:
    """Reads files of all stores that the options open: metadata may name any."""

    def __init__(self, options: StorageOptions) -> None:
        self._options = options
        self._opened: dict[str, OpenedFiles] = {}

    def read(self, location: str) -> bytes:
        """A whole file."""
        root = parse(location).root
        if root not in self._opened:
            self._opened[root] = WorkerFiles(self._options, (root,))()
        return self._opened[root].read(location)


def unread(path: str, why: str) -> str:
    """Why it is not known what a file leads to."""
    return f"{path} cannot be read: {why or 'it is missing'}"


@contextmanager
def _known(subject: Subject) -> Iterator[None]:
    """As long as nobody knows where a table lies, no file at all is known to be an orphan."""
    passing = (TableNotFound, ViewNotFound, NamespaceNotFound)
    try:
        yield
    except (*passing, Unavailable, NotAuthenticated, Forbidden):
        raise
    except HeadgateError as error:
        raise BadMetadata(
            f"{subject.kind} {subject.name} cannot be loaded",
            why=f"{error.what}, so it is not known which files are its own",
            fix="Repair it or drop it, then run the pipeline once more",
        ) from error


def _outline(metadata: bytes) -> _Outline:
    try:
        return msgspec.json.decode(metadata, type=_Outline)
    except msgspec.MsgspecError as error:
        raise BadMetadata("Cannot parse the table's metadata", why=str(error)) from error


def _kept(walk: Walk) -> str:
    if walk.unread:
        return unread(walk.unread[0].path, walk.unread[0].why)
    if walk.keeps_data:
        return f"its property {GC} is false: its files may belong to others"
    return ""
