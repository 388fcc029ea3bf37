"""What an export consists of: the entries of all indexes, each with what it refers to. All pure.

A pointer itself is a row too: without an index and a key, its value are its marks, and whether it
is sealed. Facts about rows can be added up in any order, so files can be written and read anywhere.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from headgate.catalog.stored_names import CATALOG_POINTER, IDS, LOCATIONS
from headgate.errors import InvalidInput, Unsupported
from headgate.limits import PORTAGE_PAGE_BYTES, PORTAGE_PAGE_ROWS
from headgate.model.locations import indexed

_DIGEST_BYTES = 32


class Carried(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An object that an entry refers to."""

    id: int
    type: str
    payload: bytes
    """As it is stored, but not compressed."""
    is_versioned: bool = False
    """Whether it is changed in place, as the row of a purge job is."""


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One entry of one index of one pointer, and what it refers to."""

    pointer: str
    index: str
    key: bytes
    value: bytes
    objects: tuple[Carried, ...] = ()

    @property
    def bytes(self) -> int:
        """About how many it takes."""
        return len(self.key) + len(self.value) + sum(len(one.payload) for one in self.objects)


class PointerState(msgspec.Struct, frozen=True, array_like=True):
    """What a head has besides its indexes."""

    marks: tuple[tuple[str, int], ...] = ()
    sealed: bool = False


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What there is to know about some rows without reading them again."""

    rows: int = 0
    objects: int = 0
    content: str = "0" * (2 * _DIGEST_BYTES)
    """The sum of the SHA-256 of all rows: the same for the same rows, in whatever order."""
    types: dict[str, int] = {}
    """How many objects there are of each."""
    newest: int = 0
    """The newest id of an object."""
    catalogs: tuple[int, ...] = ()
    """The ids of all catalogs."""
    places: tuple[str, ...] = ()
    """Where files of catalogs lie, or may."""

    def __add__(self, other: "Facts") -> "Facts":
        types = dict(self.types)
        for name, count in other.types.items():
            types[name] = types.get(name, 0) + count
        return Facts(
            self.rows + other.rows,
            self.objects + other.objects,
            _hex(int(self.content, 16) + int(other.content, 16)),
            dict(sorted(types.items())),
            max(self.newest, other.newest),
            tuple(sorted((*self.catalogs, *other.catalogs))),
            tuple(sorted((*self.places, *other.places))),
        )


def facts_of(rows: Iterable[Row]) -> Facts:
    """The facts about these rows."""
    count = objects = newest = digests = 0
    types: dict[str, int] = {}
    catalogs: list[int] = []
    places: list[str] = []
    for row in rows:
        count += 1
        digests += int.from_bytes(hashlib.sha256(msgspec.msgpack.encode(row)).digest(), "big")
        for one in row.objects:
            objects += 1
            types[one.type] = types.get(one.type, 0) + 1
            newest = max(newest, one.id)
        if row.pointer == CATALOG_POINTER and row.index == IDS:
            catalogs.append(int.from_bytes(row.key, "big"))
        if row.pointer == CATALOG_POINTER and row.index == LOCATIONS:
            places.append(location_of(row.key))
    return Facts(
        count,
        objects,
        _hex(digests),
        dict(sorted(types.items())),
        newest,
        tuple(sorted(catalogs)),
        tuple(sorted(places)),
    )


def location_of(key: bytes) -> str:
    """The location that has this key in an index of locations; refused if none has."""
    try:
        return indexed(key)
    except ValueError as error:
        raise InvalidInput(
            f"{key[:80]!r} is no key of a location", fix="Send what was exported"
        ) from error


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows in lists that can be sent and committed at once."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        if batch and (size + row.bytes > PORTAGE_PAGE_BYTES or len(batch) == PORTAGE_PAGE_ROWS):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += row.bytes
    if batch:
        yield batch


def pointer_row(
    pointer: str, marks: Mapping[str, int], objects: Iterable[Carried], *, sealed: bool
) -> Row:
    """A pointer itself, and what its marks refer to."""
    state = PointerState(tuple(sorted(marks.items())), sealed)
    return Row(pointer, "", b"", msgspec.msgpack.encode(state), tuple(objects))


def pointer_state(row: Row) -> PointerState:
    """What the row of a pointer says."""
    try:
        return msgspec.msgpack.decode(row.value, type=PointerState)
    except msgspec.MsgspecError as error:
        raise Unsupported(
            f"pointer {row.pointer!r} of the export cannot be read",
            why=str(error),
            fix="Upgrade this program, or export again",
        ) from error


def _hex(number: int) -> str:
    return f"{number % (1 << 8 * _DIGEST_BYTES):0{2 * _DIGEST_BYTES}x}"
