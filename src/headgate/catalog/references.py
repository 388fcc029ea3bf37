"""What the entries of every index refer to: the one table by which sweeps and exports find all that
a head needs.

An index, a mark or a pointer that is not in the table is not guessed about: `NewerFormat`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from headgate.catalog.catalog_commits import CLOSED
from headgate.catalog.compiling import DISABLED, METALAKE_MARK, OWNER_MARK
from headgate.catalog.dropped_catalogs import DROPPED, decode_dropped
from headgate.catalog.entities import decode_entry
from headgate.catalog.guards import GRANTS, PRINCIPAL_ROLES, PRINCIPALS, ROOT
from headgate.catalog.identities import (
    DROPPED_NAMES,
    GROUPS_OF,
    IDENTITIES,
    KEYS,
    MEMBERS_OF,
    REVOKED,
    REVOKED_UNTIL,
)
from headgate.catalog.openings import head_pointer
from headgate.catalog.purging import PURGE, PURGED, PURGES, TASKS, decode_job, is_job
from headgate.catalog.reports import REPORTS, reports_pointer
from headgate.catalog.rights import ASSIGNED, GRANTED
from headgate.catalog.stored_names import (
    CATALOG_POINTER,
    FOLDERS,
    FOLDERS_UNTIL,
    IDS,
    LEFT,
    LOCATIONS,
    NAMES,
    STAGED,
)
from headgate.errors import NewerFormat
from headgate.kernel import operations
from headgate.kernel.realms import BY_ID, BY_NAME
from headgate.kernel.system import REALMS, SYSTEM_REALM

MAINTENANCE, RUNS = "maintenance", "runs"
"""The pointer of the system that remembers sweeps, and its index."""
POLICIES = "policy-mappings"
_ID_BYTES = 8
_OF_A_CATALOG = re.compile(r"cat/[0-9]+/")

Identify = Callable[[bytes, bytes], Iterable[int]]
"""From the key and the value of an entry to ids."""


class IndexReferences(NamedTuple):
    """What the entries of one index refer to."""

    objects: Identify | None = None
    """Immutable objects."""
    rows: Identify | None = None
    """Versioned rows. They need not be there."""
    pointers: Callable[[bytes, bytes], Iterable[str]] | None = None
    """Pointers of the same realm. They need not be there."""


class PointerReferences(NamedTuple):
    """What the heads of one pointer refer to."""

    indexes: Mapping[str, IndexReferences]
    marks: Mapping[str, bool] = {}
    """The names of all marks; True for those that are ids of objects."""


class References:
    """What the heads of all pointers refer to, by the names of the pointers: those of the system,
    and those that every realm may have. `cat/*/` stands for any catalog."""

    def __init__(
        self, system: Mapping[str, PointerReferences], realms: Mapping[str, PointerReferences]
    ) -> None:
        self._system = system
        self._realms = realms

    def with_realm_pointers(self, more: Mapping[str, PointerReferences]) -> "References":
        """The same with more pointers, of which others know."""
        return References(self._system, {**self._realms, **more})

    def of(self, realm: str, pointer: str) -> PointerReferences:
        """What this pointer refers to; `NewerFormat` if nobody declared it."""
        known = self._system if realm == SYSTEM_REALM else self._realms
        found = known.get(_OF_A_CATALOG.sub("cat/*/", pointer))
        if found is None:
            raise _undeclared(f"pointer {pointer!r}", realm)
        return found

    def of_index(self, realm: str, pointer: str, index: str) -> IndexReferences:
        """What an index of this pointer refers to; `NewerFormat` if nobody declared it."""
        found = self.of(realm, pointer).indexes.get(index)
        if found is None:
            raise _undeclared(f"index {index!r} of pointer {pointer!r}", realm)
        return found

    def of_marks(self, realm: str, pointer: str, marks: Mapping[str, int]) -> list[int]:
        """The objects that the marks of a head refer to; `NewerFormat` if one is not declared."""
        known, found = self.of(realm, pointer).marks, list[int]()
        for name, number in marks.items():
            if name not in known:
                raise _undeclared(f"mark {name!r} of pointer {pointer!r}", realm)
            if known[name] and number:
                found.append(number)
        return found


def _named_object(_key: bytes, value: bytes) -> list[int]:
    return [decode_entry(value).object]


def _pointers_of(catalog: int) -> list[str]:
    return [head_pointer(catalog), reports_pointer(catalog)]


def _pointers_of_named(_key: bytes, value: bytes) -> list[str]:
    return _pointers_of(decode_entry(value).id)


def _pointers_of_dropped(key: bytes, _value: bytes) -> list[str]:
    return _pointers_of(int.from_bytes(key, "big"))


def _last_state(_key: bytes, value: bytes) -> list[int]:
    return [decode_dropped(value).object]


def _purged_state(key: bytes, value: bytes) -> list[int]:
    if not is_job(key):
        return []  # a place that is taken for a job
    object = decode_job(key, value)[1].object
    return [object] if object else []


def _job_row(key: bytes, _value: bytes) -> list[int]:
    return [int.from_bytes(key, "big")] if is_job(key) else []


def _object_in_key(key: bytes, _value: bytes) -> list[int]:
    return [int.from_bytes(key[_ID_BYTES:], "big")]


def _object_in_value(_key: bytes, value: bytes) -> list[int]:
    return [int.from_bytes(value, "big")]


def _recorded(_key: bytes, value: bytes) -> list[int]:
    """States that the answer to a repeated call needs. Other ids are among them: entities have no
    rows, so that does no harm."""
    return _outcome.decode(value)[2]


_outcome = msgspec.msgpack.Decoder(tuple[str, int, list[int], list[str]])

NOTHING = IndexReferences()
_NAMES = {NAMES: IndexReferences(_named_object), IDS: NOTHING}

REFERENCES = References(
    system={
        REALMS: PointerReferences({BY_ID: NOTHING, BY_NAME: NOTHING, LEFT: NOTHING}),
        IDENTITIES: PointerReferences(
            {
                **_NAMES,
                DROPPED_NAMES: NOTHING,
                GROUPS_OF: NOTHING,
                MEMBERS_OF: NOTHING,
                REVOKED: NOTHING,
                REVOKED_UNTIL: NOTHING,
                KEYS: IndexReferences(_object_in_value),
            }
        ),
        MAINTENANCE: PointerReferences({RUNS: NOTHING}),
    },
    realms={
        ROOT: PointerReferences({}, {METALAKE_MARK: True, OWNER_MARK: False}),
        CATALOG_POINTER: PointerReferences(
            {
                NAMES: IndexReferences(_named_object, pointers=_pointers_of_named),
                IDS: NOTHING,
                LOCATIONS: NOTHING,
                DROPPED: IndexReferences(_last_state, pointers=_pointers_of_dropped),
            }
        ),
        PRINCIPALS: PointerReferences({**_NAMES, DISABLED: NOTHING}),
        PRINCIPAL_ROLES: PointerReferences(_NAMES),
        GRANTS: PointerReferences({ASSIGNED: NOTHING, GRANTED: NOTHING}),
        TASKS: PointerReferences({PURGED: NOTHING}),
        POLICIES: PointerReferences({}),
        "cat/*/heads/main": PointerReferences(
            {
                **_NAMES,
                LOCATIONS: NOTHING,
                STAGED: NOTHING,
                FOLDERS: NOTHING,
                CLOSED: NOTHING,
                PURGE: IndexReferences(_purged_state, rows=_job_row),
                operations.INDEX: IndexReferences(_recorded),
            },
            {PURGES: False, FOLDERS_UNTIL: False},
        ),
        "cat/*/reports": PointerReferences({REPORTS: IndexReferences(_object_in_key)}),
    },
)
"""All that this program stores."""


def _undeclared(what: str, realm: str) -> NewerFormat:
    return NewerFormat(
        f"{what} of realm {realm!r} cannot be followed",
        why="this program does not know what it refers to",
        fix="Upgrade this node; what a newer program stored is left alone until then",
    )
