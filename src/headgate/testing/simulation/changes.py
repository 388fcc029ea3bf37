"""What clients of a simulation do to things in a realm, and what sweeps have to know of it."""

from typing import NamedTuple

from headgate.catalog.references import (
    NOTHING,
    REFERENCES,
    IndexReferences,
    PointerReferences,
)
from headgate.kernel import operations
from headgate.kernel.draft import Draft
from headgate.kernel.records import PointerKey
from headgate.testing.kernels import Thing
from headgate.testing.simulation.processes import PROCESS

POINTERS = ("root", "principals", "principal-roles", "grants", "policy-mappings")
"""Every realm has these; the clients of a simulation use them for things."""
THINGS = "things"
NAMES = 48
"""Of things, for each pointer: several pages."""
PADDING = bytes(1_000)
MADE, NOTHING_TO_DO = b"made", b"nothing"


def _in_value(_key: bytes, value: bytes) -> list[int]:
    return [int.from_bytes(value[:8], "big")]


_THINGS = PointerReferences({THINGS: IndexReferences(_in_value), operations.INDEX: NOTHING})
KNOWN = REFERENCES.with_realm_pointers(dict.fromkeys(POINTERS, _THINGS))
"""What the entries of all indexes refer to."""


class Change(NamedTuple):
    """What one client wants to do: put a new thing under a name, or take away what is there."""

    number: int
    name: bytes
    adds: bool
    operation: bytes = b""
    """By which a repetition of it is known."""

    def attempt(self, draft: Draft) -> bytes:
        """Do it to a draft; the log tells the number."""
        index = draft.index(THINGS)
        before = index.get(self.name)
        process = PROCESS.get()
        if process is not None:
            process.has_staged = True
        draft.note(self.number)
        if self.adds:
            id = draft.stage(Thing(str(self.number)))
            index.put(self.name, id.to_bytes(8, "big") + self.number.to_bytes(8, "big") + PADDING)
        else:
            index.remove(self.name)
        if before is not None:
            draft.discard(int.from_bytes(before[:8], "big"))
        return MADE if self.adds or before is not None else NOTHING_TO_DO

    def apply(self, contents: dict[bytes, int]) -> None:
        """Do it to a model."""
        if self.adds:
            contents[self.name] = self.number
        else:
            contents.pop(self.name, None)


def changed_pointer(key: PointerKey) -> bool:
    """Whether clients change things there."""
    return key.name in POINTERS
