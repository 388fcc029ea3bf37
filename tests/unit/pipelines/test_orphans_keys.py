"""Spellings of one file."""

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InvalidInput
from headgate.model.locations import place_of
from headgate.pipelines.orphans_keys import Keys

PARTS = st.text(string.ascii_letters + "%=+ .é#?", max_size=5)
ROOTS = ("/no", "file:/no", "file:///no", "file://localhost/no", "S3://B", "s3a://b", "s3n://b/x")
AZURE = "abfs://c@account.blob.core.windows.net/x"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/no/x", "file:/no/x"),
        ("/no/x", "file:///no//x"),
        ("s3a://b/x", "s3://b/x"),
        ("s3n://b/x", "S3://B/x"),
        (AZURE, "wasbs://c@account.dfs.core.windows.net/x"),
        ("/no/a/../x", "/no/x"),
        ("s3://b/a/../x", "s3://b/x"),
        ("s3a://B/part=a%2F./x", "s3://b/part=a%2F./x"),
    ],
)
def test_one_file_has_one_key(one: str, other: str) -> None:
    """However clients write its location."""
    keys = Keys()

    assert keys.of(one) == keys.of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("/no/a%20b", "/no/a b"), ("s3://b/x", "s3://c/x"), ("s3://b/x", "gs://b/x"), ("/x", "/X")],
)
def test_two_files_have_two_keys(one: str, other: str) -> None:
    """Nothing is decoded, and buckets and stores are told from each other."""
    keys = Keys()

    assert keys.of(one) != keys.of(other)


@given(st.sampled_from(ROOTS), st.lists(PARTS, min_size=1, max_size=4))
def test_keys_are_what_the_catalog_compares(root: str, parts: list[str]) -> None:
    """A location that the catalog understands has the catalog's own spelling as its key."""
    location = "/".join((root, *parts))
    try:
        known = str(place_of(location))
    except InvalidInput:
        return

    assert Keys().of(location) == known


@pytest.mark.parametrize("name", ["part=a%2F./x", "part=a%2F..%2Fb/x", "plain/x", "%2E"])
def test_what_a_bucket_lists_has_the_key_that_a_table_names_it_by(name: str) -> None:
    """A listing tells names as they are, also those that nobody could choose for a table."""
    listed = Keys().prefix("s3://b") + name

    assert {Keys().of(f"{scheme}://b/{name}") for scheme in ("s3", "s3a", "S3N")} == {listed}


def test_what_is_no_location_is_a_key_of_its_own() -> None:
    """It equals nothing that can be listed, and harms nobody."""
    assert Keys().of_all(["hdfs://host/x", "", "relative"]) == ["hdfs://host/x", "", "relative"]


def test_a_link_to_a_folder_is_the_folder(tmp_path: Path) -> None:
    """A table that names its files by way of a link has them all the same."""
    folder = tmp_path / "real" / "inner"
    folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")

    keys = Keys()

    assert keys.of(f"{tmp_path}/link/inner/x") == keys.of(f"{tmp_path}/real/inner/x")
    assert keys.of(f"{tmp_path}/link/x") == f"file://{tmp_path.resolve()}/real/x"
