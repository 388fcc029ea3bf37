"""`headgate demo` as a user runs it: a real server, real tables, and nothing left behind."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog

from headgate.cli.tour import STEPS
from tests.acceptance.conftest import EXECUTABLE

SECONDS_MAX = 120.0


@contextlib.contextmanager
def started(folder: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """The demo, with `folder` as the place of temporary files and a setting it must not obey."""
    process = subprocess.Popen(
        [EXECUTABLE, "demo", *options],
        env=os.environ | {"TMPDIR": str(folder), "HEADGATE_READ_ONLY": "true"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def finished(folder: Path, *options: str) -> str:
    """What it says until it ends well."""
    with started(folder, *options) as process:
        out, err = process.communicate(timeout=SECONDS_MAX)
    assert (process.returncode, err) == (0, ""), out
    assert list(folder.iterdir()) == []
    return out


def results(text: str) -> dict[str, Any]:
    steps = [json.loads(line) for line in text.splitlines()]
    assert [step.get("step") for step in steps] == [*range(1, len(STEPS) + 1), None]
    return {step["title"]: step["result"] for step in steps[:-1]}


def test_every_step_does_what_it_says(tmp_path: Path) -> None:
    """The results of the whole tour, as a program reads them."""
    found = results(finished(tmp_path, "--json"))

    assert found["Nested namespaces"] == [["shop", "asia"], ["shop", "europe"]]
    assert "partition by: [country]" in found["A partitioned table"]
    assert [row["id"] for row in found["Two appends"]] == [1, 2, 3, 4]
    filtered = found["A filter, planned by the server"]
    assert filtered["files to read"] == "2 of 4"
    assert [row["id"] for row in filtered["rows"]] == [1, 3]
    assert found["Time travel"] == {"then": 2, "now": 4}
    assert found["A branch"] == {"main": 4, "draft": 5}
    assert found["A view"] == [["shop", "europe", "by_country"]]
    assert found["A schema change"][0] == {
        "id": 1,
        "country": "FR",
        "article": "lamp",
        "price": None,
    }
    assert found["Two writers at once"] == [11, 12, 13, 21, 22, 23]
    assert found["A transaction over two tables"] == {
        "one refuses": "409, audited: [False, False]",
        "both agree": "204, audited: [True, True]",
    }
    assert found["A retry that does nothing twice"] == {
        "first": 200,
        "the same again": 200,
        "without the key": "409 AlreadyExistsException",
    }
    assert found["A right that is taken away"] == {
        "without a role": 403,
        "after the grant": 200,
        "after the revoke": 403,
    }
    purged = found["A drop with purge"]
    assert purged["files before"] > 0
    assert (purged["tables"], purged["files after"]) == ([], [])


def test_people_see_code_results_and_where_to_go_next(tmp_path: Path) -> None:
    """Each step has its title, its code and its result; the end has snippets."""
    text = finished(tmp_path)

    for number, title in enumerate(STEPS, 1):
        assert f"\n{number}. {title}\n" in text
    assert '    catalog.create_namespace("shop.europe")\n' in text
    assert "  → id  country  item\n  → 1   FR       lamp\n" in text
    assert 'load_catalog("headgate", type="rest", uri="http://127.0.0.1:8181/iceberg")' in text
    assert text.endswith("--keep leaves it running.\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_is_kept_until_it_is_told_to_stop(tmp_path: Path, number: int) -> None:
    """With --keep the lake can be used; then Ctrl-C or SIGTERM ends it, and nothing is left."""
    with started(tmp_path, "--keep", "--json") as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(len(STEPS) + 1)]
        url = json.loads(said[-1])["url"]
        catalog = load_catalog("demo", type="rest", uri=f"{url}/iceberg")
        assert catalog.list_tables("shop.europe") == [("shop", "europe", "orders")]
        catalog.close()

        process.send_signal(number)
        _, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (0, "")
    assert list(tmp_path.iterdir()) == []
