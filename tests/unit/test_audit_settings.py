"""Where decisions are recorded, by the settings."""

from pathlib import Path

import pytest

from headgate.errors import BadSetting
from headgate.server_settings import audit_file
from headgate.settings.loading import load
from headgate.settings.setting import Settings


def settings(data: Path, file: str = "", *, authorization: bool = True) -> Settings:
    pairs = {"audit.file": file, "authorization.enabled": str(authorization).lower()}
    return load(flags={"data": str(data), **pairs})


@pytest.mark.parametrize(("file", "authorization"), [("", False), ("none", True)])
def test_nothing_is_recorded_if_nobody_wants_it(
    tmp_path: Path, file: str, authorization: bool
) -> None:
    """Without authorization nothing is decided; the operator may want no audit."""
    assert audit_file(settings(tmp_path, file, authorization=authorization)) is None
    assert list(tmp_path.iterdir()) == []


def test_the_data_directory_has_the_audit_unless_said_otherwise(tmp_path: Path) -> None:
    """Also if the directory is not there yet."""
    data = tmp_path / "data"
    file = audit_file(settings(data))
    assert file is not None
    file.append(b"1\n")
    file.close()

    assert (data / "audit.log").read_bytes() == b"1\n"


def test_a_file_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    """Nothing else is made."""
    wanted = tmp_path / "elsewhere.log"
    file = audit_file(settings(tmp_path / "data", str(wanted), authorization=False))
    assert file is not None
    file.close()

    assert list(tmp_path.iterdir()) == [wanted]


def test_standard_output_needs_no_file(tmp_path: Path) -> None:
    """It is open already."""
    assert audit_file(settings(tmp_path, "-")) is not None
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """Before the first request."""
    with pytest.raises(BadSetting, match="cannot be written to"):
        audit_file(settings(tmp_path, str(tmp_path)))
