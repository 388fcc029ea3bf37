"""What the change log says of rights: on which object, and what is allowed and denied there."""

from collections.abc import Sequence

from headgate.access.privileges import names_of
from headgate.catalog.privilege_checks import Wanted
from headgate.limits import OBJECTS_TOLD_MAX


def rights_told(wanted: Wanted) -> dict[str, object]:
    """Rights on one object."""
    (kind, text), (allow, deny) = wanted
    return {
        "type": str(kind.name).lower(),
        "on": text,
        "allow": names_of(allow),
        "deny": names_of(deny),
    }


def objects_told(wanted: Sequence[Wanted]) -> dict[str, object]:
    """Rights on many objects: the first of them, and how many more there are."""
    told = {"objects": [rights_told(one) for one in wanted[:OBJECTS_TOLD_MAX]]}
    more = len(wanted) - OBJECTS_TOLD_MAX
    return {**told, "more": more} if more > 0 else {**told}
