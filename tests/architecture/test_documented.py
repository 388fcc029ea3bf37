"""The reference pages are made from the code, and say all of it."""

import subprocess
import sys
from pathlib import Path

from headgate import errors
from headgate.http.iceberg.routes import ROUTES as ICEBERG_ROUTES
from headgate.http.management.routes import ROUTES as MANAGEMENT_ROUTES
from headgate.http.measures import FAMILIES
from headgate.http.problems import ICEBERG, PLAIN
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


def test_every_error_is_documented_as_clients_see_it() -> None:
    """The reference has the status and type of each error, in each protocol."""
    page = (REFERENCE / "errors.md").read_text("utf-8")
    sections = dict(part.split("`\n", 1) for part in page.split("\n## `")[1:])
    silent = [
        (name, dialect.name)
        for name, text in sections.items()
        for dialect in (ICEBERG, PLAIN)
        if "{0.status} `{0.type}`".format(dialect.problem_of(getattr(errors, name))) not in text
    ]

    assert sections
    assert silent == []


def test_every_endpoint_is_documented() -> None:
    """The reference has a heading and the path of each route."""
    page = (REFERENCE / "endpoints.md").read_text("utf-8")
    wanted = [
        f"\n### `{route.operation}`\n\n`{route.method} {prefix}{route.template}`\n"
        for prefix, routes in (("/iceberg", ICEBERG_ROUTES), ("", MANAGEMENT_ROUTES))
        for route in routes
    ]

    assert len(wanted) >= 35
    assert [text for text in wanted if text not in page] == []


def test_every_metric_is_documented() -> None:
    """The reference has a line for each family of numbers."""
    page = (REFERENCE / "metrics.md").read_text("utf-8")

    assert [name for name in FAMILIES if f"\n| `{name}` |" not in page] == []


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
