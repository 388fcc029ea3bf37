"""Tables that are dropped with purge, and that nobody works on."""

from headgate.catalog.entities import Kind
from headgate.catalog.purging import PurgeTerms, record_purge
from headgate.catalog.relations import drop_relation
from headgate.http.request import Request
from headgate.http.router import Match, Router
from headgate.kernel.draft import Draft
from headgate.model.names import Identifier
from tests.unit.catalog.lakes import CATALOG, METALAKE, Node

HOUR_MS = 3_600_000


async def drop(node: Node, name: str = "t", grace_ms: int = HOUR_MS, catalog: str = CATALOG) -> int:
    """Drop a table of the namespace `a`; the id of its purge job."""
    opened = await node.opened(catalog)
    identifier = Identifier(("a",), name)
    terms = PurgeTerms(grace_ms=grace_ms)

    def attempt(draft: Draft) -> int:
        entry = drop_relation(draft, opened.call, identifier, Kind.TABLE, None, purge=True)
        return record_purge(draft, opened.call, identifier, entry, terms)

    return await opened.realm.commit(opened.pointer, attempt)


async def loaded(node: Node, name: str = "t", namespace: str = "a") -> tuple[bytes, str]:
    """The answer to loading a table, byte for byte, and its ETag."""
    path = f"/v1/{METALAKE}.{CATALOG}/namespaces/{namespace}/tables/{name}"
    match = Router([node.surface]).match("GET", path)
    assert isinstance(match, Match)
    response = await match.route.handler(node.service, Request("GET", path, match.params))
    body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    return body, {key.lower(): value for key, value in response.headers}["etag"]
