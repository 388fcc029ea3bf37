"""The tutorial, followed from its beginning to its end on a server of its own."""

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest
from pyspark.sql import SparkSession

from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.spark_session import add_catalog
from tests.clients.test_duckdb import EXTENSIONS, extension

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
DOCUMENTED_URL = "http://127.0.0.1:8181"

# pyspark leaves the socket of each result to the garbage collector, and so does Polars' client.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


class Block(NamedTuple):
    """A piece of the page that is run, or that says what comes of the one before."""

    heading: str
    language: str
    text: str


def blocks() -> Iterator[Block]:
    page = PAGE.read_text("utf-8")
    for found in BLOCK.finditer(page):
        headings = HEADING.findall(page, 0, found.start())
        yield Block(headings[-1], found[1], found[2])


def statements(text: str) -> list[str]:
    return [one.strip() for one in text.split(";") if one.strip()]


class Reader:
    """Does what the page says, block by block."""

    def __init__(self, url: str, spark: SparkSession, duck: duckdb.DuckDBPyConnection) -> None:
        self._url = url
        self._names: dict[str, object] = {}
        self._sql: dict[str, Callable[[str], list[tuple[object, ...]]]] = {
            "Read it with Spark": lambda text: [tuple(row) for row in spark.sql(text).collect()],
            "Read it with DuckDB": lambda text: duck.execute(text).fetchall(),
        }
        self.printed = ""
        self.answers: list[list[tuple[object, ...]]] = []

    def follow(self, block: Block) -> None:
        text = block.text.replace(DOCUMENTED_URL, self._url)
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(text, str(PAGE), "exec"), self._names)
            self.printed = printed.getvalue()
        elif block.language == "sql":
            self.answers += [self._sql[block.heading](one) for one in statements(text)]
        elif block.language == "text" and self._names:
            assert self.printed == block.text, block.heading


@pytest.fixture(name="duck")
def _duck(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the extension installed, as the page says; from a package, not the network."""
    with duckdb.connect(config={"extension_directory": str(tmp_path)}) as duck:
        for name in EXTENSIONS:
            duck.execute(f"INSTALL '{extension(name)}'")
            duck.execute(f"LOAD {name}")
        yield duck


def test_the_tutorial_works_as_it_is_written(
    tmp_path: Path, spark: SparkSession, duck: duckdb.DuckDBPyConnection
) -> None:
    """Each block runs, and prints what the page says it prints."""
    with HeadgateServer(tmp_path / "server") as server:
        name = "tutorial"
        add_catalog(spark, name, server.iceberg_url, "main")
        reader = Reader(server.url, spark, duck)
        for block in blocks():
            own = block.heading == "Read it with Spark"
            renamed = block.text.replace("lake.", f"{name}.") if own else block.text
            reader.follow(block._replace(text=renamed))

    counted, _, _, late, _, _, summed = reader.answers
    assert counted == [("DE", 1, 800), ("FR", 2, 1650), ("IT", 1, 990)]
    assert late == [(4, "IT")]
    assert summed == [("DE", 800), ("FR", 1650), ("IT", 990)]
