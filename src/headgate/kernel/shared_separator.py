"""The separator that all nodes of a store share. The kernel only sees to it that they do.

The lease of a node says which separator it has, and one row says which one is in force. A node
writes its lease first and then swaps the row, even if the row says the same already: of two nodes
that start at once with different separators, one loses the swap, reads again and finds the other.
"""

from collections.abc import Awaitable, Callable

from headgate.errors import BadSetting, OutcomeUnknown
from headgate.ids import ID_MAX
from headgate.kernel.leases import NodeLease, NodeLeases
from headgate.kernel.objects import ObjectType, Stored, expect
from headgate.kernel.records import Outcome
from headgate.kernel.store import Store, Versioned
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import LEASE_MS

SEPARATOR_ROW = ID_MAX - 1

Check = Callable[[], Awaitable[None]]
"""Raises if the names that are stored do not fit the new separator."""


class SharedSeparator(Stored, frozen=True):
    """The separator in force."""

    separator: str


SHARED_SEPARATOR_TYPE = ObjectType("shared-separator", SharedSeparator)


async def share_separator(
    store: Store,
    leases: NodeLeases,
    entropy: Callable[[], int],
    separator: str,
    check: Check | None = None,
) -> None:
    """Agree with all nodes on a separator, under a lease that names it; `BadSetting` if they have
    another one.

    With `check` the one in force may be replaced, once no node lives that has it.
    """
    while True:
        row = (await store.read_versioned(SYSTEM_REALM, [SEPARATOR_ROW])).get(SEPARATOR_ROW)
        if row is not None and (current := _separator(row)) != separator:
            if check is None:
                raise _not_in_force(separator, current)
            _refuse_beside(await leases.live(), separator, current)
            await check()
        if await _swap(store, row, separator, entropy()):
            return


async def check_in_force(store: Store, leases: NodeLeases, separator: str) -> None:
    """Refuse another separator than the one in force, for a node that has no lease: unless no node
    lives that has that one."""
    current = await _in_force(store)
    if current is not None and current != separator:
        _refuse_beside(await leases.live(), separator, current)


async def check_still_in_force(store: Store, separator: str) -> None:
    """Refuse to go on with a separator that other nodes have replaced."""
    current = await _in_force(store)
    if current is not None and current != separator:
        raise _not_in_force(separator, current)


async def _in_force(store: Store) -> str | None:
    row = (await store.read_versioned(SYSTEM_REALM, [SEPARATOR_ROW])).get(SEPARATOR_ROW)
    return None if row is None else _separator(row)


async def _swap(store: Store, row: Versioned | None, separator: str, version: int) -> bool:
    """Put our separator in the place of what was read; False if somebody else was faster."""
    new = SharedSeparator(separator)
    try:
        if row is None:
            outcome = await store.insert(SYSTEM_REALM, SEPARATOR_ROW, new, version)
        else:
            outcome = await store.update(
                SYSTEM_REALM, SEPARATOR_ROW, new, expected=row.version, version=version
            )
    except OutcomeUnknown:
        return False  # what is there is read again, and swapped again
    return outcome is Outcome.APPLIED


def _refuse_beside(live: list[NodeLease], separator: str, current: str) -> None:
    """Refuse while nodes live that have the separator in force, or do not say which they have.

    Those that have a third one are starting as well, and will find ours.
    """
    others = sorted(one.holder for one in live if one.separator in {current, None})
    if not others:
        return
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    raise BadSetting(
        f"the separator {separator!r} cannot be used",
        why=f"{others[0]}{more} uses this store with {current!r}, and all nodes need the same",
        fix=f"Start this node with schema.separator={current!r}; or stop all nodes first to change "
        f"it (one that was killed counts for {LEASE_MS // 60_000} min)",
    )


def _not_in_force(separator: str, current: str) -> BadSetting:
    return BadSetting(
        f"the separator {separator!r} cannot be used",
        why=f"this store is used with {current!r}, and all that write names in it need the same",
        fix=f"Set schema.separator={current!r}; or stop all nodes and start a server with "
        f"schema.separator={separator!r}, which changes it if no name contains it",
    )


def _separator(row: Versioned) -> str:
    return expect(row.value, SharedSeparator, SEPARATOR_ROW).separator
