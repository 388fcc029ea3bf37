"""A version of a table or view: the bytes of its metadata, and what the catalog must know of them.

All of it is pure. It is done here for metadata of ordinary size, and in a worker process for
large one: see `large_metadata` and `metadata_worker`.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from headgate.catalog.entities import Kind, TableEntity
from headgate.catalog.metadata_files import next_file
from headgate.catalog.reservations import Locations, locations_of, with_former
from headgate.errors import BadMetadata, InvalidInput, RequirementFailed
from headgate.model import table_metadata, table_requirements, table_updates, view_metadata
from headgate.model.locations import is_within
from headgate.model.repetitions import is_repetition
from headgate.model.table_actions import TableUpdate
from headgate.model.table_creation import new_table
from headgate.model.table_metadata import TableMetadata
from headgate.model.table_requirements import TableRequirement
from headgate.model.view_metadata import ViewMetadata

DELETE_OLD_FILES = "write.metadata.delete-after-commit.enabled"

Metadata = TableMetadata | ViewMetadata


class NewTable(msgspec.Struct, frozen=True, rename="kebab"):
    """What a client says of a table it wants."""

    name: str
    schema: dict[str, Any]
    location: str | None = None
    partition_spec: dict[str, Any] | None = None
    write_order: dict[str, Any] | None = None
    stage_create: bool = False
    properties: dict[str, str] | None = None


class Terms(msgspec.Struct, frozen=True):
    """What is decided outside: the time, new names, and what was there before."""

    now_ms: int
    uuid: str
    """Of a table or view that has none yet."""
    version_uuid: str
    """Of the new version; names its file."""
    before: TableEntity | None = None


class Facts(msgspec.Struct, frozen=True):
    """What the catalog keeps of a version."""

    uuid: str
    location: str
    reserved: Locations
    file: str
    expired: Sequence[str] = ()
    """Files that nobody needs once this version is there."""


class Version(NamedTuple):
    """A version of a table or view."""

    kind: Kind
    facts: Facts
    raw: bytes
    parsed: Metadata | None = None
    """None if it is too large to be parsed here."""
    key: str = ""
    """The name by which a worker process may still know it."""


def read_version(metadata: Metadata, raw: bytes, file: str, before: TableEntity | None) -> Version:
    """The version in a file that is there."""
    return Version(kind_of(metadata), known_facts(metadata, file, before), raw, metadata)


def new_version(metadata: Metadata, terms: Terms, old: Metadata | None = None) -> Version:
    """A version that has yet to be written."""
    return Version(kind_of(metadata), new_facts(metadata, terms, old), encode(metadata), metadata)


def known_facts(metadata: Metadata, file: str, before: TableEntity | None) -> Facts:
    """What is to be known of the metadata in this file."""
    uuid = metadata.table_uuid if isinstance(metadata, TableMetadata) else metadata.view_uuid
    current = locations_of(metadata.location, metadata.properties)
    # Files stay where they were written. So a table or view keeps all locations that it ever had,
    # and one that replaces another keeps those of the other.
    reserved = with_former(current, before.reserved if before else ())
    return Facts(uuid, metadata.location, reserved, file)


def new_facts(metadata: Metadata, terms: Terms, old: Metadata | None = None) -> Facts:
    """What is to be known of new metadata, and the name of its file."""
    previous = terms.before.metadata_location if terms.before else None
    file = next_file(metadata.location, metadata.properties, previous, terms.version_uuid)
    facts = known_facts(metadata, file, terms.before)
    if (
        isinstance(metadata, TableMetadata)
        and isinstance(old, TableMetadata)
        and metadata.properties.get(DELETE_OLD_FILES, "false").lower() == "true"
    ):
        return msgspec.structs.replace(facts, expired=_expired(old, metadata, facts.reserved))
    return facts


def first_table(new: NewTable, location: str, terms: Terms) -> TableMetadata:
    """The metadata of a new table."""
    return new_table(
        new.schema,
        new.partition_spec,
        new.write_order,
        new.properties or {},
        location=location,
        uuid=terms.uuid,
        now_ms=terms.now_ms,
    )


def changed_table(
    old: TableMetadata | None,
    requirements: Sequence[TableRequirement],
    updates: Sequence[TableUpdate],
    terms: Terms,
) -> TableMetadata:
    """A table after a commit; the same object if nothing changes."""
    try:
        table_requirements.check(old, requirements)
        return table_updates.apply(
            old,
            updates,
            now_ms=terms.now_ms,
            previous_location=terms.before.metadata_location if terms.before else None,
            new_uuid=terms.uuid,
        )
    except (RequirementFailed, BadMetadata):
        if old is None or not is_repetition(old, requirements, updates):
            raise
        return old  # the same commit was made before, and its answer was lost


def verified(kind: Kind, raw: bytes) -> Metadata:
    """Metadata that somebody else wrote: whatever its length, all of it is looked at."""
    if kind is Kind.VIEW:
        return view_metadata.parse(raw)
    metadata = table_metadata.parse(raw)
    table_metadata.verify(metadata)
    return metadata


def encode(metadata: Metadata) -> bytes:
    """The content of a metadata file."""
    if isinstance(metadata, TableMetadata):
        return table_metadata.encode(metadata)
    return view_metadata.encode(metadata)


def kind_of(metadata: Metadata) -> Kind:
    """Whose metadata it is."""
    return Kind.TABLE if isinstance(metadata, TableMetadata) else Kind.VIEW


def _expired(old: TableMetadata, new: TableMetadata, reserved: Locations) -> list[str]:
    """Metadata files that fell out of the table's log and lie within the table.

    The log of a registered table may name files of others.
    """
    own = []
    for file in table_updates.expired_files(old, new):
        with suppress(InvalidInput):  # no location at all
            if any(is_within(file, location) for location in reserved):
                own.append(file)
    return own
