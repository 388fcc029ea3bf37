"""Whole realms, by one process: from a store into a folder, and from a folder into a store."""

from collections.abc import Callable
from pathlib import Path

from headgate import __version__
from headgate.catalog.checkpoints import SigningLogKey, checkpoint_of
from headgate.catalog.references import References
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import Realm
from headgate.kernel.records import PointerKey
from headgate.limits import PORTAGE_FILE_BYTES
from headgate.portage import folder as folders
from headgate.portage.filling import begin, fill, finish
from headgate.portage.locations import LocationChecks
from headgate.portage.manifest import (
    FORMAT,
    ExportFile,
    Manifest,
    check_arrived,
    check_facts,
    check_finished,
    described,
)
from headgate.portage.parquet import check_pyarrow, decoded, encoded
from headgate.portage.reading import Outline, outline, read_facts, read_rows
from headgate.portage.rows import Facts, Row, batches, facts_of

Progress = Callable[[int], None]
"""Is told how many rows more are done."""


def unheard(_rows: int) -> None:
    """Tell nobody."""


async def export_realm(
    kernel: Kernel,
    references: References,
    name: str,
    folder: Path,
    told: Progress = unheard,
    key: SigningLogKey | None = None,
) -> Manifest:
    """Write all of a realm, as it is at one instant, into a folder that is empty or new.

    With a key it is signed which commits that was, and what is in it.
    """
    check_pyarrow()
    found = await outline(kernel, references, name)
    check_finished(found.facts)
    folders.prepare(folder)
    files, facts = list[ExportFile](), Facts()
    waiting, size = list[Row](), 0
    async for rows in read_rows(kernel, references, found.realm.id, found.pieces):
        waiting += rows
        size += sum(row.bytes for row in rows)
        facts += facts_of(rows)
        told(len(rows))
        if size >= PORTAGE_FILE_BYTES:
            files.append(_store(folder, len(files), waiting))
            waiting, size = [], 0
    if waiting:
        files.append(_store(folder, len(files), waiting))
    manifest = Manifest(
        FORMAT, __version__, kernel.clock.wall_ms(), found.facts, facts, tuple(files)
    )
    signed = b"" if key is None else await _signed(kernel, found, facts.content, key)
    folders.complete(folder, manifest, signed)
    return manifest


async def import_realm(  # noqa: PLR0913  what is imported, where to, and on which terms
    kernel: Kernel,
    references: References,
    folder: Path,
    manifest: Manifest,
    checks: LocationChecks,
    *,
    by: str,
    told: Progress = unheard,
) -> Realm:
    """Make a realm that is exactly what was exported; begun once more, it goes on.

    The manifest was checked: see `check_export`.
    """
    realm = await begin(kernel, manifest.realm, manifest.facts, checks, by=by)
    for file in manifest.files:
        for rows in batches(decoded(folders.load(folder, file), file.name)):
            await fill(kernel, realm.id, rows)
            told(len(rows))
    check_arrived(manifest, await read_facts(kernel, references, realm.id))
    content, state = manifest.facts.content, manifest.realm.state
    return await finish(kernel, realm.id, content, state, checks, by=by)


def check_export(folder: Path) -> Manifest:
    """The manifest of an export that is whole, to its last byte."""
    check_pyarrow()
    manifest, found = folders.load_manifest(folder), Facts()
    for file in manifest.files:
        found += facts_of(decoded(folders.load(folder, file), file.name))
    check_facts(manifest, found)
    return manifest


async def _signed(kernel: Kernel, found: Outline, content: str, key: SigningLogKey) -> bytes:
    """Where the log of each pointer stood when the realm was outlined."""
    commits = {
        PointerKey(found.realm.id, piece.pointer): piece.head
        for piece in found.pieces
        if not piece.index and piece.head
    }
    return key.sign(await checkpoint_of(kernel, commits, found.realm.id, content))


def _store(folder: Path, number: int, rows: list[Row]) -> ExportFile:
    data = encoded(rows)
    file = described(number, data, len(rows))
    folders.store(folder, file.name, data)
    return file
