"""Handlers for access to files: credentials for a client, and signatures for its requests."""

from headgate.access.rules import ALTER_TABLE
from headgate.catalog.entities import Kind
from headgate.catalog.ports import SignRequest
from headgate.catalog.relations import load_relation
from headgate.errors import BadRequest
from headgate.http.iceberg.delegation import (
    credential_headers,
    credentials_for,
    credentials_json,
    locations_in,
)
from headgate.http.iceberg.payloads import CredentialsAnswer, SignAnswer, SignBody
from headgate.http.iceberg.service import Service, identifier_of, open_catalog
from headgate.http.request import Request, Response, decode, json_response


async def load_credentials(service: Service, request: Request) -> Response:
    """Fresh credentials for the files of a table."""
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "table")
    table = await load_relation(service.lake, opened, identifier, Kind.TABLE)
    write = await opened.may(ALTER_TABLE, *identifier)
    found = await credentials_for(service, locations_in(table.entity), write=write)
    return json_response(200, CredentialsAnswer(credentials_json(found)), credential_headers(found))


async def sign(service: Service, request: Request) -> Response:
    """Sign a request to the object store, if it stays within the table."""
    body = decode(request, SignBody)
    if body.provider.lower() != "s3":
        raise BadRequest(
            f"Invalid provider: {body.provider[:80]}", why="only s3 is signed", fix="Use s3"
        )
    opened = await open_catalog(service, request)
    identifier = identifier_of(service, opened, request, "table")
    table = await load_relation(service.lake, opened, identifier, Kind.TABLE)
    wanted = SignRequest(body.method, body.uri, body.region, body.headers, body.body)
    write = service.is_writable and await opened.may(ALTER_TABLE, *identifier)
    signed = service.lake.storage.sign(wanted, table.entity.reserved, write=write)
    cache = "private" if signed.cacheable else "no-cache"
    answer = SignAnswer(signed.url, signed.headers)
    return json_response(200, answer, [("cache-control", cache)])
