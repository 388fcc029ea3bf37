"""The manifest of an export: what it is of, which files belong to it, and what is in them."""

import hashlib

import msgspec

from headgate.errors import Conflict, Corrupt, NewerFormat, RealmNotActive
from headgate.portage.rows import Facts

FORMAT = 1
STATES = ("ACTIVE", "INACTIVE")
"""In which a metalake is exported, and is again in the end."""
NAME = "manifest.json"
_SHOWN_CHARS = 12


class RealmFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metalake that was exported, as its store lists it."""

    name: str
    state: str
    properties: dict[str, str] = {}


class ExportFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of an export."""

    name: str
    rows: int
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """An export as a whole. It is written last: without it there is none."""

    format: int
    headgate: str
    """The version of the program that wrote it."""
    exported_ms: int
    realm: RealmFacts
    facts: Facts
    files: tuple[ExportFile, ...]


class _Version(msgspec.Struct):
    format: int


def encode_manifest(manifest: Manifest) -> bytes:
    """The text of `manifest.json`."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def decode_manifest(data: bytes) -> Manifest:
    """What the text says; refused if it is damaged, or of a newer program."""
    try:
        version = msgspec.json.decode(data, type=_Version).format
        if version > FORMAT:
            raise NewerFormat(
                "the export cannot be read",
                why=f"it has format {version}, this program knows {FORMAT}",
                fix="Upgrade this program",
            )
        return msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise Corrupt(
            "the export cannot be read",
            why=f"its {NAME} is damaged: {error}",
            fix="Export again, or copy it once more",
        ) from error


def renamed(manifest: Manifest, name: str) -> Manifest:
    """The same, to be imported under another name; under its own if that is empty."""
    realm = msgspec.structs.replace(manifest.realm, name=name or manifest.realm.name)
    return msgspec.structs.replace(manifest, realm=realm)


def described(number: int, data: bytes, rows: int) -> ExportFile:
    """A file that is to be written. What is in it is in its name, so a second try harms nothing."""
    digest = hashlib.sha256(data).hexdigest()
    name = f"rows-{number:05}-{digest[:_SHOWN_CHARS]}.parquet"
    return ExportFile(name, rows, len(data), digest)


def check_file(file: ExportFile, data: bytes | None) -> bytes:
    """The content of a file, if it is what the manifest says."""
    if data is None:
        raise half_written(f"{file.name} is not there")
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise half_written(f"{file.name} is not what was written: its digest is another one")
    return data


def check_facts(manifest: Manifest, found: Facts) -> None:
    """Refuse an export in which there is not what its manifest says."""
    if found != manifest.facts:
        raise half_written(
            f"{manifest.facts.rows:,} rows with {manifest.facts.objects:,} objects were written, "
            f"and {found.rows:,} with {found.objects:,} are there, or they are others"
        )


def check_arrived(manifest: Manifest, found: Facts) -> None:
    """Refuse to finish an import of which something else was read back than what was sent."""
    if found != manifest.facts:
        raise Conflict(
            "the import is not finished",
            why=f"{manifest.facts.rows:,} rows were sent and {found.rows:,} are there, or others",
            fix="Import it again; if it stays, end it with --abort and begin anew",
        )


def check_finished(realm: RealmFacts) -> None:
    """Refuse to export what is only being imported."""
    if realm.state not in STATES:
        raise RealmNotActive(
            f"realm {realm.name!r} cannot be exported",
            why=f"it is {realm.state}",
            fix="Finish its import first",
        )


def half_written(why: str) -> Corrupt:
    """What to say of an export that is not whole."""
    return Corrupt(
        "the export is half-written or damaged", why=why, fix="Export again, or copy it once more"
    )
