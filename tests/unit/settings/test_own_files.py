"""Tables do not lie where the server keeps files of its own."""

from pathlib import Path

import pytest

from headgate.cli.serve import check_settings
from headgate.errors import BadSetting
from headgate.server_settings import catalog_places, check_warehouse, lake_options
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
    [
        {"backend": "sqlite://{}/lake/h.db"},
        {"audit.file": "{}/lake/logs/audit.log"},
        {"security.master-key-file": "{}/lake/logs/master.key"},
        {"s3.credentials-file": "{}/lake/logs/s3.json"},
        {"log.checkpoint-file": "{}/lake/logs/log.jsonl"},
    ],
    ids=["store", "audit", "key", "credentials", "checkpoints"],
)
def test_files_that_lie_elsewhere_count_too(tmp_path: Path, flags: dict[str, str]) -> None:
    """A database, an audit and keys can have locations of their own."""
    named = {name: text.format(tmp_path) for name, text in flags.items()}
    settings = load(flags={"data": str(tmp_path / "data"), **named})

    [setting] = flags
    with pytest.raises(BadSetting, match=rf"files of its own there: .* \(setting {setting}\)"):
        check_apart(settings, f"file://{tmp_path}/lake")
    check_apart(settings, f"file://{tmp_path}/lake/tables")


@pytest.mark.parametrize("place", ["headgate.db", "headgate.db-wal", "audit.log", "audit.log/x"])
def test_no_file_of_the_data_directory_is_a_location(tmp_path: Path, place: str) -> None:
    """Also before it is there: the server makes it later."""
    settings = load(flags={"data": str(tmp_path / "data")})

    with pytest.raises(BadSetting, match=f"files of its own there: {tmp_path}/data/"):
        check_apart(settings, f"file://{tmp_path}/data/{place}")


def test_links_count_by_their_names_and_by_where_they_lead(tmp_path: Path) -> None:
    """A data directory that is a link lies in the folder of the link and in that of its target."""
    (tmp_path / "real" / "data").mkdir(parents=True)
    (tmp_path / "named").mkdir()
    (tmp_path / "named" / "data").symlink_to(tmp_path / "real" / "data")
    settings = load(flags={"data": str(tmp_path / "named" / "data")})

    for place in ("real", "named", "real/data/keys", "named/data/keys/x"):
        with pytest.raises(BadSetting, match="keeps files of its own there"):
            check_apart(settings, f"file://{tmp_path}/{place}")


@pytest.mark.parametrize(
    "setting",
    [
        "bootstrap.warehouse",
        "bootstrap.allowed-locations",
        "catalogs.warehouse",
        "catalogs.allowed-locations",
    ],
)
@pytest.mark.parametrize("place", ["", "/data", "/data/keys"])
def test_no_setting_lets_tables_lie_there(tmp_path: Path, setting: str, place: str) -> None:
    """At, above or inside of the server's own files: refused before anything is made."""
    location = f"file://{tmp_path}{place}"
    settings = load(flags={"data": str(tmp_path / "data"), setting: location})

    with pytest.raises(BadSetting, match=f"tables cannot lie in {location}: the server keeps"):
        check_settings(settings)


@pytest.mark.parametrize("place", ["file://{}/data/warehouse", "file://{}/data2", "s3://b/data"])
def test_folders_beside_them_are_for_tables(tmp_path: Path, place: str) -> None:
    """As the folder `warehouse` of the data directory, and all object stores."""
    settings = load(flags={"data": str(tmp_path / "data"), "audit.file": "-"})

    check_apart(settings, place.format(tmp_path))
    check_warehouse(settings)


@pytest.mark.parametrize("place", ["/data", "", "/data/keys", "/data/keys/x", "/data/audit.log"])
def test_the_folder_that_a_refusal_names_can_be_chosen(tmp_path: Path, place: str) -> None:
    """It is neither inside of the keys nor another file of the server."""
    settings = load(flags={"data": str(tmp_path / "data")})
    with pytest.raises(BadSetting, match="setting data") as refused:
        check_apart(settings, f"file://{tmp_path}{place}")
    example = refused.value.fix.rpartition("such as ")[2]

    assert example in {f"file://{tmp_path}/tables", f"file://{tmp_path}/data/tables"}
    check_apart(settings, example)
    assert lake_options(settings).can_be_allowed(example)
    assert not lake_options(settings).can_be_allowed(f"file://{tmp_path}{place}")
