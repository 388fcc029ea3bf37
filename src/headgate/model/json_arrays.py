"""Long arrays of a metadata file, kept encoded: appending copies nothing, reading is done late."""

from collections.abc import Iterable, Iterator
from typing import Self, TypeVar

from msgspec import Raw

from headgate.errors import BadMetadata
from headgate.model.json_values import Json, decode

VIEW_ABOVE_BYTES = 1 << 16  # shorter ones are copied, so as not to keep a whole file alive
PIECES_MAX = 64  # then they are joined, so that a long row of appends stays cheap to encode

T = TypeVar("T")


class JsonArray:
    """An array in its encoded form. Never changes; equal to another with the same bytes."""

    __slots__ = ("_last", "_pieces")

    def __init__(self, pieces: tuple[Json, ...] = (), last: Json | None = None) -> None:
        self._pieces = pieces  # each is one element or more, separated by commas
        self._last = last

    @classmethod
    def of(cls, elements: Iterable[Json]) -> Self:
        """An array of elements, each encoded."""
        joined = b",".join(elements)
        return cls((joined,)) if joined else cls()

    @classmethod
    def parse(cls, data: Json, what: str) -> Self:
        """The array that an encoded value is. What its elements are is seen when they are read."""
        view = memoryview(data)
        if bytes(view[:1]) != b"[":
            raise BadMetadata(f"Cannot parse {what} from a value that is no array")
        inner = view[1:-1]
        if inner.nbytes > VIEW_ABOVE_BYTES:
            return cls((inner,))
        return cls.of((bytes(inner).strip(),))

    def appended(self, element: Json) -> Self:
        """This array with one element more at its end."""
        return type(self)(self._with(element), element)

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
        joined = len(self._pieces) >= PIECES_MAX
        return (*((b",".join(self._pieces),) if joined else self._pieces), element)

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


def _size(piece: Json) -> int:
    return memoryview(piece).nbytes


EMPTY = JsonArray()
