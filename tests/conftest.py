"""What all tests share: how long to look, and chance that can be repeated."""

import os
from collections.abc import Iterator

import hypothesis
import pytest

from headgate.testing.postgresql import PostgresqlServer

FULL = os.environ.get("HEADGATE_FULL") == "1"
"""True in `./test full`: the long campaigns run too."""

hypothesis.settings.register_profile(
    "quick", deadline=None, print_blob=True, max_examples=50, stateful_step_count=30
)
hypothesis.settings.register_profile(
    "full", deadline=None, print_blob=True, max_examples=1000, stateful_step_count=60
)
hypothesis.settings.load_profile("full" if FULL else "quick")


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    """One PostgreSQL server for the whole run, started by the first test that asks for it."""
    with PostgresqlServer() as server:
        yield server
