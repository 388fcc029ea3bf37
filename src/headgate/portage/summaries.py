"""What came of an export or an import, for people and scripts."""

from pathlib import Path

import msgspec

from headgate.portage.manifest import Manifest


class ExportSummary(msgspec.Struct, frozen=True, kw_only=True):
    """An export that was written."""

    metalake: str
    folder: str
    rows: int
    objects: int
    files: int
    bytes: int
    content: str
    """The same for the same content, wherever and however it was exported."""


class ImportSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A metalake that was filled, or cleared away."""

    metalake: str
    id: str
    state: str
    rows: int = 0
    objects: int = 0
    content: str = ""


def exported(manifest: Manifest, folder: Path) -> ExportSummary:
    """An export in a folder."""
    return ExportSummary(
        metalake=manifest.realm.name,
        folder=str(folder),
        rows=manifest.facts.rows,
        objects=manifest.facts.objects,
        files=len(manifest.files),
        bytes=sum(file.bytes for file in manifest.files),
        content=manifest.facts.content,
    )


def imported(manifest: Manifest, name: str, id: str, state: str) -> ImportSummary:
    """A metalake that is what was exported."""
    facts = manifest.facts
    return ImportSummary(
        metalake=name,
        id=id,
        state=state,
        rows=facts.rows,
        objects=facts.objects,
        content=facts.content,
    )
