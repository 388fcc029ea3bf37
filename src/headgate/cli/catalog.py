"""`headgate catalog`: the catalogs of a metalake."""

import shlex
from functools import partial

import click
import msgspec

from headgate.catalog.calls import OPERATOR, CatalogName
from headgate.catalog.catalogs import (
    LocationTerms,
    alter_catalog,
    create_catalog,
    delete_catalog,
    find_catalog,
    list_catalogs,
)
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.left_places import IsEmpty, looking_into
from headgate.catalog.linked_places import check_links
from headgate.catalog.nesting import SEPARATOR
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import iso, printable, table, to_json
from headgate.errors import BadRequest, HeadgateError
from headgate.kernel.kernel import Kernel
from headgate.model.locations import normalize
from headgate.model.physical import path_segment
from headgate.model.separators import Governance, check_separator
from headgate.server_settings import catalog_places, real_location, storage_options
from headgate.settings.catalogs import BOOTSTRAP_METALAKE, SCHEMA_GOVERNANCE, SCHEMA_SEPARATOR
from headgate.settings.own_files import check_apart
from headgate.storage.files import StorageFiles
from headgate.storage.gateway import StorageGateway

FIELDS = ("nested", "comment", "allowed-locations")

metalake_option = click.option("--metalake", help="The metalake; the default one if not given.")


@click.group(invoke_without_command=True)
@click.pass_context
def catalog(context: click.Context) -> None:
    """List, show, create, change and delete catalogs."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@catalog.command("list")
@metalake_option
@shared
def list_(run: Run, metalake: str | None) -> None:
    """List the catalogs of a metalake."""
    name = metalake or run.settings[BOOTSTRAP_METALAKE]
    found = with_kernel(run, lambda kernel: list_catalogs(kernel, name), writable=False)
    if run.json:
        click.echo(to_json([described(one) for one in found]))
    elif found:
        rows = [
            (printable(one.name), "yes" if one.nested else "no", iso(one.created_ms), one.warehouse)
            for one in found
        ]
        click.echo(table(("NAME", "NESTED", "CREATED", "WAREHOUSE"), rows))
        click.echo("\n`headgate catalog show NAME` tells all of one.")
    else:
        click.echo("There are no catalogs; `headgate catalog create NAME` makes one.")


@catalog.command()
@click.argument("name")
@metalake_option
@shared
def show(run: Run, *, name: str, metalake: str | None) -> None:
    """Show all of a catalog, and how clients name it."""
    where = CatalogName(metalake or run.settings[BOOTSTRAP_METALAKE], name)
    one = with_kernel(run, lambda kernel: find_catalog(kernel, where), writable=False)
    if run.json:
        names = {"metalake": where.metalake, "client-name": str(where)}
        click.echo(to_json(described(one) | names))
        return
    rows = {
        "name": one.name,
        "metalake": where.metalake,
        "clients": f'warehouse="{where}"',
        "provider": one.provider,
        "in use": "yes" if one.in_use else "no",
        "tables in": one.warehouse or "nowhere: it has only metadata",
        "and in": ", ".join(one.allowed_locations) or "nowhere else",
        "nested": "yes" if one.nested else "no",
        "comment": one.comment or "-",
        "created": iso(one.created_ms),
    }
    for title, text in rows.items():
        click.echo(f"{title:<11} {printable(text)}")


@catalog.command()
@click.argument("name")
@metalake_option
@yes_option
@shared
def delete(run: Run, *, name: str, metalake: str | None, yes: bool) -> None:
    """Delete a catalog that is empty. Files are left, but for those of purges under way."""
    where = CatalogName(metalake or run.settings[BOOTSTRAP_METALAKE], name)
    named = shlex.join([name, *(["--metalake", metalake] if metalake else [])])
    confirm(f"Delete catalog {printable(str(where))!r}?", f"catalog delete {named}", yes=yes)
    gone = with_kernel(run, lambda kernel: delete_catalog(kernel, where), writable=True)
    if run.json:
        click.echo(to_json(described(gone)))
    else:
        click.echo(f"Catalog {printable(gone.name)!r} is deleted; its name is free.")


@catalog.command()
@click.argument("name")
@metalake_option
@click.option("--warehouse", metavar="URL", help="Where its tables lie: s3://bucket/path, file:…")
@click.option("--allow", metavar="URL", multiple=True, help="Another place for tables; repeatable.")
@click.option("--flat", is_flag=True, help="Namespaces have one level.")
@click.option("--comment", default="", help="What it is for.")
@shared
def create(  # noqa: PLR0913  one argument for each option
    run: Run,
    *,
    name: str,
    metalake: str | None,
    warehouse: str | None,
    allow: tuple[str, ...],
    flat: bool,
    comment: str,
) -> None:
    """Create a catalog."""
    lake = metalake or run.settings[BOOTSTRAP_METALAKE]
    places = catalog_places(run.settings)
    place = warehouse or f"{places.root}/{path_segment(f'{lake}.{name}')}"
    new = CatalogEntity(
        0,
        name,
        place.rstrip("/"),
        {SEPARATOR: run.settings[SCHEMA_SEPARATOR]},
        comment,
        nested=not flat,
        allowed_locations=allow,
        created_by=OPERATOR,
    )
    for location in (place, *allow):  # before a store is made
        normalize(location)
    places.check(place)
    for location in allow:
        check_apart(run.settings, location)

    async def make(kernel: Kernel) -> CatalogEntity:
        await check_links(kernel, lake, new, real_location)
        return await create_catalog(kernel, lake, new, _looking(run, kernel))

    _answer(run, with_kernel(run, make, writable=True, names=True), "created")


@catalog.command("set")
@click.argument("name")
@click.argument("changes", nargs=-1, required=True, metavar="KEY=VALUE...")
@metalake_option
@click.option(
    "--yes", is_flag=True, help="Remove allowed locations although tables or views lie there."
)
@shared
def set_(run: Run, *, name: str, changes: tuple[str, ...], metalake: str | None, yes: bool) -> None:
    """Change a catalog: nested=true|false, comment=TEXT, allowed-locations=URL,URL.

    The list of allowed locations is replaced. One in which tables or views lie is removed only with
    --yes: they stay there, cannot be written until it is allowed again, and keep it from others.
    """
    fields = dict(map(_change, changes))
    where = CatalogName(metalake or run.settings[BOOTSTRAP_METALAKE], name)
    separator = run.settings[SCHEMA_SEPARATOR]
    check_separator(separator, Governance(run.settings[SCHEMA_GOVERNANCE]))

    async def change(kernel: Kernel) -> CatalogEntity:
        if "allowed_locations" in fields:
            new = msgspec.structs.replace(await find_catalog(kernel, where), **fields)
            for location in new.allowed_locations:
                check_apart(run.settings, location)
            await check_links(kernel, where.metalake, new, real_location)
        looks = _looking(run, kernel), partial(_has_no_file, run)
        terms = LocationTerms(*looks, leave_tables=yes)
        return await alter_catalog(kernel, where, fields, separator, terms=terms)

    _answer(run, with_kernel(run, change, writable=True, names=True), "changed")


def _looking(run: Run, kernel: Kernel) -> IsEmpty:
    return looking_into(StorageGateway(storage_options(run.settings), kernel.clock))


async def _has_no_file(run: Run, location: str) -> bool:
    """Whether no file is found at a location; False if its storage does not say so."""
    try:
        async for _ in StorageFiles(storage_options(run.settings), [location]).list(location):
            return False
    except HeadgateError:
        return False
    return True


def described(one: CatalogEntity) -> dict[str, object]:
    """A catalog as a plain object."""
    return {
        "id": str(one.id),
        "name": one.name,
        "provider": one.provider,
        "in-use": one.in_use,
        "warehouse": one.warehouse,
        "nested": one.nested,
        "allowed-locations": one.allowed_locations,
        "comment": one.comment,
        "created": iso(one.created_ms),
    }


def _change(pair: str) -> tuple[str, object]:
    key, equals, text = pair.partition("=")
    if not equals or key not in FIELDS:
        raise BadRequest(
            f"{printable(pair)!r} cannot be set",
            why=f"a catalog has {', '.join(FIELDS)}",
            fix="Write KEY=VALUE",
        )
    if key == "comment":
        return key, text
    if key == "allowed-locations":
        return "allowed_locations", tuple(one.strip() for one in text.split(",") if one.strip())
    if text.lower() not in {"true", "false"}:
        raise BadRequest(
            f"{printable(pair)!r} cannot be set",
            why="it is no truth value",
            fix="Write nested=true",
        )
    return key, text.lower() == "true"


def _answer(run: Run, one: CatalogEntity, done: str) -> None:
    if run.json:
        click.echo(to_json(described(one)))
    else:
        click.echo(f"Catalog {printable(one.name)!r} is {done}; its tables lie in {one.warehouse}.")
