"""Locations: one spelling for each place, and which place lies in which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import BadRequest, Forbidden
from headgate.limits import INDEX_KEY_BYTES_MAX, LOCATION_BYTES_MAX
from headgate.model import locations

names = st.sampled_from(["a", "b", "ab", "a b", "a.b", "ü", "a!", "a%20b", "=41", "A"])
roots = st.sampled_from(
    ["", "file:", "file://", "s3://b", "s3a://B", "gs://b", "abfs://c@acc.dfs.core.windows.net"]
)
places = st.builds(
    lambda root, segments, end: root + "".join(f"/{segment}" for segment in segments) + end,
    roots,
    st.lists(names, min_size=1, max_size=4),
    st.sampled_from(["", "/", "//"]),
)


@pytest.mark.parametrize(
    ("location", "normal"),
    [
        ("/x", "file:///x"),
        ("file:/x", "file:///x"),
        ("file:///x/", "file:///x"),
        ("FILE:/x", "file:///x"),
        ("/", "file:///"),
        ("/a:b/c d", "file:///a:b/c d"),
        ("s3://bucket/x//", "s3://bucket/x"),
        ("s3a://Bucket/X", "s3://bucket/X"),
        ("s3n://bucket", "s3://bucket"),
        ("s3://bucket/", "s3://bucket"),
        ("gs://my_bucket.org/x", "gs://my_bucket.org/x"),
        ("abfs://c@acc.dfs.core.windows.net/x", "abfss://c@acc.dfs.core.windows.net/x"),
        ("wasbs://C@acc.blob.core.windows.net/x", "abfss://c@acc.dfs.core.windows.net/x"),
        ("file://localhost/x", "file:///x"),
    ],
)
def test_all_spellings_of_a_place_are_one(location: str, normal: str) -> None:
    """Schemes and hosts that mean the same store, and trailing slashes, make no difference."""
    assert locations.normalize(location) == normal


@given(places)
def test_a_normal_location_stays_as_it_is(location: str) -> None:
    """Normalising twice is normalising once, and changes nothing of what is compared."""
    normal = locations.normalize(location)

    assert locations.normalize(normal) == normal
    assert locations.index_key(normal) == locations.index_key(location)


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("", "neither"),
        ("x/y", "neither"),
        ("file:", "neither"),
        ("file://", "neither"),
        ("file:x", "neither"),
        ("s3://", "neither"),
        ("//x/y", "host"),
        ("file://host/x", "host"),
        ("hdfs://n/x", "scheme"),
        ("https://bucket/x", "scheme"),
        ("s3:/bucket/x", "no bucket"),
        ("s3:///x", "no bucket"),
        ("s3://key:secret@bucket/x", "not a name"),
        ("s3://bucket:80/x", "not a name"),
        ("gs://bucket./x", "not a name"),
        ("abfss://@host/x", "container@account"),
        ("abfss://container/x", "container@account"),
        ("abfss://c@acc/x", "container@account"),
        ("/a//b", "empty segment"),
        ("file:////x", "empty segment"),
        ("s3://b/a//b", "empty segment"),
        ("gs://b//x", "empty segment"),
        ("file://localhost", "no path"),
        ("/a/../b", "segment `.`"),
        ("/a/./b", "segment `.`"),
        ("s3://b/..", "segment `.`"),
        ("/a/%2e%2E/b", "segment `.`"),
        ("/a/x%2F../b", "segment `.`"),
        ("/a?b", "contains"),
        ("/a#b", "contains"),
        ("/a\nb", "contains"),
        ("/a\x00b", "contains"),
        ("/a\ud800", "contains"),
        ("/" + "ü" * 1024, "longer than 2048"),
        ("/" + "ü" * 2048, "longer than 4096"),
    ],
)
def test_what_is_no_location_is_refused(location: str, why: str) -> None:
    """The error says what is wrong and how a location looks."""
    with pytest.raises(BadRequest, match=f"Invalid location.*{why}") as refused:
        locations.normalize(location)

    assert refused.value.fix


@pytest.mark.parametrize(
    ("location", "scheme"),
    [("/x", "file"), ("s3n://b/x", "s3"), ("wasb://c@acc.blob.x/y", "abfss")],
)
def test_the_scheme_is_that_of_the_store(location: str, scheme: str) -> None:
    """All names of a kind of store are one."""
    assert locations.scheme_of(location) == scheme


@pytest.mark.parametrize(
    ("location", "prefix", "within"),
    [
        ("/a/b", "file:/a", True),
        ("/a/b", "/a/b/", True),
        ("/a/bc", "/a/b", False),
        ("/a", "/a/b", False),
        ("/a", "/", True),
        ("file:/a//b///c", "/a/b", True),
        ("s3://b/x/a?b#c", "s3://b/x", True),
        ("s3a://b/x", "s3://b", True),
        ("s3://b/x", "gs://b", False),
        ("s3://bb/x", "s3://b", False),
        ("/b/x", "s3://b", False),
    ],
)
def test_a_location_lies_within_another_by_whole_segments(
    location: str, prefix: str, within: bool
) -> None:
    """A prefix ends where a segment ends, and the store is the same."""
    assert locations.is_within(location, prefix) is within


@given(places, places)
def test_overlap_has_no_direction(one: str, other: str) -> None:
    """Two locations overlap if one is within the other, in whatever order they are named."""
    assert locations.overlaps(one, other) == locations.overlaps(other, one)
    assert locations.overlaps(one, other) == (
        locations.is_within(one, other) or locations.is_within(other, one)
    )
    assert locations.overlaps(one, one)


@given(places, places)
def test_an_index_range_holds_exactly_the_keys_below(location: str, other: str) -> None:
    """A scan of the range finds the location itself and all that lies below, and nothing else."""
    start, end = locations.index_range(location)

    assert (start <= locations.index_key(other) < end) == locations.is_within(other, location)


@given(places, places)
def test_the_ancestors_are_all_that_a_location_lies_in(location: str, other: str) -> None:
    """Looking up each of them finds everything above."""
    above = locations.ancestors(location)
    is_above = locations.is_within(location, other) and not locations.is_within(other, location)

    assert (locations.normalize(other) in above) == is_above
    assert above == sorted(above, key=len)


def test_the_ancestors_begin_with_the_store() -> None:
    """The root of the store comes first, the parent last; a root has none."""
    assert locations.ancestors("s3a://b/x/y/") == ["s3://b", "s3://b/x"]
    assert locations.ancestors("/x") == ["file:///"]
    assert locations.ancestors("gs://b") == []


def test_the_longest_location_fits_into_an_index() -> None:
    """Its key, after a few bytes of whatever stands before it, is within the kernel's bound."""
    longest = "s3://b" + "/a" * ((LOCATION_BYTES_MAX - 6) // 2)

    assert len(locations.index_key(longest)) < INDEX_KEY_BYTES_MAX // 2 + 100


def test_files_may_have_longer_names_than_their_tables() -> None:
    """The longest table has files too, and a purge finds them."""
    longest = "s3://b/" + "a" * (LOCATION_BYTES_MAX - 7)
    file = f"{longest}/metadata/00000-{'0' * 36}.metadata.json"

    assert locations.is_within(file, locations.normalize(longest))


def test_a_location_is_allowed_below_one_of_the_prefixes() -> None:
    """Another spelling is no way around, and a longer name is no child."""
    allowed = ["s3://bucket/wh", "/data"]
    locations.check_allowed("s3a://bucket/wh/t", allowed)
    locations.check_allowed("file:/data", allowed)

    for location in ("s3://bucket/wh2", "s3://bucket", "/dat"):
        with pytest.raises(Forbidden, match="may use s3://bucket/wh, /data"):
            locations.check_allowed(location, allowed)


def test_without_prefixes_nothing_is_allowed() -> None:
    """An empty list is not a free choice."""
    with pytest.raises(Forbidden, match="may use none"):
        locations.check_allowed("/x", [])


def test_a_table_writes_where_its_properties_say() -> None:
    """Its own location comes first; paths that lie in one already named add nothing."""
    properties = {
        "write.metadata.path": "file:/t/metadata",
        "write.data.path": "s3a://bucket/data/",
        "write.object-storage.path": "s3://bucket/data/objects",
        "write.folder-storage.path": "/elsewhere",
        "other": "/nowhere",
    }

    paths = locations.metadata_paths(properties, "/t")

    assert paths == ["/t", "s3a://bucket/data/", "/elsewhere"]
    assert locations.metadata_paths({"write.data.path": ""}, "/t") == ["/t"]
