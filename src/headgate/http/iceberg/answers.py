"""Answers that carry metadata: spliced from its bytes, never decoded and encoded again."""

import logging
import zlib
from typing import cast

import msgspec

from headgate.catalog.openings import Opened
from headgate.catalog.ports import StorageCredential
from headgate.catalog.relations import Relation
from headgate.catalog.tables import metadata_json, metadata_json_of_refs
from headgate.catalog.versions import Version
from headgate.errors import HeadgateError
from headgate.http.iceberg.delegation import (
    Representation,
    access_config,
    credential_headers,
    credentials_for,
    credentials_json,
    locations_in,
    permitted_now,
)
from headgate.http.iceberg.service import Service
from headgate.http.request import JSON_CONTENT, Response
from headgate.limits import READY_ANSWER_BYTES_MAX
from headgate.model.names import Identifier

logger = logging.getLogger(__name__)
_encode = msgspec.json.encode


async def table_answer(
    service: Service, table: Relation, identifier: Identifier, form: Representation
) -> Response:
    """A table as `loadTable` answers it, with its ETag."""
    credentials: list[StorageCredential] = []
    if form.vended:
        credentials = await credentials_for(service, locations_in(table.entity), write=form.write)
    return await _answer(service, table, identifier, form, credentials)


async def made_answer(
    service: Service, table: Relation, identifier: Identifier, form: Representation
) -> Response:
    """A table that was just made. If there are no credentials now, there are when it is loaded."""
    try:
        form = await permitted_now(service, table, identifier, form)
        return await table_answer(service, table, identifier, form)
    except HeadgateError as error:
        logger.warning("table %s was made without credentials: %s", identifier, error)
        return await _answer(service, table, identifier, form, [])


async def staged_answer(
    service: Service,
    opened: Opened,
    identifier: Identifier,
    version: Version,
    form: Representation,
) -> Response:
    """A table that is not stored yet; its creator writes the first files already."""
    credentials: list[StorageCredential] = []
    if form.vended:
        locations = locations_in(version.facts)
        credentials = await credentials_for(service, locations, write=True)
    config = access_config(
        service,
        opened.call.catalog,
        identifier,
        version.facts.location,
        form=form,
        credentials=credentials,
    )
    parts = [b'{"metadata":', version.raw, *_access(config, credentials)]
    return Response(200, parts, [JSON_CONTENT, *credential_headers(credentials)])


async def commit_answer(service: Service, table: Relation, identifier: Identifier) -> Response:
    """A table as a commit answers it."""
    location = _encode(table.entity.metadata_location)
    raw = await metadata_json(service.lake, table)
    parts = [b'{"metadata-location":', location, b',"metadata":', raw, b"}"]
    tag = etag(service, table, identifier, Representation())
    return Response(200, parts, [JSON_CONTENT, ("ETag", tag)])


async def view_answer(service: Service, view: Relation) -> Response:
    """A view."""
    location = _encode(view.entity.metadata_location)
    raw = await metadata_json(service.lake, view)
    parts = [b'{"metadata-location":', location, b',"metadata":', raw, b',"config":{}}']
    return Response(200, parts, [JSON_CONTENT])


def is_among(tag: str, sent: str) -> bool:
    """Whether an ETag is one of those that a client sent."""
    tags = {one.strip().removeprefix("W/").strip('"') for one in sent.split(",")}
    return tag.strip('"') in tags or "*" in tags


def etag(service: Service, table: Relation, identifier: Identifier, form: Representation) -> str:
    """Names a state of a table in one form.

    Credentials belong to the form while they last, and so does the name where it is told who signs.
    Of a realm it says nothing: clients compare it with others of the same path only.
    """
    storage = service.lake.storage
    vended = storage.credential_generation(table.entity.location) if form.vended else ""
    name = f"-{zlib.crc32(str(identifier).encode()):08x}" if form.signed else ""
    return f'"{table.entry.object:x}{form.letter}{vended}{name}"'


async def _answer(
    service: Service,
    table: Relation,
    identifier: Identifier,
    form: Representation,
    credentials: list[StorageCredential],
) -> Response:
    key = (form.letter, table.entry.object, table.opened.realm.id)
    is_lasting = not credentials and not form.signed
    found = service.answers.ask(key) if is_lasting else None
    body = cast("bytes | list[bytes] | None", found)
    if body is None:
        body = await _parts(service, table, identifier, form, credentials)
        size = sum(map(len, body))
        if is_lasting and size <= READY_ANSWER_BYTES_MAX:
            body = b"".join(body)
            service.answers.put(key, body, size)
    tag = ("ETag", etag(service, table, identifier, form))
    headers = [JSON_CONTENT, tag, *credential_headers(credentials)]
    return Response(200, body, headers, key=key if is_lasting else None)


async def _parts(
    service: Service,
    table: Relation,
    identifier: Identifier,
    form: Representation,
    credentials: list[StorageCredential],
) -> list[bytes]:
    raw = await (metadata_json_of_refs if form.refs else metadata_json)(service.lake, table)
    config = access_config(
        service,
        table.opened.call.catalog,
        identifier,
        table.entity.location,
        form=form,
        credentials=credentials,
    )
    return [
        b'{"metadata-location":',
        _encode(table.entity.metadata_location),
        b',"metadata":',
        raw,
        *_access(config, credentials),
    ]


def _access(config: dict[str, str], credentials: list[StorageCredential]) -> list[bytes]:
    """The end of an answer: how its files are reached."""
    parts = [b',"config":', _encode(config)]
    if credentials:
        parts += [b',"storage-credentials":', _encode(credentials_json(credentials))]
    return [*parts, b"}"]
