"""Metalakes, catalogs and schemas through Gravitino's official client."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from gravitino import (
    Catalog,
    GravitinoAdminClient,
    GravitinoClient,
    MetalakeChange,
    SchemaChange,
)
from gravitino.api.catalog_change import CatalogChange
from gravitino.exceptions.base import (
    CatalogAlreadyExistsException,
    CatalogInUseException,
    CatalogNotInUseException,
    ForbiddenException,
    IllegalArgumentException,
    MetalakeAlreadyExistsException,
    MetalakeInUseException,
    MetalakeNotInUseException,
    NonEmptySchemaException,
    NoSuchCatalogException,
    NoSuchMetalakeException,
    NoSuchSchemaException,
    NotEmptyException,
    SchemaAlreadyExistsException,
    UnsupportedOperationException,
)
from pyiceberg.catalog.rest import RestCatalog

from headgate.testing.headgate_server import HeadgateServer

ICEBERG = "lakehouse-iceberg"
_numbers = itertools.count(1)


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadgateServer]:
    """One server for a module, with its defaults."""
    with HeadgateServer(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(name="admin", scope="module")
def _admin(server: HeadgateServer) -> Any:
    """A client that checks the server's version first."""
    return GravitinoAdminClient(uri=server.url)


@pytest.fixture(name="lake")
def _lake(server: HeadgateServer, admin: Any) -> Any:
    """A client of a metalake of its own."""
    name = f"lake{next(_numbers)}"
    admin.create_metalake(name, "", {})
    return GravitinoClient(uri=server.url, metalake_name=name)


@pytest.fixture(name="tables")
def _tables(lake: Any) -> Any:
    """An Iceberg catalog."""
    return lake.create_catalog("tables", Catalog.Type.RELATIONAL, ICEBERG, "", {})


@pytest.fixture(name="files")
def _files(lake: Any) -> Any:
    """A fileset catalog."""
    return lake.create_catalog("files", Catalog.Type.FILESET, "hadoop", "papers", {"k": "v"})


def test_the_client_agrees_with_the_version(admin: Any) -> None:
    """Or it would not work at all."""
    assert admin.get_server_version().version() == "1.3.1"


def test_a_client_can_be_closed(server: HeadgateServer) -> None:
    """It says so to the server."""
    GravitinoAdminClient(uri=server.url).close()


def test_a_metalake_is_created_loaded_and_listed(admin: Any) -> None:
    """Created, it shows what was sent; loaded, also that it is in use."""
    made = admin.create_metalake("shop", "things", {"a": "1"})
    loaded = admin.load_metalake("shop")

    assert (made.name(), made.comment(), made.properties()) == ("shop", "things", {"a": "1"})
    assert loaded.properties() == {"a": "1", "in-use": "true"}
    assert made.audit_info().creator() == loaded.audit_info().creator() == "anonymous"
    assert "shop" in [one.name() for one in admin.list_metalakes()]
    with pytest.raises(MetalakeAlreadyExistsException):
        admin.create_metalake("shop", "", {})


def test_a_metalake_is_altered(admin: Any) -> None:
    """By all changes that there are."""
    admin.create_metalake("old", "things", {"a": "1"})
    changed = admin.alter_metalake(
        "old",
        MetalakeChange.rename("new"),
        MetalakeChange.update_comment("others"),
        MetalakeChange.set_property("b", "2"),
        MetalakeChange.remove_property("a"),
    )

    assert (changed.name(), changed.comment()) == ("new", "others")
    assert changed.properties() == {"b": "2", "in-use": "true"}
    with pytest.raises(NoSuchMetalakeException):
        admin.load_metalake("old")


def test_a_metalake_is_dropped_when_it_is_disabled(admin: Any) -> None:
    """In between nothing in it is served."""
    admin.create_metalake("brief", "", {})
    with pytest.raises(MetalakeInUseException):
        admin.drop_metalake("brief")
    admin.disable_metalake("brief")
    with pytest.raises(MetalakeNotInUseException):
        admin.alter_metalake("brief", MetalakeChange.update_comment("x"))
    admin.enable_metalake("brief")
    admin.alter_metalake("brief", MetalakeChange.update_comment("x"))
    admin.disable_metalake("brief")

    assert admin.drop_metalake("brief") is True
    assert admin.drop_metalake("brief", force=True) is False


def test_a_metalake_is_dropped_by_force_with_its_catalogs(
    admin: Any, lake: Any, files: Any
) -> None:
    """And one of the same name is another one."""
    name = lake.get_metalake().name()
    admin.disable_metalake(name)
    with pytest.raises(NotEmptyException):
        admin.drop_metalake(name)

    assert admin.drop_metalake(name, force=True) is True
    admin.create_metalake(name, "", {})
    assert lake.list_catalogs() == []


def test_a_catalog_is_created_loaded_and_listed(lake: Any, files: Any) -> None:
    """With exactly the properties that were sent, and that it is in use."""
    loaded = lake.load_catalog("files")

    for one in (files, loaded, *lake.list_catalogs_info()):
        assert (one.name(), one.provider(), one.comment()) == ("files", "fileset", "papers")
        assert one.type() == Catalog.Type.FILESET
        assert one.properties() == {"k": "v", "in-use": "true"}
    assert lake.list_catalogs() == ["files"]
    with pytest.raises(CatalogAlreadyExistsException):
        lake.create_catalog("files", Catalog.Type.MODEL, None, "", {})
    with pytest.raises(NoSuchCatalogException):
        lake.load_catalog("none")


def test_catalogs_of_every_type_can_be_created(lake: Any) -> None:
    """The client has a class for each."""
    lake.create_catalog("models", Catalog.Type.MODEL, None, "", {})
    lake.create_catalog("hive", Catalog.Type.RELATIONAL, "hive", "", {})

    assert lake.list_catalogs() == ["hive", "models"]
    hive = lake.load_catalog("hive")
    assert hive.properties()["headgate.metadata-only"] == "true"


def test_a_catalog_is_altered(lake: Any, files: Any) -> None:
    """By all changes that there are."""
    changed = lake.alter_catalog(
        "files",
        CatalogChange.rename("papers"),
        CatalogChange.update_comment("others"),
        CatalogChange.set_property("b", "2"),
        CatalogChange.remove_property("k"),
    )

    assert (changed.name(), changed.comment()) == ("papers", "others")
    assert changed.properties() == {"b": "2", "in-use": "true"}
    assert lake.list_catalogs() == ["papers"]


def test_a_catalog_is_dropped_when_it_is_disabled(lake: Any, files: Any) -> None:
    """In between it is not served."""
    with pytest.raises(CatalogInUseException):
        lake.drop_catalog("files")
    lake.disable_catalog("files")
    with pytest.raises(CatalogNotInUseException):
        files.as_schemas().list_schemas()
    with pytest.raises(CatalogNotInUseException):
        lake.alter_catalog("files", CatalogChange.update_comment("x"))
    lake.enable_catalog("files")
    assert files.as_schemas().list_schemas() == []

    assert lake.drop_catalog("files", force=True) is True
    assert lake.drop_catalog("files") is False


def test_a_connection_is_tested(lake: Any, tables: Any) -> None:
    """Of a catalog that is there, perhaps with changes."""
    lake.test_connection("tables")
    lake.test_connection("tables", CatalogChange.set_property("a", "b"))
    with pytest.raises(NoSuchCatalogException):
        lake.test_connection("none")
    lake.disable_catalog("tables")
    with pytest.raises(CatalogNotInUseException):
        lake.test_connection("tables")


def test_a_place_is_not_the_clients_to_choose(lake: Any) -> None:
    """Unless the operator allows it."""
    with pytest.raises(IllegalArgumentException, match="not allowed"):
        lake.create_catalog("etc", Catalog.Type.RELATIONAL, ICEBERG, "", {"warehouse": "/etc"})


def test_a_schema_is_created_loaded_altered_and_dropped(tables: Any) -> None:
    """All that a schema can do."""
    schemas = tables.as_schemas()
    made = schemas.create_schema("a", "things", {"k": "v"})
    assert (made.name(), made.comment(), made.properties()) == ("a", "things", {"k": "v"})
    assert schemas.load_schema("a").properties() == {"k": "v"}
    assert schemas.list_schemas() == ["a"]
    assert schemas.schema_exists("a")
    with pytest.raises(SchemaAlreadyExistsException):
        schemas.create_schema("a", "", {})
    changed = schemas.alter_schema(
        "a", SchemaChange.set_property("b", "2"), SchemaChange.remove_property("k")
    )
    assert changed.properties() == {"b": "2"}

    assert schemas.drop_schema("a", cascade=False) is True
    assert schemas.drop_schema("a", cascade=False) is False
    assert not schemas.schema_exists("a")
    with pytest.raises(NoSuchSchemaException):
        schemas.load_schema("a")


def test_nested_schemas_work_with_the_unmodified_client(tables: Any) -> None:
    """It encodes their names in the body as well, which Gravitino itself refuses."""
    schemas = tables.as_schemas()
    made = schemas.create_schema("a:b:c", "inner", {"k": "v"})
    schemas.create_schema("a:d e", "", {})

    assert (made.name(), made.comment()) == ("a:b:c", "inner")
    assert schemas.list_schemas() == ["a"]
    assert schemas.list_schemas("a") == ["a:b", "a:d e"]
    assert schemas.list_schemas("a:b") == ["a:b:c"]
    assert schemas.load_schema("a:b:c").properties() == {"k": "v"}
    changed = schemas.alter_schema("a:b:c", SchemaChange.set_property("k", "w"))
    assert changed.properties() == {"k": "w"}
    with pytest.raises(NonEmptySchemaException):
        schemas.drop_schema("a:b", cascade=False)
    with pytest.raises(IllegalArgumentException):
        schemas.drop_schema("a:b", cascade=True)
    with pytest.raises(NoSuchSchemaException):
        schemas.list_schemas("a:none")
    assert schemas.drop_schema("a:b:c", cascade=False) is True
    assert schemas.list_schemas("a:b") == []


def test_a_flat_catalog_has_no_nested_schemas(files: Any) -> None:
    """The client is told that it is not supported."""
    schemas = files.as_schemas()
    schemas.create_schema("a", "", {"location": "/somewhere"})

    with pytest.raises(UnsupportedOperationException):
        schemas.list_schemas("a")


def test_iceberg_clients_find_the_catalog_by_its_properties(tables: Any) -> None:
    """As Spark's connector does: the same schemas, in the other protocol."""
    shown = tables.properties()
    assert shown["catalog-backend"] == "rest"
    tables.as_schemas().create_schema("a:b", "", {"k": "v"})
    catalog = RestCatalog("headgate", uri=shown["uri"], warehouse=shown["warehouse"])

    assert catalog.list_namespaces(("a",)) == [("a", "b")]
    assert catalog.load_namespace_properties(("a", "b")) == {"k": "v"}
    catalog.close()


def test_a_stranger_is_refused(server: HeadgateServer, tmp_path: Any) -> None:
    """On a server that checks rights, with the client's own exception."""
    checking = ("--set", "authorization.enabled=true")
    with HeadgateServer(tmp_path, *checking) as guarded:
        admin = GravitinoAdminClient(uri=guarded.url)

        with pytest.raises(ForbiddenException):
            admin.create_metalake("shop", "", {})
        with pytest.raises(ForbiddenException):
            admin.load_metalake("default")
        assert admin.list_metalakes() == []
