"""Who owns what: one user or group for each object, kept in the entry of the object itself.

So handing something over is one commit on the pointer that holds the object. An owner that was
removed owns nothing: ids are never used again.
"""

from typing import NamedTuple

import msgspec

from headgate.access import rules
from headgate.access.objects import ObjectType
from headgate.catalog.compiling import METALAKE_MARK, OWNER_MARK
from headgate.catalog.entities import MetalakeEntity
from headgate.catalog.guards import ROOT
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.naming import NamesDraft, place_of
from headgate.catalog.objects import LOCATED, FoundObject, ObjectName, absent, find_object
from headgate.catalog.openings import Heads
from headgate.catalog.principals import (
    USER,
    New,
    Sort,
    add_principal,
    principal_of,
    require_principal,
    set_enabled,
)
from headgate.catalog.stored_names import IDS
from headgate.errors import UserExists
from headgate.kernel.draft import Draft


class Owner(NamedTuple):
    """A user or group that owns something."""

    sort: Sort
    name: str


class Owned(NamedTuple):
    """The owner of an object, if it has one, and what that depends on."""

    owner: Owner | None
    ground: Heads | None


async def load_owner(lake: Lake, metalake: OpenedMetalake, name: ObjectName) -> Owned:
    """Who owns an object; whoever may see it may know."""
    found = await find_object(lake, metalake, name)
    found.require(rules.LOADING[found.kind])
    owner = await principal_of(found.metalake.principals, found.owner) if found.owner else None
    return Owned(None if owner is None else Owner(*owner), found.ground)


async def set_owner(
    lake: Lake, metalake: OpenedMetalake, name: ObjectName, sort: Sort, owner: str
) -> None:
    """Hand an object over to a user or group."""
    found = await find_object(lake, metalake, name)
    is_metalake = found.kind is ObjectType.METALAKE
    found.require(rules.ALTER_METALAKE if is_metalake else rules.SET_OWNER)
    id = (await require_principal(found.metalake, sort, owner)).id

    def attempt(draft: Draft) -> None:
        if is_metalake:
            own_metalake(draft, id)
        else:
            _own(draft, found, id)
        draft.note(_note(found, {"owner": owner, "owner-kind": sort.word}))

    await found.metalake.commit(found.pointer, attempt)


async def give_metalake(metalake: OpenedMetalake, user: str) -> None:
    """Let this user own a metalake, and first of all let it in.

    For operators: an owner of whom nobody knows a password cannot do it.
    """
    try:
        id = (await add_principal(metalake, USER, New(user))).id
    except UserExists:
        id = (await set_enabled(metalake, user, enabled=True)).id

    def attempt(draft: Draft) -> None:
        own_metalake(draft, id)
        more = {"owner": user, "owner-kind": USER.word}
        draft.note(metalake.call.note("set-owner", "metalake", [metalake.name], **more))

    await metalake.commit(ROOT, attempt)


def own_metalake(draft: Draft, owner: int) -> None:
    """Let this user or group own the metalake, in a commit on its root."""
    old = draft.marks.get(METALAKE_MARK, 0)
    entity = draft.fetch(old, MetalakeEntity) if old else MetalakeEntity()
    if entity.owner != owner or draft.marks.get(OWNER_MARK) != owner:
        draft.mark(METALAKE_MARK, draft.stage(msgspec.structs.replace(entity, owner=owner)))
        draft.mark(OWNER_MARK, owner)
        if old:
            draft.discard(old)


def _own(draft: Draft, found: FoundObject, owner: int) -> None:
    """By its id: if it was given another name meanwhile, it is still the one that was meant."""
    names, place = NamesDraft(draft), place_of(draft.index(IDS), found.id)
    entry = names.find(*place) if place is not None else None
    if place is None or entry is None:
        raise absent(found.kind, found.text)
    names.put(*place, msgspec.structs.replace(entry, owner=owner))


def _note(found: FoundObject, more: dict[str, str]) -> dict[str, object]:
    """What the change log says: the names below the catalog, and a schema is a namespace there."""
    kind, names = found.kind, found.names
    if kind is ObjectType.METALAKE:
        names = (found.metalake.name,)
    elif kind & LOCATED and kind is not ObjectType.CATALOG:
        names = names[1:]
    word = "namespace" if kind is ObjectType.SCHEMA else str(kind.name).lower()
    return found.metalake.call.note("set-owner", word, names, **more)
