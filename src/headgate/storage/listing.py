"""All files below a place with their sizes and times, some at a time: for who compares what lies
there with what is known."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple

import obstore

from headgate.clock import SystemClock
from headgate.errors import FileMissing, Forbidden
from headgate.storage.failures import translated as translated_objects
from headgate.storage.local_files import ABSENT, location_of, path_of
from headgate.storage.local_files import translated as translated_files
from headgate.storage.places import Place, is_location, parse, place_within
from headgate.storage.stores import Store, Stores
from headgate.storage.worker_files import WorkerFiles

if TYPE_CHECKING:
    from obstore import ObjectMeta

LISTED_AT_ONCE = 1_000
SAMPLE_ENTRIES = 1_000
"""A place that begins with so many files is taken for one without folders."""
NS_PER_MS = 1_000_000
MS_PER_SECOND = 1_000


class Listed(NamedTuple):
    """Some files, whose locations begin alike."""

    prefix: str
    names: list[str]
    sizes: list[int]
    """Empty where each file would have to be looked at; see `look`."""
    times_ms: list[int]
    """When they were written; empty likewise."""


class Looked(NamedTuple):
    """A file by itself."""

    size: int
    time_ms: int


class Listing:
    """Lists what lies below the roots. It follows no link, and a link is no file."""

    def __init__(self, where: WorkerFiles) -> None:
        self._roots = tuple(map(parse, where.roots))
        self._real = tuple(
            Path(os.path.realpath(path_of(root))) for root in self._roots if root.kind == "file"
        )
        self._stores = Stores(where.options, SystemClock())

    def folders(self, location: str) -> list[str]:
        """The folders in a place; none if it seems to have many files and nothing else. Those that
        have no location are left out, and so is all that is in them."""
        place = self._checked(location)
        if place.kind == "file":
            with translated_files(place):
                names = _local_folders(path_of(place))
            found = [f"{location.rstrip('/')}/{name}" for name in names]
        else:
            found = [place.location(path) for path in self._object_folders(place)]
        return [one for one in found if is_location(one)]

    def files(self, location: str, *, deep: bool) -> Iterator[Listed]:
        """The files in a place; if it is deep, also all in its folders."""
        place = self._checked(location)
        if place.kind == "file":
            with translated_files(place):
                for folder, names in _walk(path_of(place), deep=deep):
                    prefix = place.location(folder.strip("/")).rstrip("/")
                    yield Listed(f"{prefix}/", names, [], [])
        else:
            for found in self._objects(place, deep=deep):
                yield Listed(
                    place.root,
                    [one["path"] for one in found],
                    [one["size"] for one in found],
                    [_time_ms(one) for one in found],
                )

    def look(self, location: str) -> Looked | None:
        """A file by itself; None if it is gone, or was none: that which stands for a folder of an
        object store is listed under another name than its own."""
        place = parse(location)
        if place.kind != "file":
            return self._look_at_object(place)
        with translated_files(place):
            try:
                status = os.lstat(path_of(place))
            except ABSENT:
                return None
        is_file = S_ISREG(status.st_mode)
        return Looked(status.st_size, status.st_mtime_ns // NS_PER_MS) if is_file else None

    def _look_at_object(self, place: Place) -> Looked | None:
        store = self._opened(place)
        try:
            with translated_objects(location_of(place)):
                found = obstore.head(store, place.path)
        except FileMissing:
            return None
        return Looked(found["size"], _time_ms(found))

    def _checked(self, location: str) -> Place:
        place = parse(location)
        if place.kind == "file":
            real = Path(os.path.realpath(path_of(place)))
            is_allowed = any(real.is_relative_to(root) for root in self._real)
        else:
            is_allowed = any(place_within(place, root) for root in self._roots)
        if not is_allowed:
            raise Forbidden(
                f"Location is not allowed: {location_of(place)}",
                why="it does not lie below a location that is to be listed",
            )
        return place

    def _object_folders(self, place: Place) -> Sequence[str]:
        """One request tells whether there is more than files."""
        first = next(self._objects(place, deep=True), [])
        own = f"{place.path}/" if place.path else ""
        if len(first) >= SAMPLE_ENTRIES and all(
            "/" not in one["path"].removeprefix(own) for one in first
        ):
            return []
        store = self._opened(place)
        with translated_objects(location_of(place)):
            return obstore.list_with_delimiter(store, place.path or None)["common_prefixes"]

    def _objects(self, place: Place, *, deep: bool) -> Iterator[Sequence["ObjectMeta"]]:
        store = self._opened(place)
        with translated_objects(location_of(place)):
            if deep:
                yield from obstore.list(store, place.path or None, chunk_size=LISTED_AT_ONCE)
            else:
                yield obstore.list_with_delimiter(store, place.path or None)["objects"]

    def _opened(self, place: Place) -> Store:
        return asyncio.run(self._stores.of(place))


def _time_ms(found: "ObjectMeta") -> int:
    return int(found["last_modified"].timestamp() * MS_PER_SECOND)


def _local_folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            first = list(islice(entries, SAMPLE_ENTRIES))
            found = [one.name for one in first if _is_folder(one)]
            if found or len(first) < SAMPLE_ENTRIES:
                found += [one.name for one in entries if _is_folder(one)]
            return found
    except ABSENT:
        return []


def _walk(top: str, *, deep: bool) -> Iterator[tuple[str, list[str]]]:
    """Folders, each with the names of its files; what goes meanwhile is left out."""
    waiting = [top]
    while waiting:
        folder, names = waiting.pop(), list[str]()
        try:
            with os.scandir(folder) as entries:
                for one in entries:
                    if one.is_file(follow_symlinks=False):
                        names.append(one.name)
                    elif deep and _is_folder(one):
                        waiting.append(one.path)
        except ABSENT:
            continue
        if names:
            yield folder, _nameable(names)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    return entry.is_dir(follow_symlinks=False) and bool(_nameable([entry.name]))


def _nameable(names: list[str]) -> list[str]:
    """Those that are text: no metadata can name the others."""
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        return [name for name in names if name.isprintable()]
    return names
