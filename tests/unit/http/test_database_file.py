"""What a probe sees of the file of an embedded database."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.errors import BackendUnavailable
from headgate.http.management import database_file
from headgate.http.management.database_file import file_check


def remove(file: Path) -> None:
    file.unlink()


def replace(file: Path) -> None:
    file.rename(file.with_suffix(".old"))
    file.touch()


@pytest.mark.parametrize("writable", [True, False])
@pytest.mark.parametrize("spoil", [remove, replace])
def test_a_file_that_is_gone_is_noticed(
    tmp_path: Path, spoil: Callable[[Path], None], writable: bool
) -> None:
    """What is open can still be read, and nobody will find what is written to it."""
    file = tmp_path / "headgate.db"
    file.touch()
    check = file_check(file, writable=writable)
    check()
    spoil(file)

    with pytest.raises(BackendUnavailable, match="it was removed or replaced"):
        check()


def test_a_full_disk_is_noticed_by_those_who_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who only reads needs no room."""
    monkeypatch.setattr(database_file, "FREE_BYTES_MIN", 1 << 62)
    file = tmp_path / "headgate.db"
    file.touch()
    file_check(file, writable=False)()

    with pytest.raises(BackendUnavailable, match="its disk is full"):
        file_check(file, writable=True)()


def test_a_file_that_may_not_be_written_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its disk was mounted anew, or somebody took the right away."""
    file = tmp_path / "headgate.db"
    file.touch()
    monkeypatch.setattr("os.access", lambda *_: False)
    file_check(file, writable=False)()

    with pytest.raises(BackendUnavailable, match="it may only be read"):
        file_check(file, writable=True)()
