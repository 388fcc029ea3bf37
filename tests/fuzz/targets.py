"""What is fuzzed without a server: readers of what clients write. Each takes any bytes, and raises
nothing but what its callers expect."""

from collections.abc import Callable, Coroutine
from functools import cache

from pyiceberg.manifest import ManifestFile

from headgate.access.objects import ObjectType
from headgate.catalog.full_names import read_full_name, write_full_name
from headgate.catalog.metadata_files import unzipped
from headgate.errors import HeadgateError, IllegalObject, InvalidInput
from headgate.http.addresses import address_group, client_address, networks_of
from headgate.http.authentication.active_roles import active_roles
from headgate.http.authentication.basic_header import basic_credentials
from headgate.http.authentication.token_endpoint import form_of
from headgate.http.compression import choose_coding
from headgate.http.origins import allowed_host, hosts_of, same_origin
from headgate.http.request import Request
from headgate.model import locations, table_metadata
from headgate.model.names import check_levels
from headgate.model.physical import path_segment, physical_name
from headgate.planning.avro_columns import columns
from headgate.planning.manifests import entries, manifest_list
from headgate.planning.reachable import Walk
from headgate.planning.table import Snapshot, parse
from headgate.storage import places
from tests.fuzz.seeds import made_table
from tests.fuzz.signed_tokens import SIGNED, readers


class OneFile:
    """A store in which every file is the same."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, _location: str) -> bytes:
        return self._data


PROXIES = networks_of(["10.0.0.0/8", "fd00::/8"], "proxies")
HOSTS = hosts_of("127.0.0.1")


def read_columns(data: bytes) -> None:
    """Paths and sizes, as purges read them: whatever is wrong, it is an exception."""
    for fields in ((100, 104), (500, 501, 504)):
        try:
            for found in columns(data, *fields):
                assert len({len(column) for column in found}) == 1
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  of any kind: a walk tells it
            continue


def read_rows(data: bytes) -> None:
    """Manifest lists and entries, as scans read them."""
    manifest = _manifest()
    for read in (
        lambda: manifest_list(OneFile(data), Snapshot(1, manifest_list="list")),
        lambda: list(entries(manifest, data)),
    ):
        try:
            read()
        except HeadgateError:
            continue


def read_metadata(data: bytes) -> None:
    """The metadata of a table, plain or packed, by all that read it."""
    try:
        plain = unzipped(data, "/x/metadata.json")
    except HeadgateError:
        return
    for read in (table_metadata.parse, parse, _walk):
        try:
            read(plain)
        except HeadgateError:
            continue


def read_locations(data: bytes) -> None:
    """Two locations, compared in all ways: one that lies in another has a key that begins so."""
    one, _, other = data.decode(errors="surrogateescape").partition("\n")
    try:
        keys = [locations.index_key(location) for location in (one, other)]
        inside = locations.is_within(one, other)
    except InvalidInput:
        return
    assert inside == keys[0].startswith(keys[1])
    assert locations.overlaps(one, other) == locations.overlaps(other, one)
    assert locations.index_key(locations.indexed(keys[0])) == keys[0]
    if places.is_location(one) and places.is_location(other):
        assert places.place_within(places.parse(one), places.parse(other)) <= inside


def read_names(data: bytes) -> None:
    """Names of namespaces: what is written of good ones is read again as the same."""
    levels = tuple(data.decode(errors="surrogateescape").split("\n"))
    try:
        check_levels(levels)
    except InvalidInput:
        return
    assert "/" not in physical_name(levels)
    assert all(path_segment(level).isascii() for level in levels)
    written = write_full_name(ObjectType.SCHEMA, ("c", *levels), ":")
    try:
        read = read_full_name(ObjectType.SCHEMA, written)
    except IllegalObject:
        return
    assert (read.catalog, read.levels(":")) == ("c", levels)


def _walk(data: bytes) -> None:
    walk = Walk(data, OneFile(data))
    for kind in (walk.data, walk.manifests, walk.lists, walk.statistics):
        for _ in kind():
            pass


def read_headers(data: bytes) -> None:
    """Headers, a query and a form of a request before anything is known of its sender."""
    lines = data.decode("latin-1").split("\n")
    authorization, roles, host, origin, forwarded, query, coding = (lines + [""] * 7)[:7]
    basic_credentials(authorization)
    allowed_host(host, HOSTS)
    same_origin(origin, host)
    address = client_address("10.0.0.1", forwarded, PROXIES)
    assert address_group(address_group(address)), "every client is counted somewhere"
    choose_coding(coding)
    form_of(data)
    for read in (lambda: active_roles(roles), lambda: Request("GET", "/", raw_query=query).query):
        try:
            read()
        except HeadgateError:
            continue


def read_tokens(data: bytes) -> None:
    """Tokens: none is accepted but those that were signed."""
    token = data.decode("latin-1")
    for read in readers():
        try:
            accepted = _outcome(read(token))
        except HeadgateError:
            continue
        assert accepted is None or token.rpartition(".")[0] in SIGNED


def _outcome(coroutine: Coroutine[None, None, object]) -> object:
    """What a coroutine returns that waits for nothing: an event loop would take too long."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


@cache
def _manifest() -> ManifestFile:
    return made_table().manifest


TARGETS: dict[str, Callable[[bytes], None]] = {
    "columns": read_columns,
    "rows": read_rows,
    "metadata": read_metadata,
    "locations": read_locations,
    "names": read_names,
    "headers": read_headers,
    "tokens": read_tokens,
}
