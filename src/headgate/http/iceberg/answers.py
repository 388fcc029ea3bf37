"""Answers that carry metadata: spliced from its bytes, never decoded and encoded again."""

import zlib

import msgspec

from headgate.catalog.new_tables import Staged
from headgate.catalog.ports import StorageCredential
from headgate.catalog.relations import Relation
from headgate.catalog.tables import table_json, table_json_of_refs
from headgate.catalog.views import view_json
from headgate.http.iceberg.service import Service, prefix_of
from headgate.http.request import JSON_CONTENT, Request, Response
from headgate.model import table_metadata
from headgate.model.names import Identifier
from headgate.model.wire_names import encoded

DELEGATION = "x-iceberg-access-delegation"
VENDED, SIGNED = "vended-credentials", "remote-signing"
_encode = msgspec.json.encode


class Representation(msgspec.Struct, frozen=True):
    """Which of its forms a table is wanted in."""

    refs: bool = False
    vended: bool = False
    signed: bool = False

    @property
    def letter(self) -> str:
        """Tells the forms apart in an ETag."""
        return "abcdefgh"[self.refs + 2 * self.vended + 4 * self.signed]


def representation_of(request: Request, *, refs: bool = False) -> Representation:
    """The form a request asks for."""
    asked = request.headers.get(DELEGATION)
    if asked is None:
        return Representation(refs)
    wanted = {one.strip().lower() for one in asked.split(",")}
    return Representation(refs, VENDED in wanted, SIGNED in wanted)


async def table_answer(
    service: Service, table: Relation, identifier: Identifier, form: Representation
) -> Response:
    """A table as `loadTable` answers it, with its ETag."""
    credentials = await _credentials(service, table, form)
    signing = _signing(service, table, identifier) if form.signed and not credentials else {}
    key = (form.letter, table.entry.object)
    lasting = not credentials and not signing
    body = service.answers.find(key) if lasting else None
    if body is None:
        body = await _table_body(service, table, form, credentials, signing)
        if lasting:
            service.answers.put(key, body, len(body))
    assert isinstance(body, bytes)
    headers = [JSON_CONTENT, ("ETag", etag(service, table, identifier, form))]
    return Response(200, body, headers)


def is_among(tag: str, sent: str) -> bool:
    """Whether an ETag is one of those that a client sent."""
    tags = {one.strip().removeprefix("W/").strip('"') for one in sent.split(",")}
    return tag.strip('"') in tags or "*" in tags


def etag(service: Service, table: Relation, identifier: Identifier, form: Representation) -> str:
    """Names a state of a table in one form.

    Credentials belong to the form while they last, and so does the name where it is told who signs.
    """
    storage = service.lake.storage
    vended = storage.credential_generation(table.entity.location) if form.vended else ""
    name = f"-{zlib.crc32(str(identifier).encode()):08x}" if form.signed else ""
    return f'"{table.entry.object:x}{form.letter}{vended}{name}"'


def staged_answer(service: Service, staged: Staged) -> Response:
    """A table that is not stored yet."""
    config = service.lake.storage.client_config(staged.metadata.location)
    raw = table_metadata.encode(staged.metadata)
    body = b'{"metadata":%b,"config":%b}' % (raw, _encode(config))
    return Response(200, body, [JSON_CONTENT])


async def commit_answer(service: Service, table: Relation, identifier: Identifier) -> Response:
    """A table as a commit answers it."""
    location = _encode(table.entity.metadata_location)
    raw = await table_json(service.lake, table)
    body = b"".join((b'{"metadata-location":', location, b',"metadata":', raw, b"}"))
    tag = etag(service, table, identifier, Representation())
    return Response(200, body, [JSON_CONTENT, ("ETag", tag)])


async def view_answer(service: Service, view: Relation) -> Response:
    """A view."""
    location = _encode(view.entity.metadata_location)
    raw = await view_json(service.lake, view)
    body = b'{"metadata-location":%b,"metadata":%b,"config":{}}' % (location, raw)
    return Response(200, body, [JSON_CONTENT])


def credentials_json(credentials: list[StorageCredential]) -> list[dict[str, object]]:
    """Credentials as clients read them."""
    return [{"prefix": one.prefix, "config": one.config} for one in credentials]


async def _table_body(
    service: Service,
    table: Relation,
    form: Representation,
    credentials: list[StorageCredential],
    signing: dict[str, str],
) -> bytes:
    lake = service.lake
    raw = await (table_json_of_refs if form.refs else table_json)(lake, table)
    config = lake.storage.client_config(table.entity.location) | signing
    parts = [
        b'{"metadata-location":',
        _encode(table.entity.metadata_location),
        b',"metadata":',
        raw,
        b',"config":',
        _encode(config),
    ]
    if credentials:
        parts += [b',"storage-credentials":', _encode(credentials_json(credentials))]
    return b"".join((*parts, b"}"))


async def _credentials(
    service: Service, table: Relation, form: Representation
) -> list[StorageCredential]:
    if not form.vended:
        return []
    return await service.lake.storage.credentials(table.entity.location, write=True)


def _signing(service: Service, table: Relation, identifier: Identifier) -> dict[str, str]:
    """Where a client has its requests to the object store signed."""
    if not table.entity.location.startswith(("s3://", "s3a://", "s3n://")):
        return {}
    prefix = prefix_of(table.opened.call.catalog)
    separator = service.lake.options.separator
    namespace = encoded(identifier.namespace, separator)
    table_name = encoded((identifier.name,), separator)
    path = f"v1/{prefix}/namespaces/{namespace}/tables/{table_name}/sign"
    return {
        "s3.remote-signing-enabled": "true",
        "s3.signer": "S3V4RestSigner",
        "s3.signer.endpoint": path,
        "signer.endpoint": path,
    }
