"""What would be enough for a rule, in few words: for those whom it refused.

Of several ways the first is told, so that nobody asks for more than it needs.
"""

from collections.abc import Iterator

from headgate.access.objects import ObjectType
from headgate.access.privileges import Privilege
from headgate.access.rules import Clause, Rule, Standing

_STANDINGS = {
    Standing.SERVICE_ADMIN: "to be a service admin",
    Standing.MEMBER: "to be a user of the metalake",
}


def needs(rule: Rule) -> str:
    """Rights that are enough, and what else is. Of what exists it tells nothing."""
    return ", or ".join(_ways(rule))


def _ways(rule: Rule) -> Iterator[str]:
    rights = next((one.rights for one in rule.clauses if one.rights and not one.owner), 0)
    if rights:
        yield _names(rights)
    owner = _owner_of(rule)
    if owner is not None:
        what = "the metalake" if rule.on is ObjectType.METALAKE else "it"
        yield f"to own {what}" + (f" with {_names(owner.rights)}" if owner.rights else "")
    standings = {one.standing for one in rule.clauses}
    yield from (text for standing, text in _STANDINGS.items() if standing in standings)


def _owner_of(rule: Rule) -> Clause | None:
    """What it takes besides owning the very object, at least."""
    found = [one for one in rule.clauses if one.owner & rule.on]
    return min(found, key=lambda one: one.rights.bit_count(), default=None)


def _names(rights: int) -> str:
    *first, last = (str(right.name) for right in Privilege if right & rights)
    return f"{', '.join(first)} and {last}" if first else last
