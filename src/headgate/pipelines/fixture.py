"""Much of everything, to see what scale does: files, namespaces, grants. It needs no Spark.

All of it has names that follow from how much is wanted. So whatever is there is left as it is, and
a run that was killed is gone on with by the next one.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from headgate.clock import SystemClock
from headgate.errors import AlreadyExists, BadRequest, BadSetting, TableNotFound, Unsupported
from headgate.limits import OBJECTS_PER_REQUEST_MAX
from headgate.model.wire_names import UNIT_SEPARATOR
from headgate.pipelines.fixtures.kinds import CONTENT, kind_of
from headgate.pipelines.names import TableName
from headgate.pipelines.reporting import Report, Stage
from headgate.pipelines.server import LoadedTable, Server
from headgate.pipelines.storage import table_storage
from headgate.storage.places import parse
from headgate.storage.stores import open_store

if TYPE_CHECKING:
    from headgate.pipelines.fixtures.places import Files, Place
    from headgate.pipelines.fixtures.table import Made

SCHEMA = "fixtures"
"""The namespace that all of it is in."""
SIBLINGS = 100  # namespaces in one
SENDERS = 8
GRANTS_PER_ROLE = OBJECTS_PER_REQUEST_MAX // 4
USE = {"name": "USE_SCHEMA", "condition": "ALLOW"}

T = TypeVar("T")


class Wanted(msgspec.Struct, frozen=True):
    """How much of what."""

    files: int = 0
    namespaces: int = 0
    grants: int = 0
    name: str = ""
    """Of the table; empty: after the number of its files."""
    version: int = 2
    """Of the table's format."""


class FixtureSummary(msgspec.Struct):
    """What is there now."""

    table: str = ""
    location: str = ""
    files: int = 0
    size_bytes: int = 0
    rows: int = 0
    """That a reader finds."""
    namespaces: int = 0
    roles: int = 0
    grants: int = 0
    took_seconds: float = 0.0


def run(
    wanted: Wanted, server: Server, catalog: str, storage: dict[str, str], report: Report
) -> FixtureSummary:
    """Make what is not there yet."""
    clock = SystemClock()
    began = clock.seconds()
    summary = FixtureSummary()
    if wanted.grants:
        _check_rights(server)
    _make_namespace(server, catalog, (SCHEMA,))
    if wanted.files:
        with report.stage("files", wanted.files) as stage:
            _fill_in(summary, _table(wanted, server, catalog, storage, stage))
    if wanted.namespaces:
        with report.stage("namespaces", wanted.namespaces) as stage:
            _all_of(
                namespaces(wanted.namespaces),
                lambda levels: _make_namespace(server, catalog, levels),
                stage,
                1,
            )
            summary.namespaces = wanted.namespaces
    if wanted.grants:
        with report.stage("grants", wanted.grants) as stage:
            chosen = roles(catalog, wanted)
            summary.roles = len(chosen)
            summary.grants = sum(len(role["securableObjects"]) for role in chosen)
            for role in chosen:
                _make_role(server, role)
                stage.advance(rows=len(role["securableObjects"]))
    summary.took_seconds = clock.seconds() - began
    return summary


def namespaces(count: int) -> Iterator[tuple[str, ...]]:
    """So many namespaces of the third level, each below one of the second."""
    for number in range(count):
        yield SCHEMA, f"n{number // SIBLINGS:05}", f"n{number:07}"


def roles(catalog: str, wanted: Wanted) -> list[dict[str, Any]]:
    """Roles with so many rights together, on as many namespaces as there are."""
    places = list(namespaces(wanted.namespaces)) or [(SCHEMA,)]
    rights = [_right(catalog, levels) for levels in places]
    many = min(GRANTS_PER_ROLE, len(rights))
    made = []
    for number, start in enumerate(range(0, wanted.grants, many)):
        count, first = min(many, wanted.grants - start), start % len(rights)
        chosen = (rights * 2)[first : first + count]
        name = f"{SCHEMA}-{catalog}-{len(rights)}-{number:05}"
        made.append({"name": name, "properties": {}, "securableObjects": chosen})
    return made


def _right(catalog: str, levels: tuple[str, ...]) -> dict[str, Any]:
    full = UNIT_SEPARATOR.join((catalog, *levels))
    return {"type": "SCHEMA", "fullName": full, "privileges": [USE]}


def _make_namespace(server: Server, catalog: str, levels: tuple[str, ...]) -> None:
    with suppress(AlreadyExists):
        server.post(f"{server.path(catalog)}/namespaces", {"namespace": levels})


def _check_rights(server: Server) -> None:
    """Refuse grants where nobody has rights, before anything is made."""
    try:
        server.get(_roles(server))
    except Unsupported as error:
        raise Unsupported(
            "grants cannot be made",
            why="the server has no roles: authorization is off",
            fix="Start it with authorization.enabled=true, or leave --grants out",
        ) from error


def _make_role(server: Server, role: dict[str, Any]) -> None:
    with suppress(AlreadyExists):  # with all its rights: it was made by one commit
        server.post(_roles(server), role)


def _roles(server: Server) -> str:
    return f"/api/metalakes/{quote(server.metalake, safe='')}/roles"


def _table(
    wanted: Wanted, server: Server, catalog: str, storage: dict[str, str], stage: Stage
) -> "Made":
    """The table, with all its files; one that was left halfway is gone on with."""
    tables = _loaded("table")
    name = TableName(catalog, (SCHEMA,), wanted.name or f"files_{wanted.files}")
    try:
        found = server.load(name, credentials=True)
    except TableNotFound:
        body = tables.new_table(name.name, wanted.files, wanted.version)
        server.post(server.path(catalog, name.namespace, "tables"), body)
        found = server.load(name, credentials=True)
    metadata = found.document()
    if metadata.get("properties", {}).get(tables.FILES) != str(wanted.files):
        raise BadRequest(
            f"{name} is another table",
            why=f"it was not made with {wanted.files:,} files",
            fix="Choose another name with --name",
        )
    place = _Counted(_place(found, metadata["location"], storage), stage)
    path = server.path(catalog, name.namespace, "tables", name.name)
    made: Made = tables.fill(server, path, metadata, place)
    return made


def _place(table: LoadedTable, location: str, storage: dict[str, str]) -> "Place":
    """Where its files are written, with the keys that there are for it."""
    places, where = _loaded("places"), parse(location)
    made: Place
    if where.kind == "file":
        made = places.LocalPlace()
        return made
    options = table_storage(table, storage)
    chosen = {"s3": options.s3, "gcs": options.gcs, "azure": options.azure}[where.kind]
    if chosen is None:
        raise BadSetting(
            f"{location} cannot be written to",
            why="the server hands out no keys, and none were given",
            fix="Give them with --storage, as s3.access-key-id=…",
        )
    made = places.ObjectPlace(where.root, open_store(chosen, where.bucket, SystemClock()))
    return made


class _Counted:
    """A place whose files are told."""

    def __init__(self, place: "Place", stage: Stage) -> None:
        self._place = place
        self._stage = stage

    def write(self, files: "Files") -> None:
        self._place.write(self._told(files))

    def _told(self, files: "Files") -> "Files":
        for location, data in files:
            yield location, data
            is_wanted = kind_of(location) in CONTENT  # what leads to them comes on top
            self._stage.advance(files=1 if is_wanted else 0, bytes=len(data))


def _fill_in(summary: FixtureSummary, made: "Made") -> None:
    summary.table = made.path.rpartition("/")[2]
    summary.location = made.location
    summary.files = made.files
    summary.size_bytes = made.bytes
    summary.rows = made.rows


def _all_of(things: Iterable[T], make: Callable[[T], None], stage: Stage, rows: int) -> None:
    """Make all of these, several at once; not more are remembered than are under way."""
    rest = iter(things)
    with ThreadPoolExecutor(SENDERS) as pool:
        while some := list(islice(rest, SENDERS * 32)):
            for _ in pool.map(make, some):
                stage.advance(rows=rows)


def _loaded(name: str) -> Any:  # noqa: ANN401  a module
    """A part that needs pyarrow, which is not there for everybody."""
    try:
        return import_module(f"headgate.pipelines.fixtures.{name}")
    except ImportError as error:
        raise Unsupported(
            "the fixture cannot be made",
            why=f"{error.name} is not installed",
            fix="Run pip install 'headgate[spark]', or '.[spark]' in a clone",
        ) from error
