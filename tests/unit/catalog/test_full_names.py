"""Full names: what they mean, and that no name can be made to mean another object."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.access.objects import ObjectType as T
from headgate.catalog.full_names import FullName, read_full_name, write_full_name
from headgate.errors import IllegalObject

US = "\x1f"
NAMES = st.text(st.sampled_from("ab.:%"), min_size=1, max_size=4)
LEVELS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
CATALOGS = NAMES.filter(lambda name: "." not in name)


@pytest.mark.parametrize(
    ("kind", "text", "read"),
    [
        (T.CATALOG, "c", ("c", (), "")),
        (T.SCHEMA, "c.s", ("c", ("s",), "")),
        (T.SCHEMA, "c.A:B", ("c", ("A", "B"), "")),
        (T.SCHEMA, "c.a.b", ("c", ("a.b",), "")),
        (T.TABLE, "c.s.t", ("c", ("s",), "t")),
        (T.VIEW, "c.A:B.v", ("c", ("A", "B"), "v")),
        (T.TABLE, f"c{US}a.b{US}t", ("c", ("a.b",), "t")),
        (T.TABLE, f"c{US}A{US}B:C{US}t.u", ("c", ("A", "B:C"), "t.u")),
    ],
)
def test_a_full_name_has_parts(kind: T, text: str, read: tuple[str, tuple[str, ...], str]) -> None:
    """Dots part the catalog, the schema and what lies in it; the separator parts its levels."""
    name = read_full_name(kind, text)

    assert (name.catalog, name.levels(":"), name.name) == read


def test_where_schemas_are_not_nested_a_separator_is_part_of_the_name() -> None:
    """Without a separator the schema has one level."""
    assert read_full_name(T.SCHEMA, "c.A:B").levels("") == ("A:B",)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (T.CATALOG, ""),
        (T.CATALOG, "a.b"),
        (T.CATALOG, f"a{US}b"),
        (T.SCHEMA, "c"),
        (T.SCHEMA, "c."),
        (T.SCHEMA, ".s"),
        (T.TABLE, "c.s"),
        (T.TABLE, "c..t"),
        (T.TABLE, "c.a.b.t"),
        (T.TABLE, f"c{US}t"),
        (T.TABLE, f"c{US}{US}t"),
        (T.TABLE, US.join("x" * 100)),
    ],
)
def test_what_could_mean_two_things_or_nothing_is_refused(kind: T, text: str) -> None:
    """Too few parts, empty ones, and dots that may be part of a name: nobody guesses."""
    with pytest.raises(IllegalObject, match="does not have the form"):
        read_full_name(kind, text)


@given(catalog=CATALOGS, levels=LEVELS, leaf=NAMES, separator=st.sampled_from([":", ""]))
def test_what_is_written_is_read_as_the_same(
    catalog: str, levels: tuple[str, ...], leaf: str, separator: str
) -> None:
    """Whatever dots and separators its names have, an object's full name leads to it."""
    levels = levels if separator else levels[:1]
    for kind, names in (
        (T.CATALOG, (catalog,)),
        (T.SCHEMA, (catalog, *levels)),
        (T.TABLE, (catalog, *levels, leaf)),
    ):
        read = read_full_name(kind, write_full_name(kind, names, separator))
        own = (read.name,) if read.name else ()
        assert (read.catalog, *read.levels(separator), *own) == names


def test_plain_names_are_written_with_dots() -> None:
    """What Gravitino's clients know is what they get."""
    assert write_full_name(T.TABLE, ("c", "A", "B", "t"), ":") == "c.A:B.t"
    assert write_full_name(T.TABLE, ("c", "a.b", "t"), ":") == f"c{US}a.b{US}t"
    assert FullName("c").levels(":") == ()
