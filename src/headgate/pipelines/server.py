"""A Headgate server as pipelines see it: HTTP, with the rights of whoever runs the pipeline."""

import base64
import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

import msgspec

from headgate.errors import BadSetting, NamespaceNotFound, NotFound
from headgate.limits import PAGE_ENTRIES
from headgate.pipelines.names import TableName
from headgate.pipelines.sending import Sender

if TYPE_CHECKING:
    from requests import Response

DELEGATION = "X-Iceberg-Access-Delegation"
VENDED = "vended-credentials"
LOCATION = "headgate.location"  # the property of a catalog that tells where its tables lie
ICEBERG = "lakehouse-iceberg"  # the provider of catalogs that have tables of Iceberg


class CatalogInfo(msgspec.Struct, frozen=True):
    """A catalog that the caller may use."""

    name: str
    provider: str = ""
    properties: dict[str, str] = {}

    @property
    def location(self) -> str:
        """Where its tables lie, unless they say otherwise."""
        return self.properties.get(LOCATION, "")

    @property
    def is_iceberg(self) -> bool:
        """Whether its tables, if any, are Iceberg's."""
        return self.provider == ICEBERG


class Credential(msgspec.Struct, frozen=True):
    """Keys for files below a prefix."""

    prefix: str
    config: dict[str, str]

    def __repr__(self) -> str:
        return f"Credential({self.prefix!r})"


class LoadedTable(msgspec.Struct, frozen=True):
    """A table as it is now."""

    name: TableName
    metadata: bytes
    """JSON, as it lies in the file."""
    metadata_location: str
    config: dict[str, str] = {}
    credentials: tuple[Credential, ...] = ()

    def document(self) -> dict[str, Any]:
        """The metadata, decoded."""
        document: dict[str, Any] = msgspec.json.decode(self.metadata)
        return document


class _TableAnswer(msgspec.Struct, rename="kebab"):
    metadata: msgspec.Raw
    metadata_location: str | None = None
    config: dict[str, str] = {}
    storage_credentials: list[Credential] = []


class _Catalogs(msgspec.Struct):
    catalogs: list[CatalogInfo]


class _Wire(msgspec.Struct, frozen=True):
    """How the names of a catalog are written in paths."""

    prefix: str
    separator: str


class Server:
    """One server. It can be pickled: executors make connections of their own."""

    def __init__(
        self, url: str, *, token: str = "", user: str = "", password: str = "", metalake: str = ""
    ) -> None:
        self.url = _checked(url)
        self.user = user
        self._metalake = metalake
        self._authorization = _authorization(token, user, password)
        self._sender = Sender(self.url, self._authorization)
        self._wires: dict[str, _Wire] = {}

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_sender": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._sender = Sender(self.url, self._authorization)

    @property
    def iceberg_url(self) -> str:
        """The base that Iceberg's clients are given."""
        return f"{self.url}/iceberg"

    @property
    def authorization(self) -> str:
        """The header that says who asks; empty if nobody does. It is a secret."""
        return self._authorization

    @property
    def metalake(self) -> str:
        """The metalake that was chosen, else the server's default one, else the only one."""
        if not self._metalake:
            self._metalake = self._default_metalake()
        return self._metalake

    def get(self, path: str, **query: str) -> Any:  # noqa: ANN401  any JSON
        """What is at a path from the server's root."""
        return _decoded(self._sender.send("GET", path, query=query))

    def post(self, path: str, body: object | None = None) -> Any:  # noqa: ANN401  any JSON
        """Send a body; the answer, None if it is empty."""
        return _decoded(self._sender.send("POST", path, body=body))

    def put(self, path: str, body: object | None = None) -> Any:  # noqa: ANN401  any JSON
        """The same with PUT."""
        return _decoded(self._sender.send("PUT", path, body=body))

    def delete(self, path: str, **query: str) -> Any:  # noqa: ANN401  any JSON
        """The same with DELETE, without a body."""
        return _decoded(self._sender.send("DELETE", path, query=query))

    def ask(self, method: str, path: str, body: object | None = None) -> bytes:
        """Any request; the bytes of its answer."""
        return self._sender.send(method, path, body=body).content

    def catalogs(self) -> list[CatalogInfo]:
        """The catalogs of the metalake that the caller may use and that have tables of Iceberg."""
        path = f"/api/metalakes/{quote(self.metalake, safe='')}/catalogs"
        answer = self._sender.send("GET", path, query={"details": "true"})
        found = msgspec.json.decode(answer.content, type=_Catalogs).catalogs
        return [one for one in found if one.is_iceberg]

    def catalog(self, name: str) -> CatalogInfo:
        """One catalog."""
        path = f"/api/metalakes/{quote(self.metalake, safe='')}/catalogs/{quote(name, safe='')}"
        return msgspec.convert(self.get(path)["catalog"], CatalogInfo)

    def warehouse(self, catalog: str) -> str:
        """What Iceberg's clients name a catalog by."""
        return f"{self._metalake}.{catalog}" if self._metalake else catalog

    def namespaces(self, catalog: str, below: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        """All namespaces of a catalog, each before those in it; what goes meanwhile is left out."""
        path = f"{self.path(catalog)}/namespaces"
        query = {"parent": _unquoted(self._wire(catalog), below)} if below else {}
        for levels in self._pages(path, "namespaces", query):
            yield tuple(levels)
            with suppress(NamespaceNotFound):
                yield from self.namespaces(catalog, tuple(levels))

    def tables(self, catalog: str, below: tuple[str, ...] = ()) -> Iterator[TableName]:
        """All tables of a catalog that the caller may see, or those in a namespace and below."""
        return self._relations(catalog, below, "tables")

    def views(self, catalog: str, below: tuple[str, ...] = ()) -> Iterator[TableName]:
        """The same of views."""
        return self._relations(catalog, below, "views")

    def load(
        self, table: TableName, snapshots: str = "all", *, credentials: bool = False
    ) -> LoadedTable:
        """A table, with keys to its files if they are wanted and the server hands them out."""
        headers = {DELEGATION: VENDED} if credentials else {}
        path = self.path(table.catalog, table.namespace, "tables", table.name)
        sent = self._sender.send("GET", path, query={"snapshots": snapshots}, headers=headers)
        answer = msgspec.json.decode(sent.content, type=_TableAnswer)
        return LoadedTable(
            table,
            bytes(answer.metadata),
            answer.metadata_location or "",
            answer.config,
            tuple(answer.storage_credentials),
        )

    def path(
        self, catalog: str, namespace: tuple[str, ...] = (), kind: str = "", name: str = ""
    ) -> str:
        """Where something of a catalog is in Iceberg's protocol: `tables` or `views` are kinds."""
        wire = self._wire(catalog)
        path = f"/iceberg/v1/{wire.prefix}"
        if namespace:
            levels = wire.separator.join(quote(level, safe="") for level in namespace)
            path += f"/namespaces/{levels}"
        if kind:
            path += f"/{kind}"
        return f"{path}/{quote(name, safe='')}" if name else path

    def _relations(self, catalog: str, below: tuple[str, ...], kind: str) -> Iterator[TableName]:
        own = (below,) if below else ()
        for namespace in itertools.chain(own, self.namespaces(catalog, below)):
            path = self.path(catalog, namespace, kind)
            with suppress(NamespaceNotFound):
                for one in self._pages(path, "identifiers", {}):
                    yield TableName(catalog, namespace, one["name"])

    def _pages(self, path: str, member: str, query: dict[str, str]) -> Iterator[Any]:
        """The entries of a list, page by page."""
        token: str | None = ""
        while token is not None:
            page = self.get(path, pageToken=token, pageSize=str(PAGE_ENTRIES), **query)
            yield from page[member]
            token = page.get("next-page-token") or None

    def _wire(self, catalog: str) -> _Wire:
        if catalog not in self._wires:
            config = self.get("/iceberg/v1/config", warehouse=self.warehouse(catalog))
            told = {**config.get("defaults", {}), **config.get("overrides", {})}
            separator = told.get("namespace-separator", "%1F")
            self._wires[catalog] = _Wire(told.get("prefix", catalog), separator)
        return self._wires[catalog]

    def _default_metalake(self) -> str:
        with suppress(NotFound):  # the first catalog was dropped
            prefix = self.get("/iceberg/v1/config")["overrides"]["prefix"]
            return str(prefix).rpartition(".")[0]
        names = [one["name"] for one in self.get("/api/metalakes")["metalakes"]]
        if len(names) != 1:
            raise BadSetting(
                "it is not clear which metalake is meant",
                why=f"{len(names)} are there for you",
                fix="Name one with --metalake",
            )
        return str(names[0])


def _decoded(answer: "Response") -> Any:  # noqa: ANN401  any JSON
    return msgspec.json.decode(answer.content) if answer.content else None


def _unquoted(wire: _Wire, levels: tuple[str, ...]) -> str:
    """A namespace as the value of a parameter, which is quoted when it is sent."""
    return unquote(wire.separator).join(levels)


def _checked(url: str) -> str:
    """The address without what does not belong to it."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits or parts.username is not None or parts.query or parts.fragment:
        raise BadSetting(
            "the address of the server cannot be used",
            why="it is not of the form http://HOST:PORT",
            fix="Correct --server",
        )
    return url.rstrip("/").removesuffix("/iceberg")


def _authorization(token: str, user: str, password: str) -> str:
    if token:
        return f"Bearer {token}"
    if not user:
        return ""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
