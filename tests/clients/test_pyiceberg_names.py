"""pyiceberg: namespaces, odd names and views."""

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchViewError,
)
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from pyiceberg.view.metadata import ViewVersion

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
ODD_NAMES = ["a.b", "two words", "Käse 🧀", "in/out", "100%", "1+1", "a%2Fb", "-", "a&b=c?d#e"]


def view_version(sql: str) -> ViewVersion:
    return ViewVersion.model_validate(
        {
            "version-id": 1,
            "schema-id": 0,
            "timestamp-ms": 1,
            "summary": {},
            "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
            "default-namespace": ["default"],
        }
    )


def test_namespaces_nest_to_any_depth(catalog: RestCatalog, namespace: str) -> None:
    """Each level lists its direct children, as full paths."""
    levels = (namespace, "a", "b", "c", "d")
    for depth in range(2, 6):
        catalog.create_namespace(levels[:depth])
    catalog.create_namespace((namespace, "z"))

    assert catalog.list_namespaces(namespace) == [(namespace, "a"), (namespace, "z")]
    assert catalog.list_namespaces(levels[:4]) == [levels]
    assert catalog.list_namespaces(levels) == []
    assert (namespace,) in catalog.list_namespaces()


def test_a_namespace_keeps_its_properties(catalog: RestCatalog, namespace: str) -> None:
    """Properties are set, changed and removed, and the answer tells which."""
    catalog.update_namespace_properties(namespace, updates={"owner": "me", "x": "1"})
    summary = catalog.update_namespace_properties(namespace, {"x", "y"}, {"owner": "you"})

    assert catalog.load_namespace_properties(namespace).get("owner") == "you"
    assert (summary.updated, summary.removed, summary.missing) == (["owner"], ["x"], ["y"])


def test_a_namespace_goes_when_it_is_empty(catalog: RestCatalog, namespace: str) -> None:
    """A namespace with a child or a table stays."""
    catalog.create_namespace((namespace, "child"))
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(namespace)
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace((namespace, "child"))
    catalog.drop_namespace((namespace, "child"))
    catalog.drop_namespace(namespace)

    assert not catalog.namespace_exists(namespace)
    with pytest.raises(NoSuchNamespaceError):
        catalog.load_namespace_properties(namespace)


@pytest.mark.parametrize("odd", ODD_NAMES)
def test_a_name_may_hold_any_character(catalog: RestCatalog, namespace: str, odd: str) -> None:
    """A namespace and a table with an odd name are made, listed, filled, renamed and dropped."""
    space = (namespace, odd)
    catalog.create_namespace(space)
    catalog.create_namespace((*space, odd))
    table = catalog.create_table((*space, odd, odd), SCHEMA)
    table.append(pa.table({"id": [7]}))

    assert catalog.list_namespaces(namespace) == [space]
    assert catalog.list_namespaces(space) == [(*space, odd)]
    assert catalog.list_tables((*space, odd)) == [(*space, odd, odd)]
    assert catalog.load_table((*space, odd, odd)).scan().to_arrow()["id"].to_pylist() == [7]
    renamed = catalog.rename_table((*space, odd, odd), (*space, f"{odd} {odd}"))
    assert renamed.scan().to_arrow()["id"].to_pylist() == [7]
    assert catalog.list_tables(space) == [(*space, f"{odd} {odd}")]
    catalog.drop_table((*space, f"{odd} {odd}"))
    catalog.drop_namespace((*space, odd))
    catalog.drop_namespace(space)
    assert catalog.list_namespaces(namespace) == []


def test_one_level_with_a_dot_is_not_two_levels(catalog: RestCatalog, namespace: str) -> None:
    """`x.y` and `x`, `y` are two namespaces that know nothing of each other."""
    catalog.create_namespace((namespace, "x.y"))
    catalog.create_namespace((namespace, "x"))
    catalog.create_namespace((namespace, "x", "y"))
    catalog.create_table((namespace, "x.y", "t"), SCHEMA)

    assert catalog.list_namespaces(namespace) == [(namespace, "x"), (namespace, "x.y")]
    assert catalog.list_tables((namespace, "x", "y")) == []
    assert catalog.list_tables((namespace, "x.y")) == [(namespace, "x.y", "t")]


def test_views_are_created_listed_and_dropped(catalog: RestCatalog, namespace: str) -> None:
    """A view is beside the tables of its namespace, and keeps its text."""
    name = (namespace, "numbers")
    catalog.create_table((namespace, "table"), SCHEMA)
    catalog.create_view(name, SCHEMA, view_version("SELECT 1 AS id"), properties={"k": "v"})

    assert catalog.list_views(namespace) == [name]
    assert catalog.list_tables(namespace) == [(namespace, "table")]
    loaded = catalog.load_view(name)
    representation = loaded.current_version().representations[0].root
    assert (representation.sql, loaded.properties["k"]) == ("SELECT 1 AS id", "v")
    catalog.drop_view(name)
    assert not catalog.view_exists(name)
    with pytest.raises(NoSuchViewError):
        catalog.load_view(name)


def test_a_dropped_view_is_registered_again(catalog: RestCatalog, namespace: str) -> None:
    """The metadata file of a view outlives it."""
    name = (namespace, "numbers")
    catalog.create_view(name, SCHEMA, view_version("SELECT 2 AS id"))
    answer = catalog._session.get(catalog.url(f"namespaces/{namespace}/views/numbers"))
    catalog.drop_view(name)

    catalog.register_view(name, answer.json()["metadata-location"])

    representation = catalog.load_view(name).current_version().representations[0].root
    assert representation.sql == "SELECT 2 AS id"
