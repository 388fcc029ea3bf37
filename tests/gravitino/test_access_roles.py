"""Roles, rights and owners through Gravitino's official client."""

from collections.abc import Iterator
from typing import Any

import pytest
from gravitino import Catalog
from gravitino.api.authorization.owner import Owner
from gravitino.api.authorization.privileges import Privileges
from gravitino.api.authorization.securable_objects import SecurableObjects
from gravitino.api.metadata_object import MetadataObject
from gravitino.api.metadata_objects import MetadataObjects
from gravitino.api.rel.table_change import TableChange
from gravitino.api.rel.types.types import Types
from gravitino.client.metadata_object_role_operations import MetadataObjectRoleOperations
from gravitino.dto.rel.column_dto import ColumnDTO
from gravitino.exceptions.base import (
    ForbiddenException,
    IllegalMetadataObjectException,
    IllegalPrivilegeException,
    IllegalRoleException,
    NoSuchMetadataObjectException,
    NoSuchRoleException,
    NoSuchUserException,
    NotFoundException,
    RoleAlreadyExistsException,
)
from gravitino.name_identifier import NameIdentifier

from tests.gravitino.conftest import ADMIN, Clients

USE, SCHEMA, SELECT = "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"
Kind = MetadataObject.Type


@pytest.fixture(name="admin", scope="module")
def _admin(client: Clients) -> Any:
    """The owner of a metalake with a catalog, a schema and a table."""
    admin = client(ADMIN)
    catalog = admin.create_catalog(
        "shop", Catalog.Type.RELATIONAL, "lakehouse-iceberg", "a shop", {}
    )
    catalog.as_schemas().create_schema("sales", "what was sold", {})
    column = ColumnDTO.builder().with_name("id").with_data_type(Types.LongType.get()).build()
    table = NameIdentifier.of("sales", "orders")
    catalog.as_table_catalog().create_table(table, [column], "one row each", {})
    return admin


@pytest.fixture(name="role")
def _role(admin: Any) -> Iterator[str]:
    """A role without rights."""
    admin.create_role("reader", {}, [])
    yield "reader"
    admin.delete_role("reader")


@pytest.fixture(name="anna")
def _anna(admin: Any) -> Iterator[str]:
    """A user without roles."""
    admin.add_user("anna")
    yield "anna"
    admin.remove_user("anna")


def allowed(*names: str) -> list[Any]:
    return [Privileges.allow(name) for name in names]


def rights(role: Any) -> dict[tuple[str, str], list[str]]:
    """What a role allows and denies on which objects."""
    return {
        (one.type().value, one.full_name()): sorted(
            f"{right.condition().value} {right.name().name}" for right in one.privileges()
        )
        for one in role.securable_objects()
    }


def shop(*privileges: Any) -> Any:
    return SecurableObjects.of_catalog("shop", list(privileges))


def orders(*privileges: Any) -> Any:
    sales = SecurableObjects.of_schema(shop(), "sales", [])
    return SecurableObjects.of_table(sales, "orders", list(privileges))


def test_roles_come_and_go(admin: Any) -> None:
    """Created with properties and rights, loaded, listed, deleted once."""
    objects = [shop(*allowed(USE), Privileges.deny(SCHEMA)), orders(*allowed(SELECT))]
    made = admin.create_role("clerk", {"k": "v"}, objects)

    assert (made.name(), made.properties()) == ("clerk", {"k": "v"})
    assert rights(made) == {
        ("catalog", "shop"): [f"ALLOW {USE}", f"DENY {SCHEMA}"],
        ("table", "shop.sales.orders"): [f"ALLOW {SELECT}"],
    }
    loaded = admin.get_role("clerk")
    assert (loaded, rights(loaded)) == (made, rights(made))
    assert admin.list_role_names() == ["clerk"]
    assert admin.delete_role("clerk") is True
    assert admin.delete_role("clerk") is False


def test_rights_are_given_and_taken(admin: Any, role: str) -> None:
    """The answer is the role as it is then, and the object tells which roles it has."""
    given = admin.grant_privileges_to_role(role, shop(), allowed(USE, SCHEMA))

    assert rights(given) == {("catalog", "shop"): [f"ALLOW {USE}", f"ALLOW {SCHEMA}"]}
    assert roles_on(admin, "shop", Kind.CATALOG) == [role]
    left = admin.revoke_privileges_from_role(role, shop(), allowed(SCHEMA))
    assert rights(left) == {("catalog", "shop"): [f"ALLOW {USE}"]}
    none = admin.revoke_privileges_from_role(role, shop(), allowed(USE))
    assert rights(none) == {}
    assert roles_on(admin, "shop", Kind.CATALOG) == []


def roles_on(client: Any, name: str, kind: Any) -> Any:
    """The roles with rights on an object, as the client asks for them."""
    return MetadataObjectRoleOperations(
        "lake", MetadataObjects.of(name, kind), client.get_metalake().rest_client
    ).list_binding_role_names()


def test_roles_are_given_to_users_and_groups(admin: Any, anna: str, role: str) -> None:
    """And taken from them; the answer is who has them."""
    admin.add_group("cooks")

    assert admin.grant_roles_to_user([role], anna).roles() == [role]
    assert admin.get_user(anna).roles() == [role]
    assert admin.revoke_roles_from_user([role], anna).roles() == []
    assert admin.grant_roles_to_group([role], "cooks").roles() == [role]
    assert admin.get_group("cooks").roles() == [role]
    assert admin.revoke_roles_from_group([role], "cooks").roles() == []
    admin.remove_group("cooks")


def test_a_right_counts_from_the_next_request_on(
    admin: Any, client: Clients, anna: str, role: str
) -> None:
    """And is gone with the request after it was taken."""
    user = client(anna)
    with pytest.raises(ForbiddenException):
        user.load_catalog("shop")
    admin.grant_privileges_to_role(role, shop(), allowed(USE))
    admin.grant_roles_to_user([role], anna)
    assert user.load_catalog("shop").name() == "shop"
    assert user.list_catalogs() == ["shop"]
    admin.revoke_roles_from_user([role], anna)

    with pytest.raises(ForbiddenException):
        user.load_catalog("shop")
    assert user.list_catalogs() == []


def test_owners_are_told_and_changed(admin: Any, client: Clients, anna: str) -> None:
    """Of everything there is; who creates something owns it."""
    admin.add_group("cooks")
    admin.create_role("kept", {}, [])
    for name, kind in (
        ("lake", Kind.METALAKE),
        ("shop", Kind.CATALOG),
        ("shop.sales", Kind.SCHEMA),
        ("shop.sales.orders", Kind.TABLE),
        ("kept", Kind.ROLE),
    ):
        thing = MetadataObjects.of(name.split("."), kind)
        assert owner(admin, thing) == (ADMIN, Owner.Type.USER)
        if kind is not Kind.METALAKE:
            admin.set_owner(thing, "cooks", Owner.Type.GROUP)
            assert owner(admin, thing) == ("cooks", Owner.Type.GROUP)
            admin.set_owner(thing, ADMIN, Owner.Type.USER)
    lake = MetadataObjects.of("lake", Kind.METALAKE)
    admin.set_owner(lake, anna, Owner.Type.USER)
    with pytest.raises(Exception, match="not authorized"):
        admin.set_owner(lake, ADMIN, Owner.Type.USER)
    client(anna).set_owner(lake, ADMIN, Owner.Type.USER)
    admin.remove_group("cooks")
    admin.delete_role("kept")


def owner(client: Any, thing: Any) -> tuple[str, Any]:
    found = client.get_owner(thing)
    return found.name(), found.type()


def test_the_client_knows_what_went_wrong(admin: Any, anna: str, role: str) -> None:
    """Each refusal is an exception of its own."""
    nothing = SecurableObjects.of_catalog("nothing", allowed(USE))
    with pytest.raises(RoleAlreadyExistsException):
        admin.create_role(role, {}, [])
    with pytest.raises(NoSuchRoleException):
        admin.get_role("nothing")
    with pytest.raises(IllegalMetadataObjectException):
        admin.create_role("other", {}, [nothing])
    with pytest.raises(IllegalPrivilegeException):
        admin.create_role("other", {}, [shop(*allowed("CREATE_CATALOG"))])
    with pytest.raises(NoSuchMetadataObjectException):
        admin.grant_privileges_to_role(role, nothing, allowed(USE))
    with pytest.raises(NoSuchRoleException):
        admin.grant_privileges_to_role("nothing", shop(), allowed(USE))
    with pytest.raises(IllegalRoleException):
        admin.grant_roles_to_user(["nothing"], anna)
    with pytest.raises(NoSuchUserException):
        admin.grant_roles_to_user([role], "nobody")
    with pytest.raises(NoSuchMetadataObjectException):
        admin.get_owner(MetadataObjects.of("nothing", Kind.CATALOG))
    with pytest.raises(NotFoundException):
        admin.set_owner(MetadataObjects.of("shop", Kind.CATALOG), "nobody", Owner.Type.USER)


def test_a_renamed_object_keeps_its_rights(admin: Any, role: str) -> None:
    """The role shows its new name."""
    admin.grant_privileges_to_role(role, orders(), allowed(SELECT))
    tables = admin.load_catalog("shop").as_table_catalog()
    tables.alter_table(NameIdentifier.of("sales", "orders"), TableChange.rename("bills"))

    assert list(rights(admin.get_role(role))) == [("table", "shop.sales.bills")]
    tables.alter_table(NameIdentifier.of("sales", "bills"), TableChange.rename("orders"))
    assert list(rights(admin.get_role(role))) == [("table", "shop.sales.orders")]
