"""Places in stores: the same that locations are for the catalog, ready to be opened."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import BadRequest
from headgate.model.locations import place_of
from headgate.storage.places import Place, parse, path_within, place_within


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("/x/y", Place("file", "/", "", "", "x/y")),
        ("/x//y/", Place("file", "/", "", "", "x/y")),
        ("file:/x/y", Place("file", "file:/", "", "", "x/y")),
        ("file:///x/y", Place("file", "file:///", "", "", "x/y")),
        ("file://localhost/x", Place("file", "file:///", "", "", "x")),
        ("s3://bucket/a/b", Place("s3", "s3://bucket/", "bucket", "", "a/b")),
        ("s3a://bucket/a/b/", Place("s3", "s3a://bucket/", "bucket", "", "a/b")),
        ("S3://bucket", Place("s3", "S3://bucket/", "bucket", "", "")),
        ("gs://Bucket/a%20b+?#", Place("gcs", "gs://Bucket/", "Bucket", "", "a%20b+?#")),
        (
            "abfss://c@acc.dfs.core.windows.net/p/q",
            Place("azure", "abfss://c@acc.dfs.core.windows.net/", "c", "acc", "p/q"),
        ),
    ],
)
def test_every_way_to_write_a_location_is_understood(location: str, place: Place) -> None:
    """Schemes are told apart, and paths are taken literally."""
    assert parse(location) == place


@given(st.text(alphabet="s3:/.abfile%2e?#@\n", max_size=24))
def test_what_the_catalog_refuses_is_never_opened(location: str) -> None:
    """Both have one opinion of what a location is, and of where it points to."""
    try:
        meant = place_of(location)
    except BadRequest:
        with pytest.raises(BadRequest):
            parse(location)
        return

    assert parse(location).path == "/".join(meant.segments)


@pytest.mark.parametrize(
    ("location", "prefix", "inside"),
    [
        ("s3://bucket/t1", "s3://bucket/t1", True),
        ("s3a://bucket/t1/f", "s3://bucket/t1/", True),
        ("s3://bucket/t10/f", "s3://bucket/t1", False),
        ("s3://other/t1/f", "s3://bucket/t1", False),
        ("gs://bucket/t1/f", "s3://bucket/t1", False),
        ("file:///w/t", "/w", True),
        ("/w2/t", "file:/w", False),
        ("s3://bucket/any", "s3://bucket", True),
    ],
)
def test_a_prefix_ends_at_a_segment(location: str, prefix: str, inside: bool) -> None:
    """`t10` is no part of `t1`, however both are written."""
    assert place_within(parse(location), parse(prefix)) is inside


@given(st.text(alphabet="ab/", max_size=8), st.text(alphabet="ab", min_size=1, max_size=3))
def test_whatever_is_appended_to_a_prefix_after_a_slash_is_within_it(rest: str, top: str) -> None:
    """The boundary is the slash, and nothing but the slash."""
    assert path_within(f"{top}/{rest}", top)
    assert not path_within(f"{top}c{rest}", top)


@given(st.sampled_from(["/", "file:/", "file:///", "s3://bucket/", "gs://bucket/"]), st.text())
def test_a_location_that_is_accepted_keeps_its_text(root: str, path: str) -> None:
    """Nothing is decoded or rewritten but slashes at the end and, in file systems, twice."""
    try:
        place = parse(root + path)
    except BadRequest:
        return

    assert place.location(place.path).replace("/", "") == (root + path).replace("/", "")
    assert parse(place.location(place.path)) == place
