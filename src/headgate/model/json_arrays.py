"""Long arrays of a metadata file, kept encoded: appending copies nothing, reading is done late."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Self, TypeVar

from msgspec import Raw

from headgate.errors import BadMetadata
from headgate.model.json_values import Json, decode

VIEW_ABOVE_BYTES = 1 << 16  # shorter ones are copied, so as not to keep a whole file alive
PIECE_BYTES_MIN = 1 << 14  # shorter ones grow, so that there are few
PIECES_MAX = 64  # then they are joined, so that a long row of appends stays cheap to encode

T = TypeVar("T")
K = TypeVar("K")


class JsonArray:
    """An array in its encoded form. Never changes; equal to another with the same bytes."""

    __slots__ = ("_count", "_last", "_pieces")

    def __init__(self, pieces: tuple[Json, ...] = (), last: Json | None = None) -> None:
        self._pieces = pieces  # each is one element or more, separated by commas
        self._last = last
        self._count: int | None = None  # until somebody asks

    @classmethod
    def of(cls, elements: Iterable[Json]) -> Self:
        """An array of elements, each encoded."""
        each = tuple(elements)
        array = cls((b",".join(each),)) if each else cls()
        array._count = len(each)  # noqa: SLF001  its own class
        return array

    @classmethod
    def parse(cls, data: Json, what: str) -> Self:
        """The array that an encoded value is. What its elements are is seen when they are read."""
        view = memoryview(data)
        if bytes(view[:1]) != b"[":
            raise BadMetadata(f"Cannot parse {what} from a value that is no array")
        inner = view[1:-1]
        if inner.nbytes > VIEW_ABOVE_BYTES:
            return cls((inner,))
        copied = bytes(inner).strip()
        return cls((copied,)) if copied else cls()

    def appended(self, element: Json) -> Self:
        """This array with one element more at its end."""
        longer = type(self)(self._with(element), element)
        if self._count is not None:
            longer._count = self._count + 1  # noqa: SLF001  its own class
        return longer

    def elements(self) -> list[Raw]:
        """The elements, each still encoded."""
        return decode(b"".join(self.encoded()), list[Raw], "array")

    def read(self, kind: type[T], what: str) -> list[T]:
        """The elements, decoded as `kind`."""
        return decode(b"".join(self.encoded()), list[kind], what)  # type: ignore[valid-type]

    def last(self) -> Json | None:
        """The last element, still encoded; None if there is none."""
        if self._last is None and self._pieces:
            self._last = self.elements()[-1]
        return self._last

    def encoded(self) -> Iterator[Json]:
        """The parts that joined make the array."""
        yield b"["
        for number, piece in enumerate(self._pieces):
            if number:
                yield b","
            yield piece
        yield b"]"

    def _with(self, element: Json) -> tuple[Json, ...]:
        pieces = self._pieces
        if pieces and _size(pieces[-1]) < PIECE_BYTES_MIN:
            return (*pieces[:-1], b",".join((pieces[-1], element)))
        return (*((b",".join(pieces),) if len(pieces) >= PIECES_MAX else pieces), element)

    def __len__(self) -> int:
        if self._count is None:
            self._count = len(self.elements()) if self._pieces else 0
        return self._count

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, JsonArray):
            return self is other
        if sum(map(_size, self.encoded())) != sum(map(_size, other.encoded())):
            return False
        return b"".join(self.encoded()) == b"".join(other.encoded())

    def __hash__(self) -> int:
        return hash(b"".join(self.encoded()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sum(map(_size, self.encoded()))} bytes)"


class KnownElements(Generic[K]):
    """The keys of an array's elements: read once, and kept up to date while elements are added."""

    def __init__(self) -> None:
        self._array: JsonArray | None = None
        self._keys: set[K] = set()

    def keys(self, array: JsonArray, read: Callable[[JsonArray], Iterable[K]]) -> set[K]:
        """The keys of an array; `read` reads them if it is another one than before."""
        if array is not self._array:
            self._array, self._keys = array, set(read(array))
        return self._keys

    def added(self, array: JsonArray, key: K) -> JsonArray:
        """This array has the elements that are known and one more at its end, of this key."""
        self._array = array
        self._keys.add(key)
        return array


def _size(piece: Json) -> int:
    return memoryview(piece).nbytes


EMPTY = JsonArray()
