"""Whose place a file lies in."""

from pathlib import Path

from headgate.pipelines.orphans_places import Owner, Places

TABLE = Owner("s3a://b/wh/t", "main.a.t")
PURGE = Owner("s3://b/wh/p", "main.a.p", "its purge is not over")
FILE = Owner("s3://b/wh/t/data/taken", "main.a.p", "its purge is not over")
PLACES = Places(["s3a://b/wh"], [TABLE, PURGE, FILE])


def test_the_nearest_place_counts() -> None:
    """Boundaries are slashes; what lies in no place is the root's."""
    assert PLACES.owner_of("s3://b/wh/t/data/x") == TABLE
    assert PLACES.owner_of("s3://b/wh/t2/x") == Owner("s3a://b/wh")
    assert PLACES.owner_of("s3://b/wh/x") == Owner("s3a://b/wh")


def test_what_is_kept_comes_first() -> None:
    """A file that a purge has taken is a place, also in that of a table."""
    around = Places(["s3://b"], [TABLE, Owner("s3://b/wh", "catalog other", "another catalog's")])

    assert PLACES.owner_of("s3://b/wh/p/x") == PURGE
    assert PLACES.owner_of("s3://b/wh/t/data/taken") == FILE
    kept = around.owner_of("s3://b/wh/t/x")
    assert kept is not None
    assert kept.kept == "another catalog's"


def test_with_a_doubt_what_nobody_has_is_kept() -> None:
    """A table that can be read has its own all the same."""
    places = Places(["s3://b/wh"], [TABLE], "it may belong to main.a.x")

    assert places.owner_of("s3://b/wh/t/x") == TABLE
    assert places.owner_of("s3://b/wh/x") == Owner("s3://b/wh", kept="it may belong to main.a.x")


def test_what_lies_below_no_root_is_nobodys() -> None:
    """Nothing of it is touched."""
    assert PLACES.owner_of("s3://b/other/x") is None
    assert PLACES.owner_of("s3://c/wh/t/x") is None


def test_files_are_called_as_their_root_is(tmp_path: Path) -> None:
    """Also where the root is a link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    linked = Places([f"file:{tmp_path}/link/"], [])

    assert PLACES.location_of("s3://b/wh/t/x") == "s3a://b/wh/t/x"
    assert linked.location_of(f"file://{tmp_path}/real/x") == f"file:{tmp_path}/link/x"
