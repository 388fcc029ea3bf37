"""What all tests share: how long to look, chance that can be repeated, and servers of a run."""

import gc
import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import hypothesis
import pytest

from headgate.testing.postgresql import PostgresqlServer
from headgate.testing.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """The one Spark of a whole run, on Java 17, started by the first test that asks for it."""
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()  # pyspark leaves the sockets of some results to this
