"""Listing places in parts, and looking at what is left of a listing."""

import os
from pathlib import Path

import pytest

from headgate.errors import Forbidden, StorageUnavailable
from headgate.pipelines.bounds import ORPHANS_PARTS_MAX
from headgate.pipelines.orphans_finding import Finder, Orphan, Terms
from headgate.pipelines.orphans_listing import Part, divide, without_twins
from headgate.pipelines.orphans_places import Owner, Places
from headgate.storage import listing
from headgate.storage.listing import Listing
from headgate.storage.options import StorageOptions
from headgate.storage.worker_files import WorkerFiles
from tests.unit.pipelines.orphans_lake import listed


def at(*roots: str) -> WorkerFiles:
    return WorkerFiles(StorageOptions(), roots)


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")


def names_in(folder: Path) -> list[str]:
    keys = [row["key"] for row in listed(at(str(folder)), [str(folder)])]
    return sorted(key.removeprefix(f"file://{folder}/") for key in keys)


def test_places_are_cut_at_their_folders() -> None:
    """Upper folders are listed by themselves, the others with all that is in them."""
    folders = {"/w": ["/w/a", "/w/b"], "/w/b": ["/w/b/c"]}

    parts = divide(["/w"], lambda place: folders.get(place, []))

    assert parts == [
        Part("/w", deep=False),
        Part("/w/a", deep=True),
        Part("/w/b", deep=False),
        Part("/w/b/c", deep=True),
    ]


def test_there_are_enough_parts_and_not_many_more() -> None:
    """However deep and wide a place is."""
    asked = []

    def folders(place: str) -> list[str]:
        asked.append(place)
        return [f"{place}/{number}" for number in range(10)]

    parts = divide(["/w"], folders)

    assert ORPHANS_PARTS_MAX <= len(parts) < ORPHANS_PARTS_MAX + 10
    assert len(asked) < 10


def test_all_files_are_listed_once_and_links_are_not_followed(tmp_path: Path) -> None:
    """A link is no file; names are literal; one that is no text cannot be referred to."""
    write(tmp_path / "w", "x", "a/y", "a/b/z%20 é", "a/b/c/d/e/f")
    write(tmp_path, "elsewhere/hidden")
    (tmp_path / "w" / "a" / "folder").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "w" / "file").symlink_to(tmp_path / "elsewhere" / "hidden")
    (tmp_path / "w" / os.fsdecode(b"\xff")).touch()
    (tmp_path / "w" / "empty").mkdir()

    assert names_in(tmp_path / "w") == ["a/b/c/d/e/f", "a/b/z%20 é", "a/y", "x"]


def test_what_has_no_location_stops_nobody_and_is_no_orphan(tmp_path: Path) -> None:
    """A partition of the value `a/.` has such a folder, and what a table names in it is its own."""
    write(tmp_path / "w", "x", "p=a%2F./y", "deep/p=a%2F./z", "a%2F..")
    root = str(tmp_path / "w")
    finder = Finder(Terms(at(root), Places([root], []), 1 << 45))
    rows = listed(at(root), [root])

    found = list(finder.find((row["key"], row["size"], row["modified"]) for row in rows))

    assert [orphan.path for orphan in found] == [f"{root}/x"]


def test_odd_objects_are_no_orphans() -> None:
    """They are listed by their literal names, and could not be opened."""
    finder = Finder(Terms(at("s3://b/wh"), Places(["s3://b/wh"], []), 5_000))
    names = ("p=a%2F./x", "x")

    found = list(finder.find((f"s3://b/wh/{name}", 7, 1) for name in names))

    assert [orphan.path for orphan in found] == ["s3://b/wh/x"]
    assert finder.kept == 1


def test_many_files_without_folders_are_not_looked_through_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are listed as one part, and so is what turns out to have folders all the same."""
    monkeypatch.setattr(listing, "SAMPLE_ENTRIES", 2)
    write(tmp_path, "a", "b", "c")

    folders = Listing(at(str(tmp_path))).folders(str(tmp_path))

    assert folders == []
    assert names_in(tmp_path) == ["a", "b", "c"]


def test_nothing_is_listed_but_what_was_asked_for(tmp_path: Path) -> None:
    """A place elsewhere is refused, also if a link leads to it."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "link").symlink_to(tmp_path)
    files = Listing(at(str(tmp_path / "w")))

    with pytest.raises(Forbidden):
        list(files.files(str(tmp_path), deep=True))
    with pytest.raises(Forbidden):
        list(files.files(f"{tmp_path}/w/link", deep=True))


def test_a_place_that_cannot_be_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is known of what is in there; a folder that went is another matter."""

    def scandir(folder: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("headgate.storage.listing.os.scandir", scandir)

    with pytest.raises(StorageUnavailable, match="Permission denied"):
        list(Listing(at(str(tmp_path))).files(str(tmp_path), deep=True))


def test_checksums_belong_to_their_files() -> None:
    """One without a file is a file like others."""
    names = [".a.crc", "a", ".b.crc", ".crc", "c.crc", ".c"]

    assert without_twins(names) == ["a", ".b.crc", ".crc", "c.crc", ".c"]


def test_files_are_orphans_if_they_are_old_and_nobody_keeps_them(tmp_path: Path) -> None:
    """What is too young, kept, or gone by now is none."""
    write(tmp_path, "t/old", "t/young", "kept/old")
    for name in ("t/old", "kept/old"):
        os.utime(tmp_path / name, (1, 1))
    root, table, kept = (str(tmp_path / name) for name in ("", "t", "kept"))
    places = Places([root], [Owner(table, "main.t"), Owner(kept, "main.k", "in doubt")])
    finder = Finder(Terms(at(root), places, 5_000))

    found = list(
        finder.find(
            iter(
                [
                    *((f"file://{tmp_path}/{name}", None, None) for name in ("t/old", "t/young")),
                    *((f"file://{tmp_path}/{name}", None, None) for name in ("kept/old", "t/no")),
                    (f"file://{tmp_path}/x", 7, 4_999),
                    (f"file://{tmp_path}/y", 7, 5_000),
                ]
            )
        )
    )

    old = f"{tmp_path}/t/old"
    assert found == [
        Orphan(f"file://{old}", old, 5, 1_000, table, "main.t"),
        Orphan(f"file://{tmp_path}/x", f"{tmp_path}/x", 7, 4_999, root, ""),
    ]
    assert (finder.young, finder.kept) == (2, 1)
