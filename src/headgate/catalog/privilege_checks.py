"""Whether rights can be given on an object. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from headgate.access.objects import IN_SCHEMA
from headgate.access.objects import ObjectType as T
from headgate.access.privileges import BINDS, CATALOG_TYPES, Privilege, names_of
from headgate.catalog.objects import FoundObject, ObjectName
from headgate.catalog.rights import Grant
from headgate.errors import BadRequest, IllegalObject, IllegalPrivilege

SECURABLE = T.METALAKE | T.CATALOG | T.SCHEMA | IN_SCHEMA
"""What rights can be given on."""


class Terms(NamedTuple):
    """Rights as a request names them: sets of those allowed and of those denied."""

    allow: int
    deny: int


class Wanted(NamedTuple):
    """Rights that are wanted on an object."""

    object: ObjectName
    terms: Terms


def terms_of(rights: Iterable[tuple[Privilege, bool]]) -> Terms:
    """Rights, each with whether it is allowed or denied; at least one."""
    allow = deny = 0
    for right, is_allowed in rights:
        if is_allowed:
            allow |= right
        else:
            deny |= right
    if not allow | deny:
        raise BadRequest("No privileges", why="at least one is needed", fix="Name some")
    check_consistent(allow, deny)
    return Terms(allow, deny)


def check_consistent(allow: int, deny: int) -> None:
    """Refuse rights that are both allowed and denied by the same role on the same object."""
    both = allow & deny
    if both:
        raise IllegalPrivilege(
            f"Cannot both allow and deny {names_of(both)[0]}",
            why="one role can do only one of the two on one object",
            fix="Revoke one of the two",
        )


def check_securable(name: ObjectName) -> None:
    """Refuse a kind of object that rights cannot be given on."""
    if not name.kind & SECURABLE:
        raise IllegalObject(
            f"Cannot give rights on {name.text[:200]}",
            why=f"a {str(name.kind.name).lower()} can only be owned",
            fix="Set its owner instead",
        )


def check_bindable(found: FoundObject, terms: Terms) -> None:
    """Refuse rights that cannot be given on this kind of object, or in this type of catalog."""
    for right in Privilege:
        if right & (terms.allow | terms.deny):
            _check_kind(found, right)
            _check_catalog(found, right)


def grant_of(found: FoundObject, terms: Terms) -> Grant:
    """What is kept of rights on an object."""
    catalog = 0 if found.catalog is None else found.catalog.id
    return Grant(int(found.kind), terms.allow, terms.deny, catalog)


def _check_kind(found: FoundObject, right: Privilege) -> None:
    if not BINDS[right] & found.kind:
        raise IllegalPrivilege(
            f"Cannot give {names_of(right)[0]} on {found.text[:200]}",
            why=f"it is not a right on a {str(found.kind.name).lower()}",
            fix="Choose another right, or another object",
        )


def _check_catalog(found: FoundObject, right: Privilege) -> None:
    """In a catalog of another type such a right would never permit anything."""
    if found.catalog is None or not found.kind & (T.CATALOG | T.SCHEMA):
        return
    types = [type for type, rights in CATALOG_TYPES.items() if rights & right]
    if types and found.catalog.type not in types:
        raise IllegalPrivilege(
            f"Cannot give {names_of(right)[0]} on {found.text[:200]}",
            why=f"catalog {found.catalog.name} has the type {found.catalog.type}",
            fix=f"It is a right in catalogs of the type {types[0]}",
        )
