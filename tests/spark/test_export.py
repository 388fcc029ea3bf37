"""`headgate pipeline export` and `import`: a metalake moves, whoever is killed meanwhile."""

from pathlib import Path
from typing import Any

import pytest

from headgate.cli.main import run as headgate_run
from headgate.errors import Corrupt, Forbidden
from headgate.pipelines import export, import_
from headgate.pipelines.export import ExportOptions
from headgate.pipelines.import_ import ImportOptions
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions
from headgate.portage.folder import load_manifest
from headgate.portage.manifest import NAME
from headgate.portage.summaries import ExportSummary, ImportSummary
from headgate.testing.headgate_server import HeadgateServer
from tests.portage.test_killed import TABLES, load_table, make_tables
from tests.spark.killed import run_killed
from tests.unit.catalog.lakes import METALAKE

pytestmark = [
    pytest.mark.usefixtures("spark"),
    # pyspark leaves the socket of each result to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
KILLED = """
import os, signal, sys
from headgate.cli.pipeline import pipeline
from headgate.pipelines import import_
def killed(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
import_.outlined = killed
pipeline.main(sys.argv[1:])
"""
"""All rows are sent, and nobody has said that this is all."""
KILLED_WRITING = """
import os, signal, sys
from headgate.cli.pipeline import pipeline
from headgate.portage import folder
def killed(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
folder.complete = killed
pipeline.main(sys.argv[1:])
"""
"""All rows are written, and the manifest is not."""


def exported(server: Server, folder: Path) -> ExportSummary:
    options = ExportOptions(metalake=METALAKE, folder=folder)
    return export.run(options, server, SparkOptions(), Report(is_quiet=True))


def imported(server: Server, folder: Path) -> ImportSummary:
    options = ImportOptions(folder=folder)
    return import_.run(options, server, SparkOptions(), Report(is_quiet=True))


def realm(server: HeadgateServer, *words: str) -> None:
    """Run a command on the store of a server."""
    assert headgate_run(["realm", *words, "--data", str(server.folder / "data")]) == 0


def vanish(server: HeadgateServer) -> None:
    """Let the metalake be gone, but for the files of its tables."""
    realm(server, "deactivate", METALAKE)
    realm(server, "purge", METALAKE, "--yes", "--abandon-files")
    realm(server, "delete", METALAKE, "--yes")


def metalake(headgate: Server, name: str) -> Any:
    return headgate.get(f"/management/v1/metalakes/{name}/export")["realm"]


@pytest.mark.timeout(600)  # a second JVM, on a machine that may be busy
def test_a_metalake_moves_by_spark_though_a_driver_was_killed(
    server: HeadgateServer, headgate: Server, tmp_path: Path
) -> None:
    """Spark and one process write and read the same, and all of it comes back."""
    tables = make_tables(server.iceberg_url)
    summary = exported(headgate, tmp_path / "1")
    realm(server, "export", METALAKE, str(tmp_path / "2"))
    assert summary.content == load_manifest(tmp_path / "2").facts.content
    vanish(server)

    run_killed(server, "import", str(tmp_path / "1"), program=KILLED)
    assert metalake(headgate, METALAKE)["state"] == "LOADING"
    done = imported(headgate, tmp_path / "1")

    assert (done.state, done.rows, done.content) == ("ACTIVE", summary.rows, summary.content)
    realm(server, "export", METALAKE, str(tmp_path / "3"))
    assert load_manifest(tmp_path / "3").facts.content == summary.content
    assert {name: load_table(server.iceberg_url, name) for name in TABLES} == tables


def test_a_metalake_whose_tables_lie_in_s3_moves_too(
    s3_lake: HeadgateServer, tmp_path: Path
) -> None:
    """It has the keys to its store as before."""
    tables, lake = make_tables(s3_lake.iceberg_url), Server(s3_lake.url)
    summary = exported(lake, tmp_path / "1")
    vanish(s3_lake)
    done = imported(lake, tmp_path / "1")

    assert (done.state, done.content) == ("ACTIVE", summary.content)
    assert tables["orders"]["metadata-location"].startswith("s3://")
    assert {name: load_table(s3_lake.iceberg_url, name) for name in TABLES} == tables


@pytest.mark.timeout(600)  # a second JVM, on a machine that may be busy
def test_an_export_whose_driver_was_killed_is_none_and_is_made_good(
    server: HeadgateServer, headgate: Server, tmp_path: Path
) -> None:
    """Nobody imports it; the next run clears away what is left, and writes the same as ever."""
    folder = tmp_path / "1"
    run_killed(server, "export", str(folder), program=KILLED_WRITING)
    left = list(folder.iterdir())
    (folder / "rows-00007-0123456789ab.parquet").touch()
    with pytest.raises(Corrupt, match=r"no manifest\.json"):
        imported(headgate, folder)
    again = exported(headgate, folder)

    assert left
    assert again.content == exported(headgate, tmp_path / "2").content
    files = {file.name for file in load_manifest(folder).files}
    assert {path.name for path in folder.iterdir()} == files | {NAME}


def test_a_half_written_export_is_refused_before_anything_is_sent(
    headgate: Server, tmp_path: Path
) -> None:
    """Whether its manifest is missing, or a byte of a file is another one."""
    exported(headgate, tmp_path / "1")
    file = max(tmp_path.glob("1/rows-*"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(Corrupt, match=r"half-written or damaged.*digest"):
        imported(headgate, tmp_path / "1")
    (tmp_path / "1" / NAME).unlink()
    with pytest.raises(Corrupt, match=r"no manifest\.json"):
        imported(headgate, tmp_path / "1")


def test_who_is_no_service_admin_may_not(tmp_path: Path) -> None:
    """It is said before Spark starts, and nothing is written."""
    guarded = ("--set", "authorization.enabled=true", "--set", "authorization.service-admins=root")
    with HeadgateServer(tmp_path / "server", *guarded) as server, pytest.raises(Forbidden):
        exported(Server(server.url, user="ann"), tmp_path / "1")

    assert not (tmp_path / "1").exists()
