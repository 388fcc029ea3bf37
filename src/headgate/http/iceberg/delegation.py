"""How a client reaches the files of a table: with credentials of its own, or with signatures."""

import msgspec

from headgate.access.rules import ALTER_TABLE, LOAD_TABLE
from headgate.catalog.calls import CatalogName
from headgate.catalog.entities import TableEntity
from headgate.catalog.openings import Opened
from headgate.catalog.ports import StorageCredential
from headgate.catalog.relations import Relation, entry_of
from headgate.catalog.versions import Facts
from headgate.http.iceberg.service import Service, prefix_of
from headgate.http.request import Request
from headgate.model.locations import is_within
from headgate.model.names import Identifier
from headgate.model.wire_names import UNIT_SEPARATOR, encoded

DELEGATION = "x-iceberg-access-delegation"
VENDED, SIGNED = "vended-credentials", "remote-signing"
EXPIRES = "s3.session-token-expires-at-ms"
PRIVATE = ("cache-control", "private")  # no cache in between may hand keys to others
BY_DELEGATION = ("vary", DELEGATION)


class Representation(msgspec.Struct, frozen=True):
    """Which of its forms a table is wanted in."""

    refs: bool = False
    vended: bool = False
    signed: bool = False
    write: bool = True
    """Whether its credentials may be used to write."""

    @property
    def letter(self) -> str:
        """Tells the forms apart in an ETag."""
        letter = "abcdefgh"[self.refs + 2 * self.vended + 4 * self.signed]
        return letter if self.write else letter.upper()


def representation_of(request: Request, *, refs: bool = False) -> Representation:
    """The form a request asks for."""
    asked = request.headers.get(DELEGATION)
    if asked is None:
        return Representation(refs)
    wanted = {one.strip().lower() for one in asked.split(",")}
    return Representation(refs, VENDED in wanted, SIGNED in wanted)


async def permitted(opened: Opened, identifier: Identifier, form: Representation) -> Representation:
    """The same form, with credentials that let the caller do no more than it may."""
    if not form.vended or await opened.may(ALTER_TABLE, *identifier):
        return form
    may_read = await opened.may(LOAD_TABLE, *identifier)
    return msgspec.structs.replace(form, vended=may_read, write=False)


async def permitted_now(
    service: Service, table: Relation, identifier: Identifier, form: Representation
) -> Representation:
    """The same for a table that was made: perhaps by an earlier delivery of the request, and it
    may have another owner by now."""
    if not form.vended or not table.opened.access.is_checked:
        return form
    now = await service.lake.open(table.opened.call)
    entry = await now.look(lambda names: entry_of(names, identifier))
    if entry is None or entry.id != table.entry.id:
        return msgspec.structs.replace(form, vended=False)
    return await permitted(now, identifier, form)


async def credentials_for(
    service: Service, locations: tuple[str, ...], *, write: bool
) -> list[StorageCredential]:
    """Credentials for all that a table writes to; a server that only reads gives no more."""
    storage = service.lake.storage
    return [
        credential
        for location in locations
        for credential in await storage.credentials(location, write=write and service.is_writable)
    ]


def locations_in(table: TableEntity | Facts) -> tuple[str, ...]:
    """All locations of a table, its own one as its metadata spells it."""
    own = table.location
    return (own, *(one for one in table.reserved if not is_within(one, own)))


def credentials_json(credentials: list[StorageCredential]) -> list[dict[str, object]]:
    """Credentials as clients read them."""
    return [{"prefix": one.prefix, "config": one.config} for one in credentials]


def credential_headers(credentials: list[StorageCredential]) -> list[tuple[str, str]]:
    """The headers that every answer with credentials has besides its own."""
    return [PRIVATE, BY_DELEGATION] if credentials else []


def access_config(
    service: Service,
    catalog: CatalogName,
    identifier: Identifier,
    location: str,
    *,
    form: Representation,
    credentials: list[StorageCredential],
) -> dict[str, str]:
    """What a client has to know besides: where the store is, who renews and who signs."""
    config = dict(service.lake.storage.client_config(location))
    table = _table_path(catalog, identifier)
    if any(EXPIRES in one.config for one in credentials):
        config["client.refresh-credentials-endpoint"] = f"{table}/credentials"
    if form.signed and not credentials and location.startswith(("s3://", "s3a://", "s3n://")):
        config |= {
            "s3.remote-signing-enabled": "true",
            "s3.signer": "S3V4RestSigner",
            "s3.signer.endpoint": f"{table}/sign",
            "signer.endpoint": f"{table}/sign",
        }
    return config


def _table_path(catalog: CatalogName, identifier: Identifier) -> str:
    """The path of a table as any catalog reads it, nested or not."""
    namespace = encoded(identifier.namespace, UNIT_SEPARATOR)
    table = encoded((identifier.name,), UNIT_SEPARATOR)
    return f"v1/{prefix_of(catalog)}/namespaces/{namespace}/tables/{table}"
