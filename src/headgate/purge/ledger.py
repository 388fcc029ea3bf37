"""What a purge job keeps of single files, as far as there is room: those that could not be deleted,
and those that it leaves."""

from collections.abc import Iterable
from typing import Annotated

import msgspec

from headgate.limits import PURGE_LEFT_BYTES_MAX, PURGE_LEFT_PATHS_MAX

LEDGER_MAX = 500
"""Lines of a ledger; more than these failures are counted only."""
LEDGER_BYTES_MAX = 200_000
COUNT_MAX = 1 << 60

Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)]
"""Of files or bytes. Other programs tell them too, and sums of a few go into 64 bits."""


class Failed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file that could not be deleted: a line of the ledger."""

    path: str
    why: str


class LeftFiles(msgspec.Struct, frozen=True, array_like=True):
    """Files that a purge leaves for one reason: how many there are, and the first of them."""

    count: Count = 0
    paths: tuple[str, ...] = ()

    def __add__(self, other: "LeftFiles") -> "LeftFiles":
        """Both together. A path that both list counts once."""
        if not other.count:
            return self
        paths = dict.fromkeys((*self.paths, *other.paths))
        listed_twice = len(self.paths) + len(other.paths) - len(paths)
        count = min(max(self.count + other.count - listed_twice, len(paths)), COUNT_MAX)
        return LeftFiles(count, _first(paths))

    def shortened(self, room: int) -> "LeftFiles":
        """The same with no more paths than fit into so many bytes."""
        return LeftFiles(self.count, _first(self.paths, room))


NONE_LEFT = LeftFiles()


def left_files(paths: Iterable[str]) -> LeftFiles:
    """These files, each of them once in `paths`."""
    every = tuple(paths)
    return LeftFiles(len(every), _first(every[:PURGE_LEFT_PATHS_MAX]))


def ledger_of(failed: Iterable[Failed], room: int = LEDGER_BYTES_MAX) -> tuple[Failed, ...]:
    """As many of these failures as a row, or so many bytes, can hold; each file once."""
    kept: dict[str, Failed] = {}
    for one in failed:
        room -= len(one.path.encode(errors="replace")) + len(one.why.encode(errors="replace"))
        if len(kept) == LEDGER_MAX or room < 0:
            break
        kept.setdefault(one.path, one)
    return tuple(kept.values())


def _first(paths: Iterable[str], room: int = PURGE_LEFT_BYTES_MAX) -> tuple[str, ...]:
    """As many of these paths as are listed, and as so many bytes can hold."""
    kept: list[str] = []
    for path in paths:
        room -= len(path.encode(errors="replace"))
        if len(kept) == PURGE_LEFT_PATHS_MAX or room < 0:
            break
        kept.append(path)
    return tuple(kept)
