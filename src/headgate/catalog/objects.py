"""Objects that have owners and that rights are given on: found by their full names, and back.

All of it is decided by one set of pointers: those of the metalake, and the heads of the catalogs
that are looked into. If the first moved while the second were read, the metalake is opened anew.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from headgate.access.decisions import Scope
from headgate.access.objects import IN_SCHEMA
from headgate.access.objects import ObjectType as T
from headgate.access.rules import Rule, Standing
from headgate.catalog.entities import CatalogEntity, Entry
from headgate.catalog.full_names import FullName, read_full_name, write_full_name
from headgate.catalog.guards import PRINCIPAL_ROLES
from headgate.catalog.guards import ROOT as ROOT_POINTER
from headgate.catalog.lake import Lake
from headgate.catalog.metalake_openings import OpenedMetalake
from headgate.catalog.naming import CATALOGS, FUNCTIONS, RELATIONS, ROLES, ROOT, Names, names_to
from headgate.catalog.openings import Heads, head_pointer
from headgate.catalog.rights import Grant
from headgate.catalog.stored_names import CATALOG_POINTER, IDS, NAMES
from headgate.catalog.ways import OBJECT_TYPES, scope_of
from headgate.errors import (
    BackendUnavailable,
    BadRequest,
    CatalogNotInUse,
    MetadataObjectNotFound,
    Unsupported,
)
from headgate.kernel.index import HeadView, look, open_head
from headgate.kernel.records import PointerKey
from headgate.limits import RESOLVE_TRIES_MAX

LOCATED = T.CATALOG | T.SCHEMA | IN_SCHEMA
"""What is a catalog or lies in one."""
KNOWN = T.METALAKE | T.ROLE | LOCATED
_GROUPS = {T.TABLE: RELATIONS, T.VIEW: RELATIONS, T.FUNCTION: FUNCTIONS}


class ObjectName(NamedTuple):
    """An object by its full name, as a request has it."""

    kind: T
    text: str


class FoundObject(NamedTuple):
    """Where a full name leads, as far as it is there."""

    metalake: OpenedMetalake
    """In whose state it was found."""
    kind: T
    text: str
    """The full name."""
    names: tuple[str, ...]
    scopes: tuple[Scope, ...]
    """Below the metalake, outermost first; where the name ends before, fewer."""
    id: int
    """Of the object; 0 if it is not there."""
    pointer: str = ""
    """The one that holds its entry."""
    catalog: CatalogEntity | None = None
    """That it is or is in."""
    ground: Heads | None = None
    """All pointers that this depends on."""

    @property
    def owner(self) -> int:
        """Who owns it; 0 if nobody does."""
        return self.scopes[-1].owner if self.scopes else self.metalake.root.owner

    def permit(self, rule: Rule) -> None:
        """Refuse the call unless this rule permits it, in the same words if nothing is there."""
        is_held = self.kind is T.ROLE and self.id in self.metalake.access.roles
        standing = int(Standing.SELF) if is_held else 0
        self.metalake.require(rule, self.scopes, standing, self.names, self.text)

    def require(self, rule: Rule) -> None:
        """Refuse the call unless this rule permits it, and then what is not there.

        In this order: who may not know whether something is there is not told.
        """
        self.permit(rule)
        if not self.id:
            raise absent(self.kind, self.text)
        if self.catalog is not None and not self.catalog.in_use and self.kind is not T.CATALOG:
            raise CatalogNotInUse(
                f"Catalog is not in use: {self.catalog.name}", fix="Switch it on first"
            )


def object_type(text: str) -> T:
    """The kind of this name, in any case."""
    try:
        kind = T[text.upper()]
    except KeyError:
        raise BadRequest(
            f"Invalid type of an object: {text[:80]}", why="there is none of this name"
        ) from None
    if not kind & KNOWN:
        raise Unsupported(f"There are no objects of the type {text.lower()} here")
    return kind


async def find_object(lake: Lake, metalake: OpenedMetalake, name: ObjectName) -> FoundObject:
    """The object of this full name."""
    [found] = await find_objects(lake, metalake, [name])
    return found


async def find_objects(
    lake: Lake, metalake: OpenedMetalake, names: Sequence[ObjectName]
) -> list[FoundObject]:
    """The objects of these full names, all in one state of the metalake and its catalogs."""
    read = {name: read_full_name(*name) for name in names if name.kind & LOCATED}
    wanted = {full.catalog for full in read.values()}
    for _ in range(RESOLVE_TRIES_MAX):
        entries = await _catalogs(metalake.catalogs, wanted)
        ids = [entry.id for entry in entries.values()]
        inside = await look_inside(lake, metalake, ids, always=bool(wanted))
        if inside.is_same:
            finder = _Finder(lake, metalake, entries, inside)
            return [await finder.find(name, read.get(name)) for name in names]
        metalake = await open_anew(lake, metalake)
    raise too_busy(metalake)


async def open_anew(lake: Lake, metalake: OpenedMetalake) -> OpenedMetalake:
    """The same metalake for the same call, as it is now, whatever is kept of it."""
    return await lake.open_metalake(metalake.call._replace(is_fresh=True))


class Inside(NamedTuple):
    """The heads of some catalogs, and whether the metalake was as it was when they were read."""

    is_same: bool
    ground: Heads
    catalogs: HeadView
    """The list of catalogs, of the same instant."""
    heads: Mapping[int, HeadView]


async def look_inside(
    lake: Lake, metalake: OpenedMetalake, catalogs: Iterable[int], *, always: bool = False
) -> Inside:
    """The heads of these catalogs, read together with all pointers of the metalake.

    `always` reads them also if there is no catalog, so that the time does not tell its absence.
    """
    ids, store = list(dict.fromkeys(catalogs)), lake.kernel.store
    before, realm = metalake.heads, metalake.realm.id
    if not ids and not always:
        return Inside(True, before, metalake.catalogs, {})
    keys = (*before.keys, *(PointerKey(realm, head_pointer(id)) for id in ids))
    vector = await lake.openings.validation.reader(metalake.call).read_together(keys, None)
    is_same = vector[: len(before.keys)] == before.vector
    values = vector[len(before.keys) :]
    await store.fetch(realm, [value for value in values if value])
    heads = {
        id: await open_head(store, realm, value)
        for id, value in zip(ids, values, strict=True)
        if value is not None
    }
    listed = vector[before.keys.index(PointerKey(realm, CATALOG_POINTER))]
    return Inside(
        is_same,
        Heads(before.pointers, keys, vector),
        await open_head(store, realm, listed),
        {id: head for id, head in heads.items() if not head.head.sealed},
    )


class _Finder:
    """Finds objects in one state of a metalake."""

    def __init__(
        self, lake: Lake, metalake: OpenedMetalake, catalogs: Mapping[str, Entry], inside: Inside
    ) -> None:
        self._separator = lake.options.separator
        self._metalake = metalake
        self._catalogs = catalogs
        self._inside = inside

    async def find(self, name: ObjectName, full: FullName | None) -> FoundObject:
        metalake, ground = self._metalake, self._inside.ground
        if full is not None:
            return await self._located(name, full)
        if name.kind is T.METALAKE:
            id = metalake.id if name.text == metalake.name else 0
            return FoundObject(metalake, *name, (), (), id, ROOT_POINTER, ground=ground)
        role = await look(
            metalake.roles.index(NAMES), lambda tree: Names(tree).find(ROOT, ROLES, name.text)
        )
        scopes, id = ((scope_of(role),), role.id) if role else ((), 0)
        return FoundObject(
            metalake, *name, (name.text,), scopes, id, PRINCIPAL_ROLES, ground=ground
        )

    async def _located(self, name: ObjectName, full: FullName) -> FoundObject:
        metalake, ground = self._metalake, self._inside.ground
        entry = self._catalogs.get(full.catalog)
        if entry is None or entry.id not in self._inside.heads:
            return FoundObject(metalake, *name, (name.text,), (), 0, ground=ground)
        catalog = await metalake.catalogs.get(entry.object, CatalogEntity)
        levels = full.levels(self._separator if catalog.nested else "")
        way = await self._way(entry.id, name.kind, levels, full.name)
        scopes = (scope_of(entry), *map(scope_of, way))
        leaf = (full.name,) if full.name else ()
        names = (full.catalog, *levels, *leaf)
        return FoundObject(
            metalake,
            *name,
            names,
            scopes,
            scopes[-1].id if len(scopes) == len(names) else 0,
            CATALOG_POINTER if name.kind is T.CATALOG else head_pointer(entry.id),
            catalog,
            ground,
        )

    async def _way(self, catalog: int, kind: T, levels: tuple[str, ...], leaf: str) -> list[Entry]:
        """The entries below a catalog; one of another kind than the name says is none."""

        def find(names: Names) -> list[Entry]:
            path = names.path(levels)
            if leaf and path and len(path) == len(levels) and kind in _GROUPS:
                found = names.find(path[-1].id, _GROUPS[kind], leaf)
                if found is not None and OBJECT_TYPES[found.kind] is kind:
                    path.append(found)
            return path

        head = self._inside.heads[catalog]
        return await look(head.index(NAMES), lambda tree: find(Names(tree)))


async def _catalogs(head: HeadView, names: Iterable[str]) -> dict[str, Entry]:
    """The entries of those catalogs that are there."""
    found = await look(
        head.index(NAMES),
        lambda tree: [(name, Names(tree).find(ROOT, CATALOGS, name)) for name in names],
    )
    return {name: entry for name, entry in found if entry is not None}


async def full_names(
    lake: Lake, metalake: OpenedMetalake, inside: Inside, grants: Mapping[int, Grant]
) -> dict[int, str]:
    """What these objects are called now; those that are no more are not in the answer."""
    found: dict[int, str] = {}
    catalogs = {
        id: await _catalog_of(inside, id) for id in {one.catalog for one in grants.values()}
    }
    for id, grant in grants.items():
        kind, catalog = T(grant.kind), catalogs[grant.catalog]
        if kind is T.METALAKE:
            found[id] = metalake.name
        elif catalog is not None:
            top, entity = catalog
            below = await _names_below(inside.heads[grant.catalog], grant, id)
            if below is not None:
                separator = lake.options.separator if entity.nested else ""
                found[id] = write_full_name(kind, (top, *below), separator)
    return found


async def _catalog_of(inside: Inside, id: int) -> tuple[str, CatalogEntity] | None:
    """The catalog of this id and its name, None if it is no more."""
    if id not in inside.heads:
        return None
    names = await look(inside.catalogs.index(IDS), lambda tree: names_to(tree, id))
    for name, entry in (await _catalogs(inside.catalogs, names or ())).items():
        return name, await inside.catalogs.get(entry.object, CatalogEntity)
    return None


async def _names_below(head: HeadView, grant: Grant, id: int) -> list[str] | None:
    """The names from below the catalog down to an object; None if it is no more."""
    if id == grant.catalog:
        return []
    return await look(head.index(IDS), lambda tree: names_to(tree, id))


def absent(kind: T, text: str) -> MetadataObjectNotFound:
    """What to say of an object that is not there."""
    return MetadataObjectNotFound(f"{str(kind.name).capitalize()} does not exist: {text[:200]}")


def too_busy(metalake: OpenedMetalake) -> BackendUnavailable:
    """What to say if a metalake never stands still."""
    return BackendUnavailable(
        f"metalake {metalake.name} cannot be read",
        why="its users, roles or catalogs changed again and again meanwhile",
        fix="Try again",
    )
