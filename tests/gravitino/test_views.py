"""Views that Gravitino's client and Iceberg's protocol make, change and see: the same ones."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from gravitino import NameIdentifier
from gravitino.api.rel.column import Column
from gravitino.api.rel.sql_representation import SQLRepresentation
from gravitino.api.rel.types.types import Types
from gravitino.api.rel.view_change import ViewChange
from gravitino.exceptions.base import (
    IllegalArgumentException,
    NoSuchSchemaException,
    NoSuchViewException,
    UnsupportedOperationException,
    ViewAlreadyExistsException,
)
from gravitino.namespace import Namespace

from headgate.testing.headgate_server import HeadgateServer
from tests.gravitino.conftest import ADMIN, Clients
from tests.gravitino.relational import ID, STRING, Both, new_catalog

pytestmark = pytest.mark.filterwarnings("ignore:Missing value of non-optional type")

SPARK = SQLRepresentation("spark", "SELECT id FROM t")
TRINO = SQLRepresentation("trino", "SELECT id FROM t")


@pytest.fixture(name="both")
def _both(server: HeadgateServer, metalake: str, client: Clients) -> Iterator[Both]:
    """A new catalog with the schema `shop`, and the view `v` in it."""
    both = new_catalog(server, client(ADMIN), metalake, ADMIN)
    both.views.create_view(both.named("v"), [ID], [SPARK], "one", "main", "shop:inner", {"k": "v"})
    yield both
    both.iceberg.close()


def loaded(server: HeadgateServer, metalake: str, both: Both) -> Any:
    """The metadata of the view, as Iceberg's protocol has it."""
    path = f"v1/{metalake}.{both.catalog.name()}/namespaces/shop/views/v"
    answer = httpx.get(f"{server.iceberg_url}/{path}", auth=(ADMIN, "x"))
    assert answer.status_code == 200, answer.text
    return answer.json()["metadata"]


def test_a_view_is_the_same_for_both_protocols(
    server: HeadgateServer, metalake: str, both: Both
) -> None:
    """Its columns, its text, where its names are looked up, its comment and its properties."""
    metadata = loaded(server, metalake, both)
    view = both.views.load_view(both.named("v"))

    [version] = metadata["versions"]
    assert version["representations"] == [
        {"type": "sql", "dialect": "spark", "sql": "SELECT id FROM t"}
    ]
    assert version["default-namespace"] == ["shop", "inner"]
    assert metadata["schemas"][0]["fields"] == [
        {"id": 1, "name": "id", "required": True, "type": "long", "doc": "key"}
    ]
    assert metadata["properties"] == {"k": "v", "comment": "one"}
    assert both.iceberg.view_exists(("shop", "v"))
    assert (view.comment(), view.properties()) == ("one", {"k": "v"})
    assert view.representations() == [SPARK]
    assert (view.default_catalog(), view.default_schema()) == ("main", "shop:inner")
    [column] = view.columns()
    assert (column.name(), column.comment()) == ("id", "key")


def test_a_view_is_replaced(server: HeadgateServer, metalake: str, both: Both) -> None:
    """Together with changes of its properties, in one commit."""
    changed = both.views.alter_view(
        both.named("v"),
        ViewChange.set_property("x", "1"),
        ViewChange.replace_view([Column.of("name", STRING)], [SPARK, TRINO], None, None, "two"),
        ViewChange.remove_property("k"),
    )

    assert changed.representations() == [SPARK, TRINO]
    assert (changed.comment(), changed.properties()) == ("two", {"x": "1"})
    metadata = loaded(server, metalake, both)
    assert [one["version-id"] for one in metadata["versions"]] == [1, 2]
    assert metadata["schemas"][1]["fields"][0]["name"] == "name"


def test_a_view_gets_another_name_and_is_dropped(both: Both) -> None:
    """For both protocols."""
    both.views.alter_view(both.named("v"), ViewChange.rename("w"))

    assert both.views.list_views(Namespace.of("shop")) == [both.named("w")]
    assert both.iceberg.list_views("shop") == [("shop", "w")]
    assert both.views.drop_view(both.named("w")) is True
    assert both.views.drop_view(both.named("w")) is False
    assert not both.iceberg.view_exists(("shop", "w"))


def test_what_cannot_be_is_refused(both: Both) -> None:
    """With the exception that its client has for it."""
    name = both.named("new")
    with pytest.raises(ViewAlreadyExistsException):
        both.views.create_view(both.named("v"), [], [SPARK])
    with pytest.raises(NoSuchSchemaException):
        both.views.create_view(NameIdentifier.of("none", "v"), [], [SPARK])
    with pytest.raises(UnsupportedOperationException):
        both.views.create_view(name, [Column.of("a", Types.ByteType.get())], [SPARK])
    with pytest.raises(IllegalArgumentException):
        both.views.create_view(name, [ID, ID], [SPARK])
    with pytest.raises(IllegalArgumentException):  # it loses a dialect
        both.views.alter_view(both.named("v"), ViewChange.replace_view([], [TRINO]))
    with pytest.raises(NoSuchViewException):
        both.views.load_view(name)
    assert both.views.list_views(Namespace.of("shop")) == [both.named("v")]
