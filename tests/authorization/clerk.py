"""Changes of who may do what: made on a node, and written down in the model."""

from collections.abc import Iterable

from headgate.access.objects import IN_SCHEMA
from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege
from headgate.catalog import grants, owners, principals, roles
from headgate.catalog.metalakes import switch_metalake
from headgate.catalog.objects import ObjectName
from headgate.catalog.principals import USER, New, Sort
from headgate.catalog.privilege_checks import Terms, Wanted
from headgate.testing.access_model import AccessModel, Path, Principal, Role, Thing
from tests.authorization.guarded import ADMIN, GuardedNode
from tests.unit.catalog.lakes import CATALOG, METALAKE, new_table, new_view

RELATIONS = {T.TABLE: "tables", T.VIEW: "views"}


class Clerk:
    """Does on a node what the server itself may: everything."""

    def __init__(self, node: GuardedNode, model: AccessModel | None = None) -> None:
        self.node = node
        self.model = model or AccessModel([ADMIN])
        catalog = self.model.metalake.below.setdefault(CATALOG, Thing(T.CATALOG, CATALOG))
        assert catalog.kind is T.CATALOG

    def expect(self, *users: str) -> None:
        """These users are there already."""
        for name in users:
            self.model.users[name] = Principal(name)

    async def add(self, sort: Sort, *names: str) -> None:
        """New users, or new groups."""
        for name in names:
            await principals.add_principal(await self.node.metalake(), sort, New(name))
            self._principals(sort)[name] = Principal(name)

    async def remove(self, sort: Sort, name: str) -> None:
        """A user or group goes."""
        await principals.remove_principal(await self.node.metalake(), sort, name)
        gone = self._principals(sort).pop(name)
        self.model.assigned = {pair for pair in self.model.assigned if pair[0] is not gone}

    async def switch_user(self, name: str, *, on: bool) -> None:
        """Switch a user off or on."""
        await principals.set_enabled(await self.node.metalake(), name, enabled=on)
        self.model.users[name].is_on = on

    async def switch_metalake(self, *, on: bool) -> None:
        """Switch the metalake off or on."""
        metalake = await self.node.metalake(inactive=True)
        await switch_metalake(self.node.lake, metalake, on=on)
        self.model.is_on = on

    async def create_role(self, name: str) -> None:
        await roles.create_role(self.node.lake, await self.node.metalake(), name, {}, [])
        self.model.roles[name] = Role(name)

    async def delete_role(self, name: str) -> None:
        await roles.delete_role(await self.node.metalake(), name)
        gone = self.model.roles.pop(name)
        self.model.assigned = {pair for pair in self.model.assigned if pair[1] is not gone}

    async def assign(self, sort: Sort, name: str, role: str) -> None:
        """A user or group gets a role."""
        await grants.assign_roles(await self.node.metalake(), sort, name, [role])
        self.model.assigned.add((self._principals(sort)[name], self.model.roles[role]))

    async def unassign(self, sort: Sort, name: str, role: str) -> None:
        """A user or group loses a role."""
        await grants.unassign_roles(await self.node.metalake(), sort, name, [role])
        self.model.assigned.discard((self._principals(sort)[name], self.model.roles[role]))

    async def grant(self, role: str, path: Path, right: Privilege, *, deny: bool = False) -> None:
        """A role allows a right, or denies it."""
        wanted = self._wanted(path, right, deny=deny)
        metalake = await self.node.metalake()
        await grants.grant_privileges(self.node.lake, metalake, role, wanted)
        self._granted(role, deny=deny).update(self._pairs(path, right))

    async def revoke(self, role: str, path: Path, right: Privilege, *, deny: bool = False) -> None:
        """A role does so no more."""
        wanted = self._wanted(path, right, deny=deny)
        metalake = await self.node.metalake()
        await grants.revoke_privileges(self.node.lake, metalake, role, wanted)
        self._granted(role, deny=deny).difference_update(self._pairs(path, right))

    async def own(self, path: Path, sort: Sort, name: str) -> None:
        """A user or group becomes the owner."""
        metalake = await self.node.metalake()
        await owners.set_owner(self.node.lake, metalake, self._named(path), sort, name)
        self._thing(path).owner = self._principals(sort)[name]

    async def create_schema(self, *levels: str) -> None:
        await self.node.must("POST", "namespaces", {"namespace": levels})
        self._add(CATALOG, *levels, kind=T.SCHEMA)

    async def create(self, kind: T, *path: str) -> None:
        """A new table or view, in a schema that is there."""
        *levels, name = path
        new = new_table(name) if kind is T.TABLE else new_view(name)
        await self.node.must("POST", f"{_url(levels)}/{RELATIONS[kind]}", new)
        self._add(CATALOG, *path, kind=kind)

    async def rename(self, source: tuple[str, ...], target: tuple[str, ...]) -> None:
        """A table or view gets another name, here or in another schema."""
        thing = self._thing((CATALOG, *source))
        await self.node.must(
            "POST",
            f"{RELATIONS[thing.kind]}/rename",
            {"source": _identifier(source), "destination": _identifier(target)},
        )
        self._take((CATALOG, *source))
        thing.name = target[-1]
        self._thing((CATALOG, *target[:-1])).below[target[-1]] = thing

    async def drop(self, *path: str) -> None:
        """A table, view or empty schema goes."""
        thing = self._thing((CATALOG, *path))
        url = _url(path)
        if thing.kind in RELATIONS:
            url = f"{_url(path[:-1])}/{RELATIONS[thing.kind]}/{path[-1]}"
        await self.node.must("DELETE", url)
        self._take((CATALOG, *path))

    def forget(self, path: Path) -> None:
        """What is there under this name, if anything, was taken away by others."""
        if self.model.find(path) is not None:
            self._take(path)

    def _principals(self, sort: Sort) -> dict[str, Principal]:
        return self.model.users if sort is USER else self.model.groups

    def _granted(self, role: str, *, deny: bool) -> set[tuple[Thing, Privilege]]:
        found = self.model.roles[role]
        return found.deny if deny else found.allow

    def _pairs(self, path: Path, rights: Privilege) -> Iterable[tuple[Thing, Privilege]]:
        return [(self._thing(path), right) for right in Privilege if right & rights]

    def _wanted(self, path: Path, right: Privilege, *, deny: bool) -> Wanted:
        terms = Terms(0, int(right)) if deny else Terms(int(right), 0)
        return Wanted(self._named(path), terms)

    def _thing(self, path: Path) -> Thing:
        thing = self.model.find(path)
        assert thing is not None, path
        return thing

    def _add(self, *path: str, kind: T) -> None:
        above = self._thing(path[:-1])
        assert path[-1] not in above.below
        above.below[path[-1]] = Thing(kind, path[-1])

    def _take(self, path: Path) -> None:
        del self._thing(path[:-1]).below[path[-1]]

    def _named(self, path: Path) -> ObjectName:
        """As Gravitino's clients write which object they mean."""
        kind = self._thing(path).kind
        if kind is T.METALAKE:
            return ObjectName(kind, METALAKE)
        catalog, *below = path
        leaf = below[-1:] if kind & IN_SCHEMA else []
        schema = ":".join(below[:-1] if leaf else below)
        return ObjectName(kind, ".".join((catalog, *filter(None, [schema]), *leaf)))


def _url(levels: Iterable[str]) -> str:
    return f"namespaces/{':'.join(levels)}"


def _identifier(path: tuple[str, ...]) -> dict[str, object]:
    return {"namespace": path[:-1], "name": path[-1]}
