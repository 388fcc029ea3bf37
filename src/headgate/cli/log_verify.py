"""`headgate log verify`: whether logs are what they were, by themselves and by what was signed."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from headgate.authentication import log_key
from headgate.catalog.checkpoint_file import CheckpointFile
from headgate.catalog.checkpoints import (
    Checkpoint,
    PublicKey,
    known_positions,
    public_key_of,
    read_checkpoints,
)
from headgate.catalog.log_checks import LogChecks, LogFindings
from headgate.catalog.log_rounds import DAY_MS
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.summaries import show
from headgate.errors import Corrupt, RealmNotFound
from headgate.kernel.kernel import Kernel
from headgate.kernel.system import SYSTEM_REALM
from headgate.pipelines.reporting import Report
from headgate.portage.folder import load_checkpoint
from headgate.portage.moving import check_export
from headgate.settings.server import LOG_RETENTION


class Compared(NamedTuple):
    """What the logs are compared with."""

    checkpoints: list[Checkpoint]
    realm: str | None
    """The id or the name of the only realm that is looked at."""
    must_exist: bool = True


@click.command("verify")
@click.option("--realm", metavar="NAME", help="Only this realm; a name or an id.")
@click.option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Compare with the lines of this file, which `headgate log checkpoint` or a server wrote.",
)
@click.option(
    "--export",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Check the export in this folder, and compare with the commits that it was made of.",
)
@click.option(
    "--public-key",
    metavar="HEX",
    help="The key that must have signed, if it is not that of this store.",
)
@shared
def verify(
    run: Run,
    *,
    realm: str | None,
    checkpoint: Path | None,
    export: Path | None,
    public_key: str | None,
) -> None:
    """Walk the logs of all pointers, and tell where one was changed behind Headgate's back.

    Each commit carries the digest of the one before as it is stored. So a commit that was changed,
    exchanged or removed is named; one that was rewritten with all that followed it is found only
    by comparing with a checkpoint from before. Logs that were cut are checked from the oldest
    commit that is kept, and commits of older programs, which have no digest, are counted.

    An export is checked to its last byte, and its realm is looked at if it is in this store.
    Servers may run meanwhile. Exit code 0 if all holds, 1 if not.
    """
    if checkpoint is not None and export is not None:
        raise click.UsageError("--checkpoint and --export cannot be used together")
    if public_key is not None and checkpoint is None and export is None:
        raise click.UsageError("--public-key can only be used with --checkpoint or --export")
    compared = Compared([], realm)
    if checkpoint is not None:
        data = CheckpointFile(checkpoint.absolute()).read()
        compared = Compared(read_checkpoints(data, _key(run, public_key)), realm)
    elif export is not None:
        if realm is not None:
            raise click.UsageError("--realm cannot be used with --export, which is of one realm")
        compared = _of_export(export, _key(run, public_key))
    report = Report(is_quiet=run.json, show=partial(show, json=run.json))
    with report.stage("verify") as stage:

        async def work(kernel: Kernel) -> LogFindings:
            retention_ms = run.settings[LOG_RETENTION] * DAY_MS
            return await _check(
                kernel, compared, retention_ms, lambda commits: stage.advance(rows=commits)
            )

        found = with_kernel(run, work, writable=False)
    report.end(found)
    click.get_current_context().exit(1 if found.broken else 0)


async def realm_id(kernel: Kernel, name: str | None) -> str | None:
    """The id of the realm of this name or id; None for all."""
    return name if name in {None, SYSTEM_REALM} else (await kernel.realms.get(name)).id


async def _check(
    kernel: Kernel, compared: Compared, retention_ms: int, told: Callable[[int], None]
) -> LogFindings:
    try:
        realm = await realm_id(kernel, compared.realm)
    except RealmNotFound:
        if compared.must_exist:
            raise
        return LogFindings(checkpoints=len(compared.checkpoints))
    checks = LogChecks(kernel, known_positions(compared.checkpoints, realm), retention_ms)
    checks.findings.checkpoints = len(compared.checkpoints)
    return await checks.make(realm, told)


def _of_export(folder: Path, key: PublicKey) -> Compared:
    manifest = check_export(folder)
    checkpoint, *more = read_checkpoints(load_checkpoint(folder), key)
    if more or checkpoint.content != manifest.facts.content:
        raise Corrupt(
            f"the export at {folder} is not the one that was signed",
            why=f"the digest of its content is {manifest.facts.content}, signed is "
            f"{checkpoint.content or 'none'}",
            fix="Use a copy from where nobody could change it",
        )
    return Compared([checkpoint], checkpoint.realm, must_exist=False)


def _key(run: Run, given: str | None) -> PublicKey:
    return log_key(run.settings, create=False).public if given is None else public_key_of(given)
