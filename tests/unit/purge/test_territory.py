"""Which files a purge may delete."""

import pytest

from headgate.model.locations import index_key
from headgate.purge import territory
from headgate.purge.territory import Standing, Territory

ROOTS = ("s3://bucket/w", "file:/w")
OWN = ("s3://bucket/w/ns/t", "/w/ns/t", "/w/files/one", "/nowhere/t")
FOREIGN = ("s3://bucket/w/ns/t/theirs", "/w/ns/t/data/theirs.parquet", "/w/others")


@pytest.fixture
def land() -> Territory:
    return Territory(ROOTS, OWN, tuple(map(index_key, FOREIGN)))


@pytest.mark.parametrize(
    ("path", "standing"),
    [
        ("s3://bucket/w/ns/t/data/a", Standing.OWN),
        ("s3a://BUCKET/w/ns/t/data/a", Standing.OWN),
        ("/w/ns/t/a", Standing.OWN),
        ("file:///w/ns/t/a%20b", Standing.OWN),
        ("file:/w//ns/t/a", Standing.OWN),
        ("/w/ns/t/ü\u2028", Standing.OWN),
        ("/w/ns/t/a/", Standing.OWN),
        ("/w/files/one", Standing.OWN),
        ("/w/files/two", Standing.OUTSIDE),
        ("/w/ns/t2/a", Standing.OUTSIDE),
        ("s3://bucket/w/a", Standing.OUTSIDE),
        ("s3://bucket/w2/ns/t/a", Standing.ELSEWHERE),
        ("s3://bucket2/w/ns/t/a", Standing.ELSEWHERE),
        ("gs://bucket/w/ns/t/a", Standing.ELSEWHERE),
        ("/nowhere/t/a", Standing.ELSEWHERE),
        ("/w/others/a", Standing.ELSEWHERE),
        ("/w/others", Standing.ELSEWHERE),
        ("/w/ns/t/data/theirs.parquet", Standing.ELSEWHERE),
        ("/w/ns/t/data/theirs.parquet/a", Standing.ELSEWHERE),
        ("/w/ns/t/data/theirs.parquet2", Standing.OWN),
        ("s3://bucket/w/ns/t/theirs/a", Standing.ELSEWHERE),
        ("/w/ns/t/../t2/a", Standing.ELSEWHERE),
        ("/w/ns/t/..", Standing.ELSEWHERE),
        ("/w/ns/t/.", Standing.ELSEWHERE),
        ("/w/ns/t/%2e%2e", Standing.ELSEWHERE),
        ("/w/ns/t/%2E%2E/a", Standing.ELSEWHERE),
        ("/w/ns/t/a\x00", Standing.ELSEWHERE),
        ("/w/ns/t/" + "x" * 5_000, Standing.ELSEWHERE),
        ("a", Standing.ELSEWHERE),
        ("", Standing.ELSEWHERE),
        ("/", Standing.ELSEWHERE),
        ("/a", Standing.ELSEWHERE),
        ("s3:/bucket/w/ns/t/a", Standing.ELSEWHERE),
        ("http://bucket/w/ns/t/a", Standing.ELSEWHERE),
    ],
)
def test_a_file_is_the_table_s_own_or_outside_or_elsewhere(
    land: Territory, path: str, standing: Standing
) -> None:
    """By what its name means, whole segments at a time; asked twice the answer is the same."""
    for _ in range(2):
        folder, name = land.find(path)
        assert folder.standing_of(name) is standing


@pytest.mark.parametrize(
    "path", ["/w/ns/t/a/b", "s3a://bucket/w/ns/t/a b", "/w/ns/t/a%20", "/w/a/"]
)
def test_a_file_is_found_again_by_folder_and_name(land: Territory, path: str) -> None:
    """Both together are the location, and say the same as its key."""
    folder, name = land.find(path)

    assert f"{folder.location}/{name}" == path.rstrip("/")
    assert folder.key + name.encode() + b"\x00" == index_key(path)


def test_places_are_judged_as_files_are(land: Territory) -> None:
    """Of the places that are taken for a table, those outside of the roots are not listed."""
    assert [land.standing_of(place) for place in OWN] == [*[Standing.OWN] * 3, Standing.ELSEWHERE]
    assert land.standing_of("nonsense") is Standing.ELSEWHERE


def test_folders_that_are_remembered_are_bounded(
    land: Territory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table may have more folders than memory has room for."""
    monkeypatch.setattr(territory, "FOLDERS_KNOWN_MAX", 3)

    for number in range(10):
        folder, name = land.find(f"/w/ns/t/p={number}/a")
        assert folder.standing_of(name) is Standing.OWN

    assert len(land._folders) <= 3
