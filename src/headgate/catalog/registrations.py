"""Metadata files that somebody else wrote, on their way into a catalog."""

from headgate.catalog.entities import Kind, TableEntity
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import found_in, read_metadata
from headgate.catalog.openings import Opened
from headgate.catalog.versions import Version, read_version, verified
from headgate.limits import VERIFIED_INLINE_BYTES_MAX


async def registered_version(
    lake: Lake, opened: Opened, kind: Kind, file: str, before: TableEntity | None = None
) -> Version:
    """The version in this file, if the catalog may have it and all of it makes sense."""
    opened.check_allowed([file])
    async with lake.large.registering.taken():
        raw = await read_metadata(lake.files(opened), file)
        with found_in(file):
            if len(raw) > VERIFIED_INLINE_BYTES_MAX:
                return await lake.large.register(kind, raw, file, lake.terms(before))
            return read_version(verified(kind, raw), raw, file, before)
