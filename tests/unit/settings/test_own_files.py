"""Tables do not lie where the server keeps files of its own."""

from pathlib import Path

import pytest

from headgate.errors import BadSetting
from headgate.server_settings import catalog_places, check_warehouse
from headgate.settings.loading import load
from headgate.settings.own_files import check_apart


@pytest.mark.parametrize("place", ["data", "data/", ".", "data/keys", "data/keys/x", "link"])
def test_a_catalog_does_not_lie_where_the_store_and_its_keys_do(tmp_path: Path, place: str) -> None:
    """Its files would be orphans, as no table refers to them."""
    (tmp_path / "link").symlink_to(tmp_path / "data")
    settings = load(flags={"data": str(tmp_path / "data")})
    location = f"file://{tmp_path}" if place == "." else f"file://{tmp_path}/{place}"

    with pytest.raises(BadSetting, match="keeps files of its own there"):
        check_apart(settings, location)
    with pytest.raises(BadSetting, match="keeps files of its own there"):
        catalog_places(settings).check(location)
    with pytest.raises(BadSetting, match="keeps files of its own there"):
        check_warehouse(
            load(flags={"data": str(tmp_path / "data"), "bootstrap.warehouse": location})
        )


@pytest.mark.parametrize(
    "flags",
    [{"backend": "sqlite://{}/lake/h.db"}, {"audit.file": "{}/lake/logs/audit.log"}],
    ids=["store", "audit"],
)
def test_files_that_lie_elsewhere_count_too(tmp_path: Path, flags: dict[str, str]) -> None:
    """A database and an audit can have places of their own."""
    named = {name: text.format(tmp_path) for name, text in flags.items()}
    settings = load(flags={"data": str(tmp_path / "data"), **named})

    with pytest.raises(BadSetting, match="keeps files of its own there"):
        check_apart(settings, f"file://{tmp_path}/lake")
    check_apart(settings, f"file://{tmp_path}/lake/tables")


@pytest.mark.parametrize("place", ["file://{}/data/warehouse", "file://{}/data2", "s3://b/data"])
def test_folders_beside_them_are_for_tables(tmp_path: Path, place: str) -> None:
    """As the folder `warehouse` of the data directory, and all object stores."""
    settings = load(flags={"data": str(tmp_path / "data"), "audit.file": "-"})

    check_apart(settings, place.format(tmp_path))
    check_warehouse(settings)
