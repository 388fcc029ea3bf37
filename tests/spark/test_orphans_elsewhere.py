"""`headgate pipeline orphans` beside other catalogs, whose tables refer to files of this one."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headgate.pipelines.orphans import OrphansOptions, OrphansSummary, run
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions
from headgate.testing.headgate_server import HeadgateServer
from tests.spark.elsewhere import Other
from tests.spark.orphaned import Lake, folder_of, local, plant

# PySpark's own toLocalIterator leaves its socket to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


def search(server: HeadgateServer, report: Path, *, delete: bool) -> OrphansSummary:
    """One run, in the Spark of all tests."""
    options = OrphansOptions("main", report=str(report), delete=delete)
    return run(options, Server(server.url), SparkOptions(), Report(is_quiet=True))


def paths_in(report: Path) -> set[str]:
    return {local(row["path"]) for row in pq.read_table(report).to_pylist()}


def test_what_tables_of_other_catalogs_refer_to_is_no_orphan(
    server: HeadgateServer, spark: SparkSession, tmp_path: Path
) -> None:
    """Wherever it lies, whatever leads to it, and in whichever metalake they are. What is beside it
    is found, and so is what it left when its table was dropped."""
    lake = Lake(server)
    folder = folder_of(lake.make("shop", "t"))
    own = lake.files()
    raw, exported = lake.warehouse / "raw", lake.warehouse / "exported"
    planted = plant([raw / "lost", exported / "lost", folder / "data" / "lost"])
    Server(server.url).post("/api/metalakes", {"name": "theirs", "comment": ""})
    here, there = Other(server, "default"), Other(server, "theirs")
    taken = plant([raw / "taken", folder / "data" / "taken"])
    taken |= here.refer([f"file:{path}" for path in sorted(taken)], exported) - planted
    theirs = plant([raw / "their own", exported / "é%20.parquet"])
    there.refer(f"file://{path}" for path in sorted(theirs))
    lake.age()
    report = tmp_path / "orphans.parquet"

    found = search(server, report, delete=False)
    assert paths_in(report) == planted
    assert (found.orphans, found.needed_elsewhere) == (3, len(taken) + 2)
    assert found.left_out == []
    assert lake.files() == own | planted | taken | theirs
    deleted = search(server, report, delete=True)
    assert (deleted.orphans, deleted.deleted) == (3, 3)
    assert deleted.needed_elsewhere == found.needed_elsewhere
    assert lake.files() == own | taken | theirs

    here.drop()
    last = search(server, report, delete=True)

    assert paths_in(report) == taken
    assert (last.deleted, last.needed_elsewhere) == (len(taken), 2)
    assert lake.files() == own | theirs
