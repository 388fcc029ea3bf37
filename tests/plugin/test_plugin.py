"""The pytest plugin, used as another project would."""

from pathlib import Path

import pytest

from headgate.testing.plugin import create_catalog

pytest_plugins = ["pytester"]

TESTS = """
from pyiceberg.catalog import load_catalog


def test_a_table(headgate_catalog):
    catalog = load_catalog("test", **headgate_catalog.properties)
    catalog.create_namespace("a")
    assert catalog.list_namespaces() == [("a",)]
    assert headgate_catalog.location.endswith(headgate_catalog.warehouse)


def test_another_catalog(headgate_catalog):
    catalog = load_catalog("test", **headgate_catalog.properties)
    assert catalog.list_namespaces() == []
"""


def test_each_test_of_another_project_gets_an_empty_catalog(pytester: pytest.Pytester) -> None:
    """Two tests use one server and do not see each other's namespaces."""
    pytester.makepyfile(TESTS)

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=2)


def test_the_store_of_the_user_is_left_alone(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings in the environment name another store and metalake; neither is touched."""
    own = pytester.path / "own"
    monkeypatch.setenv("HEADGATE_DATA", str(own))
    monkeypatch.setenv("HEADGATE_BACKEND", f"sqlite://{own}/own.db")
    monkeypatch.setenv("HEADGATE_BOOTSTRAP_METALAKE", "own")
    pytester.makepyfile(TESTS)

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=2)
    assert not own.exists()


def test_a_catalog_that_cannot_be_made_is_an_error_that_says_why(tmp_path: Path) -> None:
    """What the command wrote on standard error is in the error of the test."""
    (tmp_path / "data").write_text("no folder")

    with pytest.raises(RuntimeError, match="data is no folder"):
        create_catalog("a", tmp_path / "data")


def test_the_plugin_costs_nothing_before_it_is_used(pytester: pytest.Pytester) -> None:
    """Loading it imports neither the server nor the kernel."""
    Path(pytester.path / "test_idle.py").write_text(
        "import sys\n\n\ndef test_idle():\n    assert 'headgate.kernel' not in sys.modules\n"
    )

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)
