"""The format level of a store: what every node that shares it understands.

A node writes at the level in force. Its lease says what it understands; once all live nodes
understand more, the level is raised, and from then on a node that does not is refused.
"""

from collections.abc import Callable

from headgate.errors import NewerFormat
from headgate.ids import ID_MAX
from headgate.kernel.leases import NodeLeases
from headgate.kernel.objects import ObjectType, Stored, expect
from headgate.kernel.store import Store, Versioned
from headgate.kernel.system import SYSTEM_REALM

LEVEL_ROW = ID_MAX


class FormatLevel(Stored, frozen=True):
    """The level in force."""

    level: int


FORMAT_LEVEL_TYPE = ObjectType("format-level", FormatLevel)


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


async def raise_level(
    store: Store, leases: NodeLeases, understood: int, entropy: Callable[[], int]
) -> None:
    """Raise the level to what all live nodes understand. A lost race is fine: someone else did."""
    row = await check_level(store, understood)
    if row is not None and _level(row) == understood:
        return
    agreed = min([understood, *(lease.level for lease in await leases.live())])
    if row is None:
        await store.insert(SYSTEM_REALM, LEVEL_ROW, FormatLevel(agreed), entropy())
    elif agreed > _level(row):
        await store.update(
            SYSTEM_REALM,
            LEVEL_ROW,
            FormatLevel(agreed),
            expected=row.version,
            version=entropy(),
        )


def _level(row: Versioned) -> int:
    return expect(row.value, FormatLevel, LEVEL_ROW).level
