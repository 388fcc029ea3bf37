"""The table: every row keeps the rules, and fits what it is handed to."""

import math

import pytest

from headgate.settings.loading import load
from headgate.settings.setting import Setting
from headgate.settings.table import FAMILIES, SETTINGS
from headgate.storage.options import (
    SECRETS,
    AzureOptions,
    GcsOptions,
    Options,
    S3Options,
    StorageOptions,
)

STORES = {"s3.": S3Options(), "gcs.": GcsOptions(), "azure.": AzureOptions()}


def settings_of(prefix: str) -> list[Setting[object]]:
    return [setting for setting in SETTINGS if setting.name.startswith(prefix)]


def field_of(setting: Setting[object]) -> str:
    """The option that a setting of an object store is handed to."""
    field = setting.name.partition(".")[2].replace("-", "_")
    return "duration_seconds" if field == "credential_seconds" else field


def test_every_default_would_be_accepted() -> None:
    """No default breaks the rule of its own setting."""
    values = [value for value in load() if value.value != ""]

    assert [value.setting.parse(value.value) for value in values] == [
        value.value for value in values
    ]


def test_names_and_variables_are_unique() -> None:
    """No two settings share a name, an alias or an environment variable."""
    names = [name for setting in SETTINGS for name in (setting.name, *setting.aliases)]

    assert len(set(names)) == len(names)
    assert len({setting.variable for setting in SETTINGS}) == len(SETTINGS)


def test_settings_of_one_prefix_are_of_one_family() -> None:
    """Whoever looks for `s3.` finds all of it in one place."""
    families = {
        (setting.name.partition(".")[0], family)
        for family, settings in FAMILIES.items()
        for setting in settings
    }

    assert len({prefix for prefix, _ in families}) == len(families)


def test_every_number_has_a_bound() -> None:
    """No number may be so small that nothing works; a port is the only one without a unit."""
    numbers = [setting for setting in SETTINGS if setting.type in {int, float}]

    assert [one.name for one in numbers if one.least == -math.inf] == []
    assert [one.name for one in numbers if not one.unit] == ["http.port"]


def test_what_is_empty_is_explained() -> None:
    """A default that would be shown as nothing says what happens instead."""
    assert [setting.name for setting in SETTINGS if not setting.default_shown] == []


@pytest.mark.parametrize(("prefix", "options"), STORES.items())
def test_an_object_store_has_a_setting_for_each_option(prefix: str, options: Options) -> None:
    """Names, defaults and secrets of settings are those of the options they are handed to."""
    settings = settings_of(prefix)

    assert [field_of(one) for one in settings] == list(options.__struct_fields__)
    assert [one.default for one in settings] == [
        getattr(options, field) for field in options.__struct_fields__
    ]
    assert {field_of(one) for one in settings if one.secret} == SECRETS & {
        *options.__struct_fields__
    }


def test_local_files_are_forced_to_the_disk_unless_told_otherwise() -> None:
    """The setting has the default of the option."""
    default = next(one.default for one in SETTINGS if one.name == "storage.local-sync")

    assert default is StorageOptions().local_sync
