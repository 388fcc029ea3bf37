"""Which realms a run sweeps, which it purges, and which it leaves alone. All pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headgate.errors import InvalidInput, RealmNotFound
from headgate.ids import ID_MAX, time_ms
from headgate.kernel.realms import Realm, RealmState
from headgate.kernel.system import SYSTEM_REALM

SWEPT = frozenset({RealmState.ACTIVE, RealmState.INACTIVE})
"""Others are being made, or filled with what nothing refers to yet, or purged."""
PURGED = frozenset({RealmState.PURGING, RealmState.PURGED})
"""Whoever wants the data of another realm deleted has to bring it into this state first."""


class Wanted(NamedTuple):
    """What an operator asks for, by names or ids. Whoever names none asks for everything."""

    sweep: frozenset[str] = frozenset()
    purge: frozenset[str] = frozenset()


EVERYTHING = Wanted()


class Extent(NamedTuple):
    """What a run does."""

    sweep: tuple[str, ...]
    """The ids of realms; if everything is wanted, that of the system among them."""
    purge: tuple[str, ...]
    left: tuple[str, ...]
    """What was asked for by name and is not done: a sentence each."""
    listed: frozenset[str]
    """All realms that there are."""
    is_whole: bool
    """Whether everything is wanted, with what is left of realms that are not listed any more."""


def extent_of(realms: Sequence[Realm], wanted: Wanted = EVERYTHING) -> Extent:
    """What a run does with these realms."""
    is_whole = wanted == EVERYTHING
    sweep = list(realms) if is_whole else _chosen(realms, wanted.sweep)
    purge = list(realms) if is_whole else _chosen(realms, wanted.purge)
    both = [] if is_whole else [realm for realm in sweep if realm in purge]
    if both:
        raise InvalidInput(
            f"realm {both[0].name!r} cannot be swept and purged",
            why="it is named for both",
            fix="Name it once",
        )
    left = () if is_whole else (*_left(sweep, SWEPT, "swept"), *_left(purge, PURGED, "purged"))
    system = (SYSTEM_REALM,) if is_whole else ()
    return Extent(
        (*system, *(realm.id for realm in sweep if realm.state in SWEPT)),
        tuple(realm.id for realm in purge if realm.state in PURGED),
        left,
        frozenset({SYSTEM_REALM, *(realm.id for realm in realms)}),
        is_whole,
    )


def is_forgotten(realm: str, extent: Extent, cutoff_ms: int) -> bool:
    """Whether rows of this realm are what is left of one that was deleted.

    The id of a realm tells when it was made: one that is being made is not listed yet.
    """
    if realm in extent.listed or not realm.isdecimal() or not 0 < int(realm) <= ID_MAX:
        return False
    return time_ms(int(realm)) < cutoff_ms


def _chosen(realms: Sequence[Realm], names: frozenset[str]) -> list[Realm]:
    known = {realm.id: realm for realm in realms} | {realm.name: realm for realm in realms}
    for name in sorted(names):
        if name not in known:
            raise RealmNotFound(
                f"realm {name!r} does not exist", fix="`headgate realm list` shows those that do"
            )
    return list({known[name].id: known[name] for name in sorted(names)}.values())


def _left(chosen: Iterable[Realm], states: frozenset[RealmState], done: str) -> list[str]:
    return [
        f"realm {realm.name!r} is not {done}: it is {realm.state.value}"
        for realm in chosen
        if realm.state not in states
    ]
