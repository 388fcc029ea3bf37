"""What is taken away is refused at the next request on every node, and costs what it should.

Each row of the matrix changes something on one node and asks another one, or the same.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.identity_groups import change_members, create_group
from headgate.catalog.identity_users import set_enabled, vouch_for
from headgate.testing.postgresql import PostgresqlServer
from tests.authorization.clerk import Clerk
from tests.authorization.guarded import ADMIN
from tests.authorization.sites import (
    MODES,
    PATIENCE_SECONDS,
    POLL_MS,
    Mode,
    Place,
    Site,
    Told,
    fronts,
    processes,
)
from tests.conftest import FULL
from tests.unit.catalog.lakes import new_table

LAKE = "/api/metalakes/default"
CATALOG = "/iceberg/v1/default.main"
PERMISSIONS = f"{LAKE}/permissions"
AFTER_A_CHANGE_READS_MAX = 3
SWITCHED_OFF_READS_MAX = 6
NEW_READS_MAX = 12
IDENTITIES_READS_MAX = 5
"""They are of no metalake, and read one after the other."""
SHARED_READS_MAX = 3
"""In a row: a read that a task in the background shares may be counted for that one."""


async def _until(
    is_right: Callable[[Told], bool],
    ask: Callable[[], Awaitable[Told]],
    *,
    waits: bool,
    tries: int = 1,
) -> Told:
    """The first answer that is right: the first one at all, unless nodes poll."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        told = await ask()
        if is_right(told):
            return told
        tries -= 1
        assert waits or tries > 0, told
        assert time.monotonic() < deadline, told
        await asyncio.sleep(POLL_MS / 10_000)  # nodes in this process poll only meanwhile


class Matrix:
    """One row: changes on one node of a site, and what another one says then.

    Ann may read the table, by a role; Bob is a user and has nothing. Names are those of the row.
    """

    def __init__(self, site: Site, nodes: tuple[int, int], row: str) -> None:
        self.site = site
        self.ann, self.bob, self.role, self.group = (
            f"{row}_{name}" for name in ("ann", "bob", "reader", "group")
        )
        self.schema = row
        self.tables = f"{CATALOG}/namespaces/{row}/tables"
        self.table = f"{self.tables}/t"
        self.object = f"table/main.{row}.t"
        self._changing, self._checking = nodes

    async def begin(self) -> None:
        """Make all of it, and let both nodes know all there is to know."""
        await self.change("POST", f"{CATALOG}/namespaces", {"namespace": [self.schema]})
        await self.change("POST", self.tables, new_table("t"))
        for name in (self.ann, self.bob):
            await self.change("POST", f"{LAKE}/users", {"name": name})
        await self.change("POST", f"{LAKE}/roles", {"name": self.role, "securableObjects": []})
        await self.grant("grant", "use_catalog", "use_schema", on="metalake/default")
        await self.grant("grant", "select_table")
        await self.assign("grant")
        for node in {self._changing, self._checking}:
            for user in (self.ann, self.bob, ADMIN):
                await self.site.send(node, "GET", self.table, user=user)
        await self.sees(self.ann, 200)
        await self.sees(self.bob, 403)

    async def change(self, method: str, path: str, body: object = None) -> Any:
        """Change something, as the admin."""
        return await self.site.must(self._changing, method, path, body)

    async def sees(
        self,
        user: str,
        status: int,
        path: str = "",
        reads_max: int = AFTER_A_CHANGE_READS_MAX,
        warm: int | None = 1,
    ) -> None:
        """The next answer has this status; the one after it costs what a warm one does.

        Of what is not there, or off, nothing is remembered: then `warm` is None.
        """
        is_polling = self.site.mode.is_polling
        ask = partial(self.site.ask, self._checking, "GET", path or self.table, user=user)
        first = await _until(lambda told: told.status == status, ask, waits=is_polling)
        assert first.reads <= reads_max * (1 + is_polling)  # a refusal is confirmed
        if warm is None:
            return
        reads = 0 if is_polling and status < 400 else warm
        second = await _until(
            lambda told: told.reads == reads, ask, waits=is_polling, tries=SHARED_READS_MAX
        )
        assert second.status == status

    async def is_off(self, user: str) -> None:
        """The next answer says so."""
        await self.sees(user, 403, reads_max=SWITCHED_OFF_READS_MAX, warm=None)

    async def grant(self, do: str, *names: str, on: str = "") -> None:
        """The role gets rights, or loses them."""
        rights = [{"name": name, "condition": "allow"} for name in names]
        path = f"{PERMISSIONS}/roles/{self.role}/{on or self.object}/{do}"
        await self.change("PUT", path, {"privileges": rights})

    async def assign(self, do: str, to: str = "") -> None:
        """The role is given, or taken."""
        path = f"{PERMISSIONS}/{to or f'users/{self.ann}'}/{do}"
        await self.change("PUT", path, {"roleNames": [self.role]})

    async def rename(self, source: str, target: str) -> None:
        """The table gets another name."""
        await self.change(
            "POST",
            f"{CATALOG}/tables/rename",
            {
                "source": {"namespace": [self.schema], "name": source},
                "destination": {"namespace": [self.schema], "name": target},
            },
        )


async def revoke_user_role(m: Matrix) -> None:
    """A role is taken from a user, and given back."""
    await m.assign("revoke")
    await m.sees(m.ann, 403)
    await m.assign("grant")
    await m.sees(m.ann, 200)


async def revoke_role_privilege(m: Matrix) -> None:
    """A right is taken from a role, and given back."""
    await m.grant("revoke", "select_table")
    await m.sees(m.ann, 403)
    await m.grant("grant", "select_table")
    await m.sees(m.ann, 200)


async def revoke_above(m: Matrix) -> None:
    """A right on the metalake that all below it needs."""
    await m.grant("revoke", "use_catalog", on="metalake/default")
    await m.sees(m.ann, 403)


async def delete_role(m: Matrix) -> None:
    """A role goes, and one of its name is another one."""
    await m.change("DELETE", f"{LAKE}/roles/{m.role}")
    await m.sees(m.ann, 403)
    await m.change("POST", f"{LAKE}/roles", {"name": m.role, "securableObjects": []})
    await m.sees(m.ann, 403)


async def group_role(m: Matrix) -> None:
    """A group gets a role and loses it; a member has it in between, and as long as it is one."""
    await m.assign("revoke")
    await m.change("POST", f"{LAKE}/groups", {"name": m.group})
    async with m.site.insider() as node:
        await vouch_for(node.kernel, m.ann)
        await create_group(node.kernel, m.group)
        await change_members(node.kernel, m.group, add=[m.ann])
        await m.sees(m.ann, 403, reads_max=IDENTITIES_READS_MAX)
        await m.assign("grant", to=f"groups/{m.group}")
        await m.sees(m.ann, 200)
        await m.assign("revoke", to=f"groups/{m.group}")
        await m.sees(m.ann, 403)
        await m.assign("grant", to=f"groups/{m.group}")
        await m.sees(m.ann, 200)
        await change_members(node.kernel, m.group, remove=[m.ann])
        await m.sees(m.ann, 403, reads_max=IDENTITIES_READS_MAX)


async def owner_transfer(m: Matrix) -> None:
    """A table changes hands; its owner needs no other right on it."""
    await m.grant("revoke", "select_table")
    await m.assign("grant", to=f"users/{m.bob}")
    for owner, other in ((m.ann, m.bob), (m.bob, m.ann)):
        await m.change("PUT", f"{LAKE}/owners/{m.object}", {"name": owner, "type": "USER"})
        await m.sees(owner, 200)
        await m.sees(other, 403)


async def rename(m: Matrix) -> None:
    """Rights go with the table, and the old name means nothing."""
    await m.rename("t", "u")
    await m.sees(m.ann, 403)
    await m.sees(m.ann, 200, f"{m.tables}/u")
    await m.sees(ADMIN, 404)
    await m.rename("u", "t")
    await m.sees(m.ann, 200)


async def drop(m: Matrix) -> None:
    """A table goes."""
    await m.change("DELETE", m.table)
    await m.sees(m.ann, 403)
    await m.sees(ADMIN, 404)


async def drop_and_recreate(m: Matrix) -> None:
    """Another table of the same name is not what rights were given on."""
    await m.change("DELETE", m.table)
    await m.change("POST", m.tables, new_table("t"))
    await m.sees(m.ann, 403)
    await m.sees(ADMIN, 200)


async def disable_user(m: Matrix) -> None:
    """A user is switched off in the metalake, and on again; then it is no identity any more."""
    async with m.site.insider() as node:
        clerk = Clerk(node)
        clerk.expect(m.ann)
        await clerk.switch_user(m.ann, on=False)
        await m.sees(m.ann, 403)
        await clerk.switch_user(m.ann, on=True)
        await m.sees(m.ann, 200)
        await vouch_for(node.kernel, m.ann)
        await set_enabled(node.kernel, m.ann, enabled=False)
        await m.sees(m.ann, 401, reads_max=IDENTITIES_READS_MAX)


async def remove_user(m: Matrix) -> None:
    """A user goes, and one of its name has none of its rights."""
    await m.change("DELETE", f"{LAKE}/users/{m.ann}")
    await m.sees(m.ann, 403)
    await m.change("POST", f"{LAKE}/users", {"name": m.ann})
    await m.sees(m.ann, 403)


async def disable_metalake(m: Matrix) -> None:
    """The metalake is switched off, and on again."""
    await m.change("PATCH", LAKE, {"inUse": False})
    await m.is_off(m.ann)
    await m.change("PATCH", LAKE, {"inUse": True})
    await m.sees(m.ann, 200)


async def disable_catalog(m: Matrix) -> None:
    """The catalog is switched off, and on again."""
    await m.change("PATCH", f"{LAKE}/catalogs/main", {"inUse": False})
    await m.is_off(m.ann)
    await m.change("PATCH", f"{LAKE}/catalogs/main", {"inUse": True})
    await m.sees(m.ann, 200)


async def furnish(m: Matrix, lake: str, user: str, on: str = "catalog/c") -> None:
    """A metalake, unless it is there, with a catalog that a user of it may use."""
    url = f"/api/metalakes/{lake}"
    if (await m.site.send(0, "GET", url)).status_code != 200:
        await m.change("POST", "/api/metalakes", {"name": lake})
    catalog = {"name": "c", "type": "relational", "provider": "lakehouse-iceberg"}
    await m.change("POST", f"{url}/catalogs", catalog)
    if (await m.site.send(0, "GET", f"{url}/users/{user}")).status_code == 200:
        return
    await m.change("POST", f"{url}/users", {"name": user})
    await m.change("POST", f"{url}/roles", {"name": "r", "securableObjects": []})
    use = {"privileges": [{"name": "use_catalog", "condition": "allow"}]}
    await m.change("PUT", f"{url}/permissions/roles/r/{on}/grant", use)
    await m.change("PUT", f"{url}/permissions/users/{user}/grant", {"roleNames": ["r"]})


async def recreate_catalog(m: Matrix) -> None:
    """Another catalog of the same name is not what rights were given on."""
    lake = "again_catalog"
    path = f"/iceberg/v1/{lake}.c/namespaces"
    await furnish(m, lake, m.ann)
    await m.sees(m.ann, 200, path, NEW_READS_MAX)
    await m.change("DELETE", f"/api/metalakes/{lake}/catalogs/c?force=true")
    await m.sees(m.ann, 403, path, NEW_READS_MAX, warm=None)
    await furnish(m, lake, m.ann)
    await m.sees(m.ann, 403, path, NEW_READS_MAX)
    await m.sees(ADMIN, 200, path)


async def recreate_metalake(m: Matrix) -> None:
    """Another metalake of the same name has other users."""
    lake = "again"
    path = f"/iceberg/v1/{lake}.c/namespaces"
    for member, other in ((m.ann, m.bob), (m.bob, m.ann)):
        await furnish(m, lake, member)
        await m.sees(member, 200, path, NEW_READS_MAX)
        await m.sees(other, 403, path)
        await m.change("DELETE", f"/api/metalakes/{lake}?force=true")
        await m.sees(member, 403, path, NEW_READS_MAX, warm=None)


async def rename_metalake(m: Matrix) -> None:
    """Its users go with it, and the old name means nothing."""
    await furnish(m, "before", m.ann)
    await m.sees(m.ann, 200, "/iceberg/v1/before.c/namespaces", NEW_READS_MAX)
    updates = {"updates": [{"@type": "rename", "newName": "after"}]}
    await m.change("PUT", "/api/metalakes/before", updates)
    await m.sees(m.ann, 200, "/iceberg/v1/after.c/namespaces", NEW_READS_MAX)
    await m.sees(m.ann, 403, "/iceberg/v1/before.c/namespaces", NEW_READS_MAX, warm=None)


ROWS: tuple[Callable[[Matrix], Awaitable[None]], ...] = (
    revoke_user_role,
    revoke_role_privilege,
    revoke_above,
    delete_role,
    group_role,
    owner_transfer,
    rename,
    drop,
    drop_and_recreate,
    disable_user,
    remove_user,
    disable_metalake,
    disable_catalog,
    recreate_catalog,
    recreate_metalake,
    rename_metalake,
)


async def walk(site: Site) -> None:
    """All rows, each with names of its own; what is changed on one node is asked on the other."""
    for row in ROWS:
        name = row.__name__
        try:
            matrix = Matrix(site, (0, len(site.nodes) - 1), name)
            await matrix.begin()
            await row(matrix)
        except BaseException as error:
            error.add_note(f"in the row {name}")
            raise


DATABASES = ("sqlite", "postgresql")


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, database: str) -> Place:
    """A folder, and a database of a kind."""
    if database == "sqlite":
        return Place(tmp_path)
    server: PostgresqlServer = request.getfixturevalue("postgresql_server")
    return Place(tmp_path, server.create_database())


SHORT = {True: {("sqlite", 1), ("postgresql", 2)}, False: {("sqlite", 2)}}
"""Databases and numbers of nodes of the default mode, and of the others."""
COMBINATIONS = [
    pytest.param(mode, database, nodes, id=f"{mode}-{database}-{nodes}")
    for mode in MODES
    for database in DATABASES
    for nodes in (1, 2)
    if FULL or (database, nodes) in SHORT[mode == Mode()]
]
"""All in the long form; else each mode, each database and each number of nodes."""


@pytest.mark.parametrize(("mode", "database", "nodes"), COMBINATIONS)
async def test_the_matrix_holds_in_one_process(mode: Mode, place: Place, nodes: int) -> None:
    """On one node and on two, on each database, in each mode."""
    async with fronts(mode, place, nodes) as site:
        await walk(site)


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("mode", MODES if FULL else MODES[:1], ids=Mode.__str__)
async def test_the_matrix_holds_on_two_server_processes(mode: Mode, place: Place) -> None:
    """Real servers, with ports and processes of their own."""
    async with processes(mode, place, 2) as site:
        await walk(site)
