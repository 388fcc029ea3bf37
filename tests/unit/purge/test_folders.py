"""A few folders that stand for many."""

from functools import reduce
from operator import or_
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.locations import index_key
from headgate.purge import folders as told
from headgate.purge.folders import Folders, parent_of
from headgate.purge.surveyor import Outside

stores = st.sampled_from(["", "s3://one", "s3://two", "gs://one"])
names = st.sampled_from(["a", "a0", "b", "p=1", "é"])
files = st.tuples(stores, st.lists(names, min_size=1, max_size=5)).map(
    lambda parts: "/".join((parts[0], *parts[1]))
)
some = st.lists(files.map(index_key), max_size=8)


def folders_of(keys: list[bytes]) -> Folders:
    """In which these files lie, as a survey finds them at once."""
    return Folders(frozenset(map(parent_of, keys)))


def outside(folders: Folders) -> Outside:
    return Outside(tuple(sorted(folders.flat)), tuple(sorted(folders.trees)))


def flat(*locations: str) -> Folders:
    return Folders(frozenset(map(index_key, locations)))


@given(st.lists(st.lists(some, max_size=3), max_size=4), st.integers(1, 6))
def test_no_file_that_is_there_is_denied(manifests: list[list[list[bytes]]], most: int) -> None:
    """However few are told apart, and in whatever portions they are found and remembered."""
    with patch.object(told, "REFERENCE_FOLDERS_MAX", most):
        known = [reduce(or_, map(folders_of, portions), Folders()) for portions in manifests]
        together = reduce(or_, known, Folders())
    found = outside(together)

    keys = [key for portions in manifests for portion in portions for key in portion]
    assert found.is_nothing is not bool(keys)
    assert all(len(one.flat) + len(one.trees) <= most for one in (together, *known))
    for key in keys:
        assert found.lies_in({parent_of(key)})
        place = key  # a place may be the file itself, or anything that it lies in
        while place:
            assert found.touches((place,))
            place = parent_of(place)


@given(st.lists(some, max_size=4), files.map(index_key))
def test_few_folders_are_told_exactly(portions: list[list[bytes]], place: bytes) -> None:
    """Nothing is touched but what holds one of the files, or lies beside it as a file would."""
    keys = [key for portion in portions for key in portion]
    found = outside(reduce(or_, map(folders_of, portions), Folders()))

    folders = set(map(parent_of, keys))
    assert not found.trees
    assert found.lies_in({place}) is (place in folders)
    assert found.touches((place,)) is any(
        folder.startswith(place) or folder == parent_of(place) for folder in folders
    )


@pytest.mark.parametrize(
    ("most", "left", "trees"),
    [
        (6, ["/w", "/w/a/p/1", "/w/a/p/2", "/w/a/q/1", "/w/b/p", "/w/c/p"], []),
        (5, ["/w", "/w/a/q/1", "/w/b/p", "/w/c/p"], ["/w/a/p"]),
        (4, ["/w", "/w/b/p", "/w/c/p"], ["/w/a"]),
        (3, [], ["/w"]),
        (1, [], ["/w"]),
    ],
)
def test_the_deepest_give_way_to_what_they_have_in_common(
    monkeypatch: pytest.MonkeyPatch, most: int, left: list[str], trees: list[str]
) -> None:
    """Not all of them, if a few are enough; a parent stands for all below it."""
    monkeypatch.setattr(told, "REFERENCE_FOLDERS_MAX", most)
    folders = flat("/w", "/w/a/p/1", "/w/a/p/2", "/w/a/q/1", "/w/b/p", "/w/c/p")

    found = Folders() | folders

    assert found == Folders(flat(*left).flat, flat(*trees).flat)
    assert found | folders == found


def test_only_folders_of_several_stores_may_be_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one bucket are in that bucket at least."""
    monkeypatch.setattr(told, "REFERENCE_FOLDERS_MAX", 1)
    one = outside(Folders() | flat("s3://one/a", "s3://one/b"))
    all = outside(Folders() | flat("s3://one/a", "gs://one/b"))

    assert one.trees == (index_key("s3://one"),)
    assert one.touches((index_key("s3://one/c/d"),))
    assert not one.touches((index_key("s3://two/a"),))
    assert all.touches((index_key("/anywhere"),))
    assert all.lies_in({index_key("/anywhere")})
