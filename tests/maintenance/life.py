"""A store in which everything was done that can be done, and what is to be seen in it."""

import os
from itertools import count, islice
from typing import Any
from uuid import UUID

from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import create_catalog, delete_catalog
from headgate.catalog.dropped_catalogs import dropped_catalogs
from headgate.catalog.entities import CatalogEntity, TableEntity
from headgate.catalog.identity_groups import change_members, create_group, drop_group, list_groups
from headgate.catalog.identity_users import (
    create_secret,
    create_user,
    drop_user,
    list_users,
    set_enabled,
    set_password,
)
from headgate.catalog.signing_keys import revoke_session
from headgate.kernel.kernel import Kernel
from headgate.model.names import Identifier
from headgate.purge.finishing import finish
from headgate.purge.history import finished_jobs
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow
from headgate.purge.queue import Queue
from tests.authorization.clerk import Clerk
from tests.authorization.gravitino_operations import LAKE_URL, target
from tests.authorization.guarded import GuardedNode
from tests.authorization.operations import begin
from tests.authorization.test_operations import OPERATIONS
from tests.unit.catalog.keeping import Keeper
from tests.unit.catalog.lakes import METALAKE, commit, new_table, set_properties

KEY = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
TIMES = 4  # that each operation is done
JOBS = 4


async def live(node: GuardedNode, worker: Kernel) -> None:
    """Do all that both protocols can do, and all that they cannot."""
    await _operations(node)
    await _requests_with_keys(node)
    await _identities(node.kernel)
    await _purges(node, worker)
    await node.reports.close()  # what was reported is stored by now
    for name in ("gone", "left"):
        await _dropped_catalog(node, name, has_files=name == "left")


async def readings(node: GuardedNode) -> dict[str, Any]:
    """All that can be read, as this node answers it."""
    found: dict[str, Any] = {}
    for operations in OPERATIONS.values():
        for name, operation in operations.items():
            if operation.method == "GET":
                found[f"{name} {operation.url}"] = await _read(node, operation.url)
    for kind in ("users", "groups", "roles"):
        url = f"{LAKE_URL}/{kind}"
        for name in found.setdefault(url, await _read(node, url))[1].get("names", []):
            found[f"{url}/{name}"] = await _read(node, f"{url}/{name}")
    for kind in ("tables", "views"):
        url = f"namespaces/a:b/{kind}"
        for one in (await _read(node, url))[1]["identifiers"]:
            found[f"{url}/{one['name']}"] = await _read(node, f"{url}/{one['name']}")
    found["repeated"] = (await _repeated(node)).json["metadata"]
    found["kept users"] = await list_users(node.kernel)
    found["kept groups"] = await list_groups(node.kernel)
    found["ended"] = [one async for one in finished_jobs(node.kernel, 1 << 62)]
    found["jobs"] = [
        (one, await node.kernel.store.get(one.realm, one.job.object, TableEntity))
        for one in await Queue(node.kernel).live_jobs()
    ]
    opened = await node.catalog()
    found["reports"] = await node.reports.list(opened, Identifier(("a", "b"), "t"))
    found["dropped"] = await dropped_catalogs(node.kernel, opened.realm.id)
    keeper = Keeper(node.kernel)
    await keeper.keys.load()
    return found


async def rows(worker: Kernel) -> list[object]:
    """The rows of all jobs."""
    jobs = await Queue(worker).live_jobs()
    found = [await worker.store.read_versioned(one.realm, [one.id]) for one in jobs]
    return [row for one in found for row in one.values()]


async def _read(node: GuardedNode, url: str) -> tuple[int, Any]:
    heard = await node.ask("GET", url)
    return heard.status, heard.json


async def _operations(node: GuardedNode) -> None:
    """Each operation, by somebody who may."""
    clerk, numbers = Clerk(node), count()
    await begin(clerk)
    await target(clerk)
    for operations in OPERATIONS.values():
        for name, operation in operations.items():
            for n in islice(numbers, TIMES):
                await (operation.before or _target)(clerk)
                heard = await node.ask(operation.method, operation.url, operation.body(n))
                assert heard.status in {*operation.done, 200}, (name, heard)


async def _target(clerk: Clerk) -> None:
    """What operations are about is there, though an operation may have deleted it."""
    heard = await clerk.node.ask("GET", f"{LAKE_URL}/roles/target")
    if heard.status == 404:
        clerk.model.roles.pop("target", None)
    await target(clerk)


async def _requests_with_keys(node: GuardedNode) -> None:
    """One that is repeated later needs the state that was replaced meanwhile."""
    await node.must("POST", "namespaces/a:b/tables", new_table("keyed"))
    await _repeated(node)
    body = commit([set_properties(later="1")])
    await node.must("POST", "namespaces/a:b/tables/keyed", body)


async def _repeated(node: GuardedNode) -> Any:
    body = commit([set_properties(first="1")])
    heard = await node.ask("POST", "namespaces/a:b/tables/keyed", body, key=KEY)
    assert heard.status == 200, heard
    return heard


async def _identities(kernel: Kernel) -> None:
    """Users, groups, secrets, keys and revoked tokens that are of no metalake."""
    keeper = Keeper(kernel)
    for name in ("ann", "bob"):
        await create_user(kernel, keeper.passwords, name, "a long password")
    await set_password(kernel, keeper.passwords, "ann", "another password")
    await create_secret(kernel, os.urandom, "ann")
    await set_enabled(kernel, "ann", enabled=False)
    for name in ("staff", "gone"):
        await create_group(kernel, name)
        await change_members(kernel, name, add=["ann"])
    await drop_group(kernel, "gone", force=True)
    await drop_user(kernel, "bob")
    await keeper.keys.ensure()
    await keeper.keys.rotate()
    await revoke_session(kernel, os.urandom(16), kernel.clock.wall_ms() + 60_000)


async def _dropped_catalog(node: GuardedNode, name: str, *, has_files: bool) -> None:
    """A catalog that is no more; its place is remembered if it has files."""
    main = (await node.catalog()).catalog.warehouse
    await create_catalog(node.kernel, METALAKE, CatalogEntity(0, name, f"{main}_{name}", {}))
    if has_files:
        url = f"/iceberg/v1/{METALAKE}.{name}/namespaces"
        await node.must("POST", url, {"namespace": ["a"]})
        await node.must("POST", f"{url}/a/tables", new_table("t"))
        await node.must("DELETE", f"{url}/a/tables/t?purgeRequested=true")
        await node.must("DELETE", f"{url}/a")
    await delete_catalog(node.kernel, CatalogName(METALAKE, name))


async def _purges(node: GuardedNode, worker: Kernel) -> None:
    """Jobs that wait, one that is worked on, and one that has ended."""
    for n in range(JOBS):
        await node.must("POST", "namespaces/a:b/tables", new_table(f"purged{n}"))
        await node.must("DELETE", f"namespaces/a:b/tables/purged{n}?purgeRequested=true")
    jobs = await Queue(worker).live_jobs()
    ended, running, *_ = jobs
    for job, state in ((ended, State.SUCCEEDED), (running, State.RUNNING)):
        await worker.store.insert(job.realm, job.id, JobRow(state), worker.ids.next())
    await finish(worker, ended, JobRow(State.SUCCEEDED))
