"""`headgate realm`: the life of realms, one sub-command for each move."""

import shlex
import sys
from collections.abc import Callable, Sequence

import click

from headgate.catalog.calls import OPERATOR, Call, Caller, CatalogName
from headgate.catalog.catalogs import catalogs_with_files, keep_all_places
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.metalake_openings import MetalakeOpenings
from headgate.catalog.metalakes import found_metalake
from headgate.catalog.openings import Openings
from headgate.catalog.owners import give_metalake
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import iso, printable, table, to_json
from headgate.cli.realm_export import export
from headgate.cli.realm_import import import_
from headgate.errors import IllegalRealmMove
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm, RealmState, is_dropped

SHOWN_MAX = 5


@click.group(invoke_without_command=True)
@click.pass_context
def realm(context: click.Context) -> None:
    """List, create, activate, deactivate, give away, move, purge and delete realms."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


realm.add_command(export)
realm.add_command(import_)


@realm.command("list")
@shared
def list_(run: Run) -> None:
    """List all realms and their states."""
    found = with_kernel(run, lambda kernel: kernel.realms.list(), writable=False)
    if run.json:
        click.echo(to_json([described(one) for one in found]))
    elif found:
        rows = [
            (printable(one.name), one.state.value, one.id, iso(one.created_ms), iso(one.changed_ms))
            for one in found
        ]
        click.echo(table(("NAME", "STATE", "ID", "CREATED", "CHANGED"), rows))
    else:
        click.echo("There are no realms; `headgate realm create NAME` makes one.")


@realm.command()
@click.argument("name")
@shared
def create(run: Run, name: str) -> None:
    """Create a realm and make it ACTIVE."""
    made = with_kernel(run, lambda kernel: found_metalake(kernel, name, OPERATOR), writable=True)
    _answer(run, made, "created")


@realm.command()
@click.argument("name")
@shared
def activate(run: Run, name: str) -> None:
    """Let an INACTIVE realm serve requests again. NAME is its name or id."""
    moved = with_kernel(
        run, lambda kernel: kernel.realms.activate(name, by=OPERATOR), writable=True
    )
    _answer(run, moved, "activated")


@realm.command()
@click.argument("name")
@shared
def deactivate(run: Run, name: str) -> None:
    """Stop serving requests of an ACTIVE realm, on all nodes. NAME is its name or id."""
    moved = with_kernel(
        run, lambda kernel: kernel.realms.deactivate(name, by=OPERATOR), writable=True
    )
    _answer(run, moved, "deactivated")


@realm.command()
@click.argument("name")
@click.argument("user")
@shared
def own(run: Run, name: str, user: str) -> None:
    """Let a user own a metalake, and be one of its users. NAME is its name or id.

    For one whose owner cannot get in, as `anonymous` if it was made before access was controlled.
    """
    owned = with_kernel(run, lambda kernel: _give(kernel, name, user), writable=True)
    if run.json:
        click.echo(to_json(described(owned) | {"owner": user}))
    else:
        click.echo(f"Metalake {printable(owned.name)!r} is owned by {printable(user)!r} now.")


@realm.command()
@click.argument("name")
@yes_option
@click.option("--abandon-files", is_flag=True, help="Leave the files of tables where they are.")
@shared
def purge(run: Run, *, name: str, yes: bool, abandon_files: bool) -> None:
    """Delete everything in an INACTIVE realm, for good. NAME is its name or id.

    While its tables have files it is refused: nobody would know of them any more. To have them
    deleted, drop the metalake by force over HTTP; servers do the rest. With --abandon-files they
    stay, and afterwards it is said where.
    """
    left = with_kernel(
        run, lambda kernel: _places(kernel, name, abandoned=abandon_files), writable=False
    )
    confirm(
        f"Delete everything in realm {printable(name)!r} for good, but for files of tables?",
        f"realm purge {shlex.quote(name)}{' --abandon-files' if abandon_files else ''}",
        yes=yes,
    )
    progress = None if run.json else counter(f"purging realm {printable(name)}")
    purged = with_kernel(run, lambda kernel: _purge(kernel, name, progress), writable=True)
    if progress:
        click.echo(err=True)
    if run.json:
        click.echo(to_json(described(purged) | {"files-left-in": left}))
        return
    _answer(run, purged, "purged")
    if left:
        click.echo(f"Files of its tables are left in {printable(', '.join(left))}.")


@realm.command()
@click.argument("name")
@yes_option
@shared
def delete(run: Run, *, name: str, yes: bool) -> None:
    """Remove a PURGED realm from the list. NAME is its name or id."""
    question = f"Remove realm {printable(name)!r} from the list?"
    confirm(question, f"realm delete {shlex.quote(name)}", yes=yes)
    gone = with_kernel(run, lambda kernel: kernel.realms.delete(name), writable=True)
    if run.json:
        click.echo(to_json(described(gone) | {"state": "DELETED"}))
    else:
        click.echo(f"Realm {printable(gone.name)!r} is deleted; its name is free.")


def described(one: Realm) -> dict[str, object]:
    """A realm as a plain object."""
    return {
        "id": one.id,
        "name": one.name,
        "state": one.state.value,
        "created": iso(one.created_ms),
        "changed": iso(one.changed_ms),
        "properties": one.properties,
    }


def counter(title: str) -> Callable[[int], None] | None:
    """A function that shows a growing number on the terminal; None if there is no terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: int) -> None:
        click.echo(f"\r{title}: {done:,} deleted", nl=False, err=True)

    return show


async def _give(kernel: Kernel, name: str, user: str) -> Realm:
    """Whoever has the store may do so, whatever rights there are in it."""
    found = await kernel.realms.get(name)
    call = Call(CatalogName(found.name, ""), Caller(OPERATOR, is_server=True))
    opened = await MetalakeOpenings(kernel, Openings(kernel)).open(call, inactive=True)
    await give_metalake(opened, user)
    return found


async def _purge(kernel: Kernel, name: str, progress: Callable[[int], None] | None) -> Realm:
    """Delete all data of a realm; where it may leave files, its places are kept for it."""
    await keep_all_places(kernel, await kernel.realms.get(name), by=OPERATOR)
    return await kernel.realms.purge(name, progress, by=OPERATOR)


async def _places(kernel: Kernel, name: str, *, abandoned: bool) -> list[str]:
    """Where files of a realm that is to be purged lie; `IllegalRealmMove` unless that is meant."""
    found = await kernel.realms.get(name)
    if found.state is RealmState.ACTIVE:
        raise IllegalRealmMove(
            f"realm {found.name!r} cannot be purged",
            why="it is ACTIVE",
            fix=f"Run `headgate realm deactivate {found.name}` first",
        )
    catalogs = await catalogs_with_files(kernel, found)
    if catalogs and not abandoned:
        raise IllegalRealmMove(
            f"realm {found.name!r} cannot be purged",
            why=f"files of tables are still there, in {_named(catalogs)}",
            fix="Wait until a server has deleted them, as `headgate jobs list` shows, or leave "
            "them where they are with --abandon-files"
            if is_dropped(found)
            else "Drop the metalake by force over HTTP to have them deleted, or leave them where "
            "they are with --abandon-files",
        )
    return [place for one in catalogs for place in one.locations]


def _named(catalogs: Sequence[CatalogEntity]) -> str:
    """The first few of these catalogs, for people."""
    names = ", ".join(one.name for one in catalogs[:SHOWN_MAX])
    return f"{names} and {len(catalogs) - SHOWN_MAX} more" if catalogs[SHOWN_MAX:] else names


def _answer(run: Run, one: Realm, done: str) -> None:
    if run.json:
        click.echo(to_json(described(one)))
    else:
        click.echo(f"Realm {printable(one.name)!r} is {done}; it is {one.state.value}.")
