"""Where files of fixtures are written."""

import pytest

from headgate.pipelines.fixtures.places import local_path


@pytest.mark.parametrize(
    "location", ["/w/a%20b#1?/x", "file:/w/a%20b#1?/x", "file:///w/a%20b#1?/x"]
)
def test_locations_are_literal(location: str) -> None:
    """Whoever reads the table looks for its files under the same names."""
    assert local_path(location) == "/w/a%20b#1?/x"


def test_a_file_may_name_this_machine() -> None:
    """Some clients do."""
    assert local_path("file://localhost/w/x") == "/w/x"
