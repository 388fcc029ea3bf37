"""A real server as pipelines see it: nested and odd names, long lists, and who may look."""

import pickle
from collections.abc import Iterator

import pytest

from headgate.errors import Forbidden, NotAuthenticated, NotFound
from headgate.pipelines.names import TableName
from headgate.pipelines.server import Server
from headgate.testing.headgate_server import HeadgateServer

ODD = ("two words", "Käse 🧀", "x.y", "100%", "1+1", "in/out", "a&b=c?#", "`tick`")
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "int", "required": False}]}
VIEW_VERSION = {
    "version-id": 1,
    "timestamp-ms": 1,
    "schema-id": 0,
    "summary": {},
    "default-namespace": ["a"],
    "representations": [{"type": "sql", "sql": "SELECT 1 AS id", "dialect": "spark"}],
}
MANY, PAGE = 12, 5


@pytest.fixture(name="checking", scope="module")
def _checking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadgateServer]:
    """A server that believes whoever says a name, and checks rights."""
    options = ("authorization.enabled=true", "authorization.service-admins=root")
    sets = [word for one in options for word in ("--set", one)]
    with HeadgateServer(tmp_path_factory.mktemp("checking"), *sets) as server:
        yield server


def make_namespace(server: Server, *levels: str) -> None:
    server.post(f"{server.path('main')}/namespaces", {"namespace": levels})


def make_table(server: Server, namespace: tuple[str, ...], name: str) -> TableName:
    server.post(server.path("main", namespace, "tables"), {"name": name, "schema": SCHEMA})
    return TableName("main", namespace, name)


def test_every_table_is_found_whatever_its_name(headgate: Server) -> None:
    """On all levels; each can be loaded by the name it was listed under, also by a copy of the
    server somewhere else."""
    made = []
    for level, odd in enumerate(ODD):
        namespace = ("odd", *ODD[: level % 3], odd)
        for depth in range(1, len(namespace) + 1):
            if namespace[:depth] not in set(headgate.namespaces("main")):
                make_namespace(headgate, *namespace[:depth])
        made.append(make_table(headgate, namespace, odd))
    elsewhere: Server = pickle.loads(pickle.dumps(headgate))

    found = list(elsewhere.tables("main", ("odd",)))

    assert sorted(found) == sorted(made)
    for table in found:
        loaded = elsewhere.load(table, "refs")
        assert loaded.document()["location"] in loaded.metadata_location
    assert set(found) <= set(headgate.tables("main"))


def test_long_lists_are_read_to_their_end(
    headgate: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page by page; and views are beside tables."""
    monkeypatch.setattr("headgate.pipelines.server.PAGE_ENTRIES", PAGE)
    make_namespace(headgate, "many")
    for number in range(MANY):
        make_namespace(headgate, "many", f"n{number:04}")
    make_table(headgate, ("many", "n0011"), "last")
    view = {"name": "v", "schema": SCHEMA | {"schema-id": 0}, "view-version": VIEW_VERSION}
    headgate.post(headgate.path("main", ("many", "n0011"), "views"), view | {"properties": {}})

    below = list(headgate.namespaces("main", ("many",)))

    assert len(below) == MANY
    assert below[-1] == ("many", "n0011")
    assert list(headgate.views("main", below[-1])) == [TableName("main", below[-1], "v")]
    assert list(headgate.tables("main", below[-1])) == [TableName("main", below[-1], "last")]


def test_a_catalog_tells_where_its_tables_lie(headgate: Server, server: HeadgateServer) -> None:
    """The first one is there from the beginning, in the metalake that is the default."""
    [first] = headgate.catalogs()

    assert (headgate.metalake, first.name) == ("default", "main")
    assert first.location.endswith(str(server.warehouse))
    assert headgate.catalog("main") == first
    with pytest.raises(NotFound):
        headgate.catalog("nothing")


def test_nobody_sees_more_than_its_rights_allow(checking: HeadgateServer) -> None:
    """The admin sees all; somebody else is refused, or sees nothing."""
    admin, other = Server(checking.url, user="root"), Server(checking.url, user="ann")
    make_namespace(admin, "a")
    table = make_table(admin, ("a",), "t")

    assert list(admin.tables("main")) == [table]
    with pytest.raises((Forbidden, NotFound)):
        list(other.tables("main"))
    with pytest.raises((Forbidden, NotFound)):
        Server(checking.url, user="ann", metalake="default").catalogs()


def test_who_cannot_say_who_it_is_is_told_how(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Without a password, and with a token that is none."""
    methods = ("--set", "authentication.methods=basic,token")
    with HeadgateServer(tmp_path_factory.mktemp("closed"), *methods) as closed:
        for server in (Server(closed.url), Server(closed.url, token="none")):
            with pytest.raises(NotAuthenticated) as refused:
                server.catalogs()
            assert "HEADGATE_TOKEN" in str(refused.value)
            assert "\n" not in str(refused.value)
