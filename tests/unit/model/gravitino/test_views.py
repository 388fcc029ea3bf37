"""Views of Gravitino as views of Iceberg and back."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import BadRequest, DuplicateDialect, Unsupported
from headgate.model import view_creation, view_updates
from headgate.model.gravitino.changes import ViewChange
from headgate.model.gravitino.views import CreateView, describe, new_view, updates_for
from headgate.model.gravitino.wire import Column, Expression, Representation
from headgate.model.names import Levels
from headgate.model.table_outlines import view_outline
from headgate.model.view_metadata import ViewMetadata, encode, parse
from tests.unit.model.gravitino.descriptions import COLUMNS, COMMENTS

SPARK = Representation(dialect="spark", sql="SELECT 1")
TRINO = Representation(dialect="trino", sql="SELECT 2")
NOW_MS = 1_700_000_000_000


def split(name: str) -> Levels:
    return tuple(name.split(":"))


def made(wanted: CreateView) -> ViewMetadata:
    request = new_view(wanted, ("a", "b"), split)
    view = view_creation.new_view(request, location="s3://b/v", uuid="u", now_ms=NOW_MS)
    return parse(encode(view))


def altered(view: ViewMetadata, *given: dict[str, Any]) -> ViewMetadata:
    changes = msgspec.convert(list(given), list[ViewChange])
    updates = updates_for(view_outline(view), changes, split, NOW_MS + 1)
    return view_updates.apply(view, updates, now_ms=NOW_MS + 1)


@given(
    columns=COLUMNS,
    comment=COMMENTS,
    dialects=st.dictionaries(
        st.sampled_from(["hive", "spark", "trino"]), st.just("SELECT 1"), min_size=1
    ),
    catalog=st.none() | st.just("c"),
    properties=st.dictionaries(st.sampled_from("xyz"), st.text()),
)
def test_a_view_is_shown_as_it_was_made(
    columns: list[Column],
    comment: str | None,
    dialects: dict[str, str],
    catalog: str | None,
    properties: dict[str, str],
) -> None:
    """Columns, comment, all dialects, properties, and where its names are looked up."""
    queries = [Representation(dialect=dialect, sql=sql) for dialect, sql in dialects.items()]
    wanted = CreateView(
        name="v",
        columns=columns,
        comment=comment,
        representations=queries,
        default_catalog=catalog,
        default_schema="x:y",
        properties=properties,
    )
    shown = describe(view_outline(made(wanted)))

    assert (shown.comment, shown.columns) == (comment, columns)
    assert (shown.representations, shown.properties) == (queries, properties)
    assert (shown.default_catalog, shown.default_namespace) == (catalog, ("x", "y"))


def test_a_view_is_replaced_and_its_properties_changed_at_once() -> None:
    """In the order of the changes: the comment of a replacement is the one that it says."""
    view = made(CreateView(name="v", representations=[SPARK], comment="old"))

    view = altered(
        view,
        {"@type": "setProperty", "property": "a", "value": "1"},
        {
            "@type": "replaceView",
            "columns": [{"name": "x", "type": "integer"}],
            "representations": [msgspec.to_builtins(SPARK), msgspec.to_builtins(TRINO)],
            "comment": "new",
        },
        {"@type": "removeProperty", "property": "a"},
    )

    shown = describe(view_outline(view))
    assert shown.columns == [Column(name="x", type="integer")]
    assert shown.representations == [SPARK, TRINO]
    assert (shown.comment, shown.properties) == ("new", {})
    assert shown.default_namespace == ("a", "b")
    assert len(view.versions) == 2
    replace = {"@type": "replaceView", "representations": [msgspec.to_builtins(SPARK)]}
    allow = {"@type": "setProperty", "property": "replace.drop-dialect.allowed", "value": "true"}
    assert describe(view_outline(altered(view, allow, replace))).comment is None


def test_changes_of_properties_make_no_version() -> None:
    """And none at all if nothing changes."""
    view = made(CreateView(name="v", representations=[SPARK], properties={"a": "1"}))

    other = altered(view, {"@type": "setProperty", "property": "a", "value": "2"})

    assert other.versions == view.versions
    assert altered(view, {"@type": "setProperty", "property": "a", "value": "1"}) is view


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        ({"representations": []}, BadRequest, "no representations"),
        (
            {"representations": [Representation(dialect="x", sql="y", type="python")]},
            Unsupported,
            "python",
        ),
        ({"representations": [Representation(dialect="", sql="y")]}, BadRequest, "empty"),
        ({"representations": [SPARK, SPARK]}, DuplicateDialect, "spark"),
        ({"columns": [Column(name="a", type="byte")]}, Unsupported, "byte"),
        (
            {
                "columns": [
                    Column(
                        name="a", type="long", default_value=Expression(type="literal", value="1")
                    )
                ]
            },
            BadRequest,
            "default",
        ),
    ],
)
def test_what_no_view_can_be_is_refused(
    change: dict[str, Any], error: type[Exception], reason: str
) -> None:
    """With what is wrong about it."""
    with pytest.raises(error, match=reason):
        made(CreateView(**{"name": "v", "representations": [SPARK], **change}))


def test_a_property_without_a_name_is_refused() -> None:
    """To set it or to remove it."""
    view = made(CreateView(name="v", representations=[SPARK]))

    with pytest.raises(BadRequest, match="name is empty"):
        altered(view, {"@type": "removeProperty", "property": ""})
