"""The ledger of a purge job: the files that could not be deleted, as far as there is room."""

from collections.abc import Iterable

import msgspec

LEDGER_MAX = 500
"""Lines of a ledger; more than these failures are counted only."""
LEDGER_BYTES_MAX = 200_000


class Failed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file that could not be deleted: a line of the ledger."""

    path: str
    why: str


def ledger_of(failed: Iterable[Failed], room: int = LEDGER_BYTES_MAX) -> tuple[Failed, ...]:
    """As many of these failures as a row, or so many bytes, can hold; each file once."""
    kept: dict[str, Failed] = {}
    for one in failed:
        room -= len(one.path.encode(errors="replace")) + len(one.why.encode(errors="replace"))
        if len(kept) == LEDGER_MAX or room < 0:
            break
        kept.setdefault(one.path, one)
    return tuple(kept.values())
