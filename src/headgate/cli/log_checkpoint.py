"""`headgate log checkpoint`: where all logs stand, signed, to be kept elsewhere."""

from functools import partial
from pathlib import Path

import click
import msgspec

from headgate.authentication import log_key
from headgate.catalog.catalogs import check_all_locations
from headgate.catalog.checkpoint_file import CheckpointFile
from headgate.catalog.checkpoints import Checkpoint, make_checkpoint
from headgate.cli.log_verify import realm_id
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import printable
from headgate.cli.summaries import show
from headgate.errors import BadRequest
from headgate.kernel.kernel import Kernel
from headgate.settings.own_files import holds_file


class CheckpointSummary(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A checkpoint that was written to a file."""

    file: str
    made_ms: int
    realms: int
    pointers: int
    key: str
    """The public key; others need it to check the signature."""


@click.command("checkpoint")
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Append the line to this file, which only its owner reads; default: standard output.",
)
@click.option("--realm", metavar="NAME", help="Only this realm; a name or an id.")
@shared
def checkpoint(run: Run, *, out: Path | None, realm: str | None) -> None:
    """Write down where the log of each pointer stands, in one line of JSON that is signed.

    The key is made from the master key of the store. Keep the line where nobody who can write to
    the database can change it, and compare the logs with it later, byte for byte as it was
    written: `headgate log verify --checkpoint FILE`. Servers append such lines by themselves with
    the setting log.checkpoint-file.
    """
    file = None if out is None else CheckpointFile(out.absolute())

    async def work(kernel: Kernel) -> Checkpoint:
        if file is not None:
            await check_all_locations(kernel, partial(_check_outside, file.path))
        return await make_checkpoint(kernel, await realm_id(kernel, realm))

    made = with_kernel(run, work, writable=False)
    key = log_key(run.settings)  # made if there is none, and only where there is a store
    line = key.sign(made)
    if file is None:
        click.echo(line, nl=False)
        return
    file.append(line)
    show(
        CheckpointSummary(
            file=str(file.path),
            made_ms=made.made_ms,
            realms=len({one.realm for one in made.pointers}),
            pointers=len(made.pointers),
            key=key.public.text,
        ),
        json=run.json,
    )


def _check_outside(file: Path, location: str) -> None:
    """Refuse a file among those of tables: what no table refers to is deleted there."""
    if holds_file(location, file):
        raise BadRequest(
            f"checkpoints cannot be written to {printable(str(file))}",
            why=f"tables of a catalog may lie in {location}",
            fix="Choose a file outside of the locations of catalogs, best on another machine",
        )
