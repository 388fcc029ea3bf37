"""Metadata files that somebody else wrote, on their way into a catalog."""

from headgate.catalog.entities import Kind
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import found_in, read_metadata
from headgate.catalog.openings import Opened
from headgate.catalog.own_places import check_locations
from headgate.catalog.relations import Relation
from headgate.catalog.versions import Version, read_version, verified
from headgate.errors import FileMissing
from headgate.limits import VERIFIED_INLINE_BYTES_MAX
from headgate.model.locations import is_within
from headgate.model.names import Levels


async def registered_version(
    lake: Lake,
    opened: Opened,
    kind: Kind,
    namespace: Levels,
    file: str,
    before: Relation | None = None,
) -> Version:
    """The version in this file, if the catalog may have it and all of it makes sense.

    Storage is asked last: whether there is such a file is told only where the caller may register
    files, which is in the locations of the schema, outside of those that others hold there.
    """
    await _check_place(lake, opened, namespace, file, before)
    held = before.entity if before else None
    async with lake.large.registering.taken(opened.call.tenant):
        raw = await _read(lake, opened, file)
        with found_in(file):
            if len(raw) > VERIFIED_INLINE_BYTES_MAX:
                terms, tenant = lake.terms(held), opened.call.tenant
                return await lake.large.register(kind, raw, file, terms, tenant)
            return read_version(verified(kind, raw), raw, file, held)


async def _read(lake: Lake, opened: Opened, file: str) -> bytes:
    try:
        return await read_metadata(lake.files(opened), file)
    except FileMissing as error:
        if error.fix:
            raise
        raise FileMissing(
            error.what,  # what Iceberg says: clients look for it
            why="there is no such file",
            fix="Name the newest metadata file of the table or view, as in "
            "LOCATION/metadata/00001-UUID.metadata.json",
        ) from error


async def _check_place(
    lake: Lake, opened: Opened, namespace: Levels, file: str, before: Relation | None
) -> None:
    """Refuse a file where the caller may let no table or view of this schema lie."""
    held = before.entity.reserved if before else ()
    if any(is_within(file, location) for location in held):
        opened.check_allowed([file], lake.options.can_be_allowed)
        return
    holding = before.holding if before else None
    await check_locations(lake, opened, namespace, (file,), holding)
