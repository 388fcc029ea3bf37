"""Metalakes: created, listed, changed, switched on and off, dropped. Each is a realm of the kernel.

A metalake is there from the instant at which its realm becomes ACTIVE, and is gone from the instant
at which its name is free. What a crash leaves before the one or behind the other serves nobody, and
any node clears it away later (`metalake_rounds`).
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from headgate.access import rules
from headgate.catalog import outsiders
from headgate.catalog.calls import Call, Caller, CatalogName
from headgate.catalog.compiling import METALAKE_MARK, OWNER_MARK
from headgate.catalog.entities import MetalakeEntity
from headgate.catalog.guards import PRINCIPALS
from headgate.catalog.guards import ROOT as ROOT_POINTER
from headgate.catalog.in_use import metalake_in_use
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.naming import CATALOGS, ROOT, Names
from headgate.catalog.principals import insert_creator
from headgate.catalog.stored_names import NAMES
from headgate.errors import (
    BadName,
    IllegalRealmMove,
    MetalakeExists,
    MetalakeInUse,
    MetalakeNotEmpty,
    MetalakeNotFound,
    NotFound,
    RealmExists,
)
from headgate.kernel.draft import Draft
from headgate.kernel.index import look
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm, RealmState, check_serving
from headgate.model.names import check_principal_name

IN_USE = "in-use"
"""The property that tells whether a metalake or a catalog is switched on."""
HALF_MADE = "headgate.half-made"
"""The property of a realm that is being made into a metalake: who makes it."""
UNFINISHED = (RealmState.CREATED, RealmState.INITIALIZING)
RESERVED_NAMES = frozenset({"system"})
_NAME = re.compile(r"\w{1,64}", re.ASCII)

Change = Callable[[MetalakeEntity], MetalakeEntity]


class Metalake(NamedTuple):
    """A metalake, as it is answered."""

    realm: Realm
    entity: MetalakeEntity

    @property
    def in_use(self) -> bool:
        """Whether it is switched on."""
        return self.realm.state is RealmState.ACTIVE


async def create_metalake(
    lake: Lake, call: Call, comment: str, properties: dict[str, str]
) -> Metalake:
    """A new metalake, whose first user and owner is the caller."""
    name, by = call.catalog.metalake, call.principal
    check_metalake_name(name)
    await outsiders.require(lake, call, rules.CREATE_METALAKE)
    check_principal_name(by)
    realms = lake.kernel.realms
    realm = await _reserve(lake.kernel, name, by)
    try:
        await realms.set_up(realm)
        entity = await _begin(lake.kernel, realm, MetalakeEntity(comment, properties), by)
        return Metalake(await realms.move(realm.id, RealmState.ACTIVE, by=by), entity)
    except (NotFound, IllegalRealmMove) as error:  # somebody else is making it instead
        raise _exists(name) from error


async def found_metalake(kernel: Kernel, name: str, by: str) -> Realm:
    """A new metalake that has no users yet, and no owner. A crash leaves one to be activated."""

    def describe(draft: Draft) -> None:
        entity = MetalakeEntity(created_ms=draft.now_ms, created_by=by)
        draft.mark(METALAKE_MARK, draft.stage(entity))

    realm = await kernel.realms.reserve(name, by=by)
    await kernel.realms.set_up(realm)
    await kernel.unserved.fill(realm.id, ROOT_POINTER, describe)
    return await kernel.realms.move(realm.id, RealmState.ACTIVE, by=by)


async def _reserve(kernel: Kernel, name: str, by: str) -> Realm:
    """A realm of this name, also if somebody began to make one and did not finish."""
    try:
        return await kernel.realms.reserve(name, {HALF_MADE: by}, by=by)
    except RealmExists as error:
        try:
            taken = await kernel.realms.get(name)
        except NotFound:
            raise _exists(name) from error  # it did a moment ago
        if taken.name != name or HALF_MADE not in taken.properties or not is_unfinished(taken):
            raise _exists(name) from error
    try:
        await clear_away(kernel, taken)
        return await kernel.realms.reserve(name, {HALF_MADE: by}, by=by)
    except (RealmExists, IllegalRealmMove, NotFound) as error:
        raise _exists(name) from error


async def _begin(kernel: Kernel, realm: Realm, new: MetalakeEntity, by: str) -> MetalakeEntity:
    """Give a realm that serves nobody yet its first user, who owns it."""

    def describe(draft: Draft) -> MetalakeEntity:
        entity = msgspec.structs.replace(new, owner=owner, created_ms=draft.now_ms, created_by=by)
        draft.mark(METALAKE_MARK, draft.stage(entity))
        draft.mark(OWNER_MARK, owner)
        return entity

    fill = kernel.unserved.fill
    owner = await fill(realm.id, PRINCIPALS, lambda draft: insert_creator(draft, by))
    return await fill(realm.id, ROOT_POINTER, describe)


async def list_metalakes(lake: Lake, caller: Caller) -> list[Metalake]:
    """The metalakes that the caller is a user of, by name."""
    await outsiders.confirm(lake, caller)
    known = await lake.metalakes.known_to(Call(CatalogName("", ""), caller))
    return [Metalake(one.state, one.root) for one in known if one.may(rules.LOAD_METALAKE)]


def load_metalake(opened: OpenedMetalake) -> Metalake:
    """A metalake; it may be switched off."""
    opened.require(rules.LOAD_METALAKE)
    return Metalake(opened.state, opened.root)


async def alter_metalake(
    lake: Lake, opened: OpenedMetalake, change: Change, name: str | None = None
) -> Metalake:
    """Change a metalake by a pure function of what it is, and its name if one is given."""
    opened.require(rules.ALTER_METALAKE)
    with metalake_in_use(opened.name):
        check_serving(opened.state)
    call, realm = opened.call, opened.state
    if name is not None and name != realm.name:
        check_metalake_name(name)
        change(opened.root)  # what is refused is refused before anything is done
        try:
            realm = await lake.kernel.realms.rename(realm.id, name, by=call.principal)
        except RealmExists as error:
            raise _exists(name) from error
        except NotFound as error:
            raise _gone(opened) from error

    def attempt(draft: Draft) -> MetalakeEntity:
        mark = draft.marks.get(METALAKE_MARK)
        old = draft.fetch(mark, MetalakeEntity) if mark else MetalakeEntity()
        new = change(old)
        if new == old:
            return old
        new = msgspec.structs.replace(new, changed_ms=draft.now_ms, changed_by=call.principal)
        draft.mark(METALAKE_MARK, draft.stage(new))
        if mark:
            draft.discard(mark)
        draft.note(call.note("alter", "metalake", [realm.name]))
        return new

    return Metalake(realm, await opened.commit(ROOT_POINTER, attempt))


async def switch_metalake(lake: Lake, opened: OpenedMetalake, *, on: bool) -> Metalake:
    """Switch a metalake on or off, on every node with its next request."""
    opened.require(rules.ALTER_METALAKE)
    to = RealmState.ACTIVE if on else RealmState.INACTIVE
    id, by = opened.state.id, opened.call.principal
    try:
        realm = await lake.kernel.realms.move(id, to, by=by, dropped=False)
    except NotFound as error:
        raise _gone(opened) from error
    return Metalake(realm, opened.root)


async def drop_metalake(lake: Lake, call: Call, *, force: bool = False) -> bool:
    """Take a metalake away; False if it is not there.

    Unless `force` says so, one that is switched on or has catalogs stays.
    """
    try:
        opened = await lake.open_metalake(call, inactive=True)
    except MetalakeNotFound:
        return False
    opened.require(rules.DROP_METALAKE)
    if not force:
        await _check_droppable(opened)
    try:
        await lake.kernel.realms.drop(opened.state.id, by=call.principal, active=force)
    except IllegalRealmMove as error:
        raise _in_use(opened.name) from error
    except NotFound:
        return False  # somebody else was faster
    return True


async def _check_droppable(opened: OpenedMetalake) -> None:
    if opened.state.state is RealmState.ACTIVE:
        raise _in_use(opened.name)
    first = await look(
        opened.catalogs.index(NAMES), lambda tree: next(Names(tree).below(ROOT, CATALOGS), None)
    )
    if first is not None:
        raise MetalakeNotEmpty(
            f"Metalake {opened.name} is not empty",
            why=f"it has the catalog {first[0]}, and perhaps others",
            fix="Drop its catalogs first, or drop it by force",
        )


async def clear_away(kernel: Kernel, realm: Realm) -> None:
    """Delete all of a realm that serves nobody and is to be forgotten."""
    await kernel.realms.purge(realm.id)
    await kernel.realms.delete(realm.id)


def is_unfinished(realm: Realm) -> bool:
    """Whether somebody is making it, or stopped before the end."""
    return realm.state in UNFINISHED


def check_metalake_name(name: str) -> None:
    """A metalake has a name that every client can write down."""
    why = ""
    if not _NAME.fullmatch(name):
        why = "it must be 1 to 64 letters, digits and underscores"
    elif name in RESERVED_NAMES:
        why = "it is reserved"
    if why:
        raise BadName(f"Invalid metalake name: {name[:80]!r}", why=why, fix="Choose another name")


def _exists(name: str) -> MetalakeExists:
    return MetalakeExists(f"Metalake already exists: {name}", fix="Choose another name")


def _gone(opened: OpenedMetalake) -> MetalakeNotFound:
    """Somebody dropped it since it was opened: it stays dropped."""
    return MetalakeNotFound(f"Metalake does not exist: {opened.name}")


def _in_use(name: str) -> MetalakeInUse:
    return MetalakeInUse(
        f"Metalake {name} is in use",
        why="it is switched on",
        fix="Switch it off first, or drop it by force",
    )
