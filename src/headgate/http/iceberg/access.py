"""Handlers for access to files: credentials for a client, and signatures for its requests."""

from headgate.catalog.ports import SignRequest
from headgate.catalog.tables import load_table
from headgate.errors import BadRequest
from headgate.http.iceberg.answers import credentials_json
from headgate.http.iceberg.payloads import CredentialsAnswer, SignAnswer, SignBody
from headgate.http.iceberg.service import Service, call_of, identifier_of
from headgate.http.request import Request, Response, decode, json_response


async def load_credentials(service: Service, request: Request) -> Response:
    """Fresh credentials for the files of a table."""
    call = call_of(service, request)
    identifier = await identifier_of(service, call, request, "table")
    table = await load_table(service.lake, call, identifier)
    found = await service.lake.storage.credentials(table.entity.location, write=True)
    return json_response(200, CredentialsAnswer(credentials_json(found)))


async def sign(service: Service, request: Request) -> Response:
    """Sign a request to the object store, if it stays within the table."""
    call = call_of(service, request)
    identifier = await identifier_of(service, call, request, "table")
    body = decode(request, SignBody)
    if body.provider.lower() != "s3":
        raise BadRequest(
            f"Invalid provider: {body.provider[:80]}", why="only s3 is signed", fix="Use s3"
        )
    table = await load_table(service.lake, call, identifier)
    wanted = SignRequest(body.method, body.uri, body.region, body.headers, body.body)
    signed = service.lake.storage.sign(wanted, table.entity.reserved)
    cache = "private" if signed.cacheable else "no-cache"
    answer = SignAnswer(signed.url, signed.headers)
    return json_response(200, answer, [("cache-control", cache)])
