"""The reference pages are made from the code, and say all of it."""

import subprocess
import sys
from pathlib import Path

from headgate import errors
from headgate.settings.table import SETTINGS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def test_every_setting_is_documented() -> None:
    """The reference has a heading for each setting."""
    page = (REFERENCE / "settings.md").read_text("utf-8")

    assert [setting.name for setting in SETTINGS if f"\n### `{setting.name}`\n" not in page] == []


def test_every_error_is_documented() -> None:
    """The reference has a heading for each class of the error tree."""
    page = (REFERENCE / "errors.md").read_text("utf-8")
    names = [name for name, value in vars(errors).items() if isinstance(value, type)]

    assert [name for name in names if f"\n## `{name}`\n" not in page] == []


def test_no_reference_page_is_stale() -> None:
    """Generating the reference again would change nothing."""
    answer = subprocess.run(
        [sys.executable, "-m", "docs.generate", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (0, "")
