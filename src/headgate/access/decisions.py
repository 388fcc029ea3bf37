"""Whether somebody may do something: pure, and a matter of a microsecond.

The objects on the way from the metalake to the one that is asked for are weighed together: what
of them is owned, what is allowed on any of them, what is denied on any. A rule looks only at that.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from headgate.access.objects import ObjectType
from headgate.access.rules import Rule

NOTHING = (0, 0)


class Scope(NamedTuple):
    """One object on the way."""

    kind: ObjectType
    id: int
    owner: int
    """The id of a user or group; 0 if it has no owner."""


class Owned(Protocol):
    """Anything with an id and an owner; its kind is known."""

    @property
    def id(self) -> int: ...

    @property
    def owner(self) -> int: ...


class Weight(NamedTuple):
    """What a caller has on a way down."""

    owned: int = 0
    """The kinds of objects that it owns there."""
    allowed: int = 0
    denied: int = 0


class Access(NamedTuple):
    """What is known of a caller in a metalake, compiled: nothing in it changes."""

    user: int
    """Its id there; 0 if it is no user of it."""
    principals: frozenset[int]
    """The ids of the user and of its groups."""
    roles: frozenset[int]
    grants: Mapping[int, tuple[int, int]]
    """Object id -> the rights that are allowed on it, and those that are denied."""
    base: Weight
    """What it has on the metalake itself."""
    standing: int = 0
    denied: int = 0
    """The rights that are denied to it on any object at all."""
    is_checked: bool = True
    """False if authorization is off."""


EVERYTHING = Access(0, frozenset(), frozenset(), {}, Weight(), is_checked=False)
"""Of everybody, where authorization is off."""


def weigh(access: Access, way: Iterable[Scope], before: Weight | None = None) -> Weight:
    """What a caller has on the way through these objects, which begins below the metalake."""
    owned, allowed, denied = access.base if before is None else before
    principals, grants = access.principals, access.grants
    for kind, id, owner in way:
        if owner in principals:
            owned |= kind
        granted = grants.get(id)
        if granted is not None:
            allowed |= granted[0]
            denied |= granted[1]
    return Weight(owned, allowed, denied)


def permits(rule: Rule, weight: Weight, standing: int = 0) -> bool:
    """Whether one of the rule's clauses holds."""
    owned, allowed, denied = weight
    lacking = ~(allowed & ~denied)
    for owner, rights, somebody in rule.clauses:
        if owner and not owner & owned:
            continue
        if rights & lacking or somebody & ~standing:
            continue
        return True
    return False


def permits_all_below(rule: Rule, access: Access, weight: Weight) -> bool:
    """Whether it may with everything below, because it may here and nothing is denied there."""
    return not rule.rights & access.denied and permits(rule, weight, access.standing)


def sieve(rule: Rule, access: Access, above: Weight) -> Callable[[Owned], bool] | None:
    """Tells which objects below the rule permits, all of its kind; None if it permits all.

    Those with the same grant are alike if the caller owns both or neither: so each sort of them is
    judged once, and a long list costs a look at two dictionaries per entry.
    """
    if permits_all_below(rule, access, above):
        return None
    grants, principals = access.grants, access.principals
    own: dict[tuple[int, int] | None, bool] = {}
    others = own.copy()

    def is_seen(one: Owned) -> bool:
        judged = own if one.owner in principals else others
        granted = grants.get(one.id)
        verdict = judged.get(granted)
        if verdict is None:
            weight = weigh(access, (Scope(rule.on, one.id, one.owner),), above)
            verdict = judged[granted] = permits(rule, weight, access.standing)
        return verdict

    return is_seen
