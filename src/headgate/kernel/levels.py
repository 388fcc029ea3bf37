"""The format level of a store: what every node that shares it understands.

A node writes at the level in force. Its lease says what it understands; once all live nodes
understand more, the level is raised, and from then on a node that does not is refused.

A node that raises the level looks at the leases first and then swaps the row of the level. A node
that joins writes its lease first and then swaps the row too, even if the level stays as it is: one
of the two swaps is lost, so no node joins unseen while the level is raised.
"""

from collections.abc import Callable

from headgate.errors import NewerFormat, OutcomeUnknown
from headgate.ids import ID_MAX
from headgate.kernel.leases import NodeLeases
from headgate.kernel.objects import ObjectType, Stored, expect
from headgate.kernel.records import Outcome
from headgate.kernel.store import Store, Versioned
from headgate.kernel.system import SYSTEM_REALM

LEVEL_ROW = ID_MAX


class FormatLevel(Stored, frozen=True):
    """The level in force."""

    level: int


FORMAT_LEVEL_TYPE = ObjectType("format-level", FormatLevel)


class Formats:
    """The one place that tells which form of an object may be written.

    A stored form that programs of a lower level cannot read belongs to the level that introduces
    it, and is written only if `may_write` permits it. All forms up to `understood` can be read.
    """

    def __init__(self, understood: int) -> None:
        self.understood = understood
        self._in_force = 0

    @property
    def in_force(self) -> int:
        """The level in force when this node last looked, at the latest when it renewed its lease;
        0 before the store is open. It is never above the level in force now, which only grows."""
        return self._in_force

    def may_write(self, level: int) -> bool:
        """Whether all nodes understand the forms of this level."""
        return level <= self._in_force

    def learn(self, level: int) -> None:
        """Note a level that was in force; an older answer changes nothing."""
        assert level <= self.understood, level
        self._in_force = max(self._in_force, level)


async def check_level(store: Store, understood: int) -> Versioned | None:
    """The row of the level in force; `NewerFormat` if this program does not understand it."""
    rows = await store.read_versioned(SYSTEM_REALM, [LEVEL_ROW])
    row = rows.get(LEVEL_ROW)
    if row is not None and _level(row) > understood:
        raise NewerFormat(
            "the store cannot be opened",
            why=f"it has format level {_level(row)}, this program understands {understood}",
            fix="Upgrade this node",
        )
    return row


async def join_level(store: Store, understood: int, entropy: Callable[[], int]) -> int:
    """The level in force, for a node that has just written its lease; `NewerFormat` if this program
    does not understand it.

    Without a row the level is not known yet: 0. The node then agrees on one by `raise_level`.
    """
    while (row := await check_level(store, understood)) is not None:
        version = entropy()
        if version != row.version and await _swap(store, row, _level(row), version):
            return _level(row)
    return 0


async def raise_level(
    store: Store, leases: NodeLeases, understood: int, entropy: Callable[[], int]
) -> int:
    """Raise the level to what all live nodes understand; the level in force, as far as is known.

    A lost race is fine: another node has raised it, or joins.
    """
    row = await check_level(store, understood)
    current = level_of(row)
    if current == understood:
        return current
    agreed = min([understood, *(lease.level for lease in await leases.live())])
    if agreed > current and await _swap(store, row, agreed, entropy()):
        return agreed
    return current


async def _swap(store: Store, row: Versioned | None, level: int, version: int) -> bool:
    """Write this level if the row is still the one that was read; False if it may not be."""
    new = FormatLevel(level)
    try:
        if row is None:
            outcome = await store.insert(SYSTEM_REALM, LEVEL_ROW, new, version)
        else:
            outcome = await store.update(
                SYSTEM_REALM, LEVEL_ROW, new, expected=row.version, version=version
            )
    except OutcomeUnknown:
        return False  # the next look tells
    return outcome is Outcome.APPLIED


def level_of(row: Versioned | None) -> int:
    """The level in this row, 0 without one."""
    return 0 if row is None else _level(row)


def _level(row: Versioned) -> int:
    return expect(row.value, FormatLevel, LEVEL_ROW).level
