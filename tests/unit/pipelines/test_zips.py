"""What tasks on executors do so that the next one begins at once."""

import importlib
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from headgate.pipelines.zips import forget_zips


def test_zip_files_are_not_read_anew_before_each_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are forgotten; all that is in them can still be imported, and all others are known."""
    place = tmp_path / "packed.zip"
    with ZipFile(place, "w") as packed:
        for name in ("zipped_first", "zipped_second"):
            packed.writestr(f"{name}.py", "")
    monkeypatch.syspath_prepend(str(place))
    importlib.import_module("zipped_first")
    folders = {name for name in sys.path_importer_cache if not name.endswith(".zip")}

    assert str(place) in sys.path_importer_cache

    forget_zips()

    assert str(place) not in sys.path_importer_cache
    assert folders <= set(sys.path_importer_cache)
    assert importlib.import_module("zipped_second").__file__ == f"{place}/zipped_second.py"
