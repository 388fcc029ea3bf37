"""A metalake with something of everything, moved from one store to another."""

from pathlib import Path

from headgate.access.rules import RULES
from headgate.catalog.metalakes import clear_away
from headgate.catalog.references import REFERENCES
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm, RealmState
from headgate.portage.locations import LocationChecks
from headgate.portage.manifest import Manifest, renamed
from headgate.portage.moving import check_export, export_realm, import_realm
from headgate.purge.jobs import JobRow
from tests.unit.catalog.dropping import drop
from tests.unit.catalog.guarded import ADMIN, OWNER, Guarded, rights
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node

ANYWHERE = LocationChecks(lambda _: None)
USERS = (OWNER, ADMIN, "ann", "bob", "nobody")
OBJECTS = (("",), ("a", ""), ("a", "t"), ("a", "v"), ("b", ""), ("b", "t2"))


async def furnish(node: Node, guarded: Guarded) -> int:
    """Let a metalake with staff have tables, a view, owners, denials and purges; a job's id."""
    await node.namespace("b")
    await node.table("t2", "b")
    await node.view("v")
    for name in ("gone", "going"):
        await node.table(name)
    denial = rights("schema", f"{CATALOG}.b", "select_table", deny=["create_table"])
    await guarded.grant("reader", denial)
    await guarded.own("table", f"{CATALOG}.b.t2", "bob")
    await drop(node, "gone")
    job = await drop(node, "going")
    realm = (await node.opened()).realm
    row = JobRow("PENDING", attempts=3, error="the disk was full")
    await node.kernel.store.insert(realm.id, job, row, node.kernel.ids.next())
    return job


async def decisions(guarded: Guarded) -> dict[tuple[str, str, tuple[str, ...]], bool]:
    """What each user may do with each object, by each rule."""
    return {
        (user, action, levels): await guarded.may(user, rule, levels[:-1], levels[-1])
        for user in USERS
        for action, rule in RULES.items()
        for levels in OBJECTS
    }


async def exported(kernel: Kernel, folder: Path, name: str = METALAKE) -> Manifest:
    """An export of the metalake in this folder."""
    return await export_realm(kernel, REFERENCES, name, folder)


async def imported(
    kernel: Kernel, folder: Path, name: str = "", checks: LocationChecks = ANYWHERE
) -> Realm:
    """The metalake of the export in this folder."""
    manifest = renamed(check_export(folder), name)
    return await import_realm(kernel, REFERENCES, folder, manifest, checks, by="olga")


async def vanish(kernel: Kernel, name: str = METALAKE) -> None:
    """Let a metalake be gone, but for the files of its tables."""
    realm = await kernel.realms.get(name)
    await kernel.realms.move(realm.id, RealmState.INACTIVE)
    await clear_away(kernel, realm)
