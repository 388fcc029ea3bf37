"""Where imported catalogs may lie, as settings say."""

from pathlib import Path

import pytest

from headgate.clock import SystemClock
from headgate.errors import BadRequest, BadSetting
from headgate.import_settings import operator_checks, requested_checks
from headgate.settings.loading import load
from headgate.settings.setting import Settings
from headgate.storage.gateway import StorageGateway
from headgate.storage.options import StorageOptions

STORAGE = StorageGateway(StorageOptions(), SystemClock())


def settings(folder: Path, **flags: str) -> Settings:
    named = {name.replace("__", ".").replace("_", "-"): text for name, text in flags.items()}
    return load(flags={"data": str(folder / "data"), "audit.file": "-", **named})


@pytest.mark.parametrize("place", ["data", "data/keys", "data/headgate.db", "."])
def test_nobody_imports_catalogs_that_hold_the_server_s_own_files(
    tmp_path: Path, place: str
) -> None:
    """Neither an operator nor a caller over HTTP, whatever else is allowed."""
    allowing = settings(tmp_path, catalogs__allowed_locations="/elsewhere")
    location = f"file://{(tmp_path / place).resolve()}"
    for checks in (operator_checks(allowing, STORAGE), requested_checks(allowing, STORAGE)):
        with pytest.raises(BadSetting, match="keeps files of its own there"):
            checks.check(location)


def test_an_operator_chooses_freely(tmp_path: Path) -> None:
    """As when the operator creates a catalog."""
    operator_checks(settings(tmp_path), STORAGE).check("/anywhere/else")


def test_a_caller_over_http_imports_what_it_could_create(tmp_path: Path) -> None:
    """Below the folder for catalogs, in what is allowed, and where the first catalog may lie."""
    checks = requested_checks(
        settings(
            tmp_path,
            catalogs__allowed_locations="s3://lake/shared",
            bootstrap__allowed_locations="s3://lake/first",
        ),
        STORAGE,
    )
    for fine in ("s3://lake/shared/x", "s3://lake/first", f"{tmp_path}/data/warehouses/x"):
        checks.check(fine)
    checks.check(f"{tmp_path}/data/warehouse")
    for foreign in ("s3://lake", "s3://lake/sharedx", "/etc", f"{tmp_path}/data/warehouses"):
        with pytest.raises(BadRequest, match="not allowed") as refused:
            checks.check(foreign)
        assert "catalogs.allowed-locations" in refused.value.fix
