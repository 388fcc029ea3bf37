"""`headgate location`: places that catalogs left, and that stay with their metalake."""

import shlex

import click

from headgate.catalog.left_places import Left, free_places, left_places
from headgate.catalog.territories import check_unheld
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import iso, printable, table, to_json
from headgate.cli.suggestions import for_same_store
from headgate.errors import BadRequest, Conflict
from headgate.kernel.kernel import Kernel
from headgate.model.locations import normalize
from headgate.server_settings import storage_options
from headgate.storage.files import StorageFiles


@click.group(invoke_without_command=True)
@click.pass_context
def location(context: click.Context) -> None:
    """List and free locations that catalogs left and where files may be.

    A catalog leaves its locations when it is dropped, and an allowed location when that is removed.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@location.command("list")
@shared
def list_(run: Run) -> None:
    """List the locations that catalogs left. Only their own metalake may use them again.

    These are locations of catalogs, not those of tables that were dropped without purge from a
    catalog that is still there.
    """
    found = with_kernel(run, left_places, writable=False)
    if run.json:
        click.echo(to_json([described(one) for one in found]))
    elif found:
        rows = [
            (one.location, printable(f"{one.metalake}.{one.name}"), iso(one.left_ms), one.realm)
            for one in found
        ]
        click.echo(table(("LOCATION", "CATALOG", "LEFT", "REALM"), rows))
        hint = "`headgate location free LOCATION` lets other metalakes use one."
        click.echo(f"\n{for_same_store(hint, run.given)}")
    else:
        click.echo("There are no places that catalogs left.")


@location.command()
@click.argument("place", metavar="LOCATION")
@yes_option
@click.option("--abandon-files", is_flag=True, help="Free it although files are there.")
@shared
def free(run: Run, *, place: str, yes: bool, abandon_files: bool) -> None:
    """Let other metalakes use a place that a catalog left.

    It is refused while files are there: the next catalog there could read them. With
    --abandon-files it is freed all the same, and they stay. While a table or view holds a location
    there or above, or is being purged, it is refused in any case.
    """
    wanted = normalize(place)
    flag = " --abandon-files" if abandon_files else ""
    confirm(
        f"Let any metalake use {printable(wanted)}?",
        f"location free {shlex.quote(place)}{flag}",
        yes=yes,
    )

    async def work(kernel: Kernel) -> list[Left]:
        found = [one for one in await left_places(kernel) if one.location == wanted]
        if not found:
            raise BadRequest(
                f"{printable(wanted)} cannot be freed",
                why="no catalog left it",
                fix="`headgate location list` shows the places that are kept",
            )
        await check_unheld(kernel, wanted)
        if not abandon_files:
            await _check_empty(run, wanted)
        await free_places(kernel, found)
        return found

    freed = with_kernel(run, work, writable=True, create=False)
    if run.json:
        click.echo(to_json([described(one) for one in freed]))
    else:
        click.echo(f"{printable(wanted)} is free.")


def described(left: Left) -> dict[str, object]:
    """A place that was left as a plain object."""
    return {
        "location": left.location,
        "metalake": left.metalake,
        "realm": left.realm,
        "catalog": left.name,
        "catalog-id": str(left.catalog),
        "left": iso(left.left_ms),
        "by": left.by,
    }


async def _check_empty(run: Run, place: str) -> None:
    """Refuse a place at which there is a file, or may be one: its disk may be away."""
    files = StorageFiles(storage_options(run.settings), [place])
    async for file in files.list(place):
        raise Conflict(
            f"{printable(place)} cannot be freed",
            why=f"files are there, such as {printable(file)}",
            fix="Delete them, or leave them to whoever comes with --abandon-files",
        )
    if not await files.is_empty(place):
        raise Conflict(
            f"{printable(place)} cannot be freed",
            why="its folder is not there, so its disk may be away",
            fix="Mount the disk; or, if the folder was deleted, say --abandon-files",
        )
