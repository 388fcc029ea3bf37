"""Exports in a folder of this machine, or of a disk that all machines share."""

import os
import re
from pathlib import Path

from headgate.errors import BadSetting, Corrupt, NotFound
from headgate.portage.manifest import (
    NAME,
    ExportFile,
    Manifest,
    check_file,
    decode_manifest,
    encode_manifest,
    half_written,
)

_ROWS = re.compile(r"rows-\d+-[0-9a-f]+\.parquet")
CHECKPOINT = "log-checkpoint.json"
"""Where the log stood that is exported; it may be missing."""
_OURS = re.compile(
    r"(rows-\d+-[0-9a-f]+\.parquet|manifest\.json|log-checkpoint\.json)(\.\d+\.partial)?"
)


def prepare(folder: Path) -> None:
    """Make the folder of an export ready; what a run left that was killed is removed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        present = sorted(folder.iterdir())
    except OSError as error:
        raise _unusable(folder, error.strerror or str(error)) from error
    if any(path.name == NAME for path in present):
        raise _unusable(folder, "there is an export in it")
    for path in present:
        if not _OURS.fullmatch(path.name) or _is_folder(path):
            raise _unusable(folder, f"{path.name} is in it, which is no file of an export")
    for path in present:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            why = f"{path.name} cannot be removed: {error.strerror or error}"
            raise _unusable(folder, why) from error


def _is_folder(path: Path) -> bool:
    """Whether it is one itself; a link to one is not."""
    return path.is_dir() and not path.is_symlink()


def store(folder: Path, name: str, data: bytes) -> None:
    """Write a file, all or nothing."""
    partial = folder / f"{name}.{os.getpid()}.partial"
    try:
        with open(partial, "wb", opener=_private) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(folder / name)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise _unusable(folder, error.strerror or str(error)) from error


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner reads: it may hold the keys of catalogs."""
    return os.open(path, flags, 0o600)


def complete(folder: Path, manifest: Manifest, checkpoint: bytes = b"") -> None:
    """Write the manifest, and remove what belongs to no file of it. A checkpoint is there first."""
    known = {file.name for file in manifest.files}
    if checkpoint:
        store(folder, CHECKPOINT, checkpoint)
        known.add(CHECKPOINT)
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name) and path.name not in known:
            path.unlink()
    store(folder, NAME, encode_manifest(manifest))


def load_manifest(folder: Path) -> Manifest:
    """The manifest of an export; refused if there is none, or files are missing."""
    data = _content(folder, NAME)
    if data is None and not folder.is_dir():
        raise NotFound(
            f"there is no export at {folder}",
            why="it is a file" if folder.exists() else "there is no such folder",
            fix="Name the folder that it was written into",
        )
    if data is None:
        raise half_written(f"there is no {NAME} in {folder}")
    manifest = decode_manifest(data)
    for file in manifest.files:
        if not _ROWS.fullmatch(file.name):
            raise half_written(f"{file.name[:80]!r} is no name of a file of it")
        try:
            size = (folder / file.name).stat().st_size
        except OSError:
            raise half_written(f"{file.name} is not there") from None
        if size != file.bytes:
            raise half_written(f"{file.name} has {size:,} bytes, written were {file.bytes:,}")
    return manifest


def load_checkpoint(folder: Path) -> bytes:
    """The line that says where the log stood; refused if there is none."""
    data = _content(folder, CHECKPOINT)
    if data is None:
        raise NotFound(
            f"the export at {folder} cannot be compared with a log",
            why=f"there is no {CHECKPOINT} in it",
            fix="`headgate realm export` writes one if the store has a master key",
        )
    return data


def load(folder: Path, file: ExportFile) -> bytes:
    """The content of a file, if it is what was written."""
    return check_file(file, _content(folder, file.name))


def _content(folder: Path, name: str) -> bytes | None:
    try:
        return (folder / name).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Corrupt(
            f"{folder / name} cannot be read",
            why=error.strerror or str(error),
            fix="Check the disk and who may read it",
        ) from error


def _unusable(folder: Path, why: str) -> BadSetting:
    return BadSetting(
        f"nothing can be exported to {folder}", why=why, fix="Name a folder that is empty or new"
    )
