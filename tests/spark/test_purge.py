"""Purges by Spark: by its executors alone, by a server with the purger `spark`, and by the program
`headgate pipeline purge`."""

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from obstore.store import S3Store
from pyspark.sql import SparkSession

from headgate.clock import NEVER, SystemClock, deadline_from
from headgate.errors import LeaseLost
from headgate.pipelines import purge_stages
from headgate.pipelines.fixtures.catalog import Catalog
from headgate.pipelines.fixtures.places import ObjectPlace
from headgate.pipelines.fixtures.table import make_table
from headgate.pipelines.purge_executors import new_order
from headgate.pipelines.purge_stages import SparkRemoval
from headgate.planning.files import LocalFiles
from headgate.planning.reachable import Walk
from headgate.purge import sweeping
from headgate.purge.fence import Fence
from headgate.purge.job_states import State
from headgate.purge.removal import Hands, Removal
from headgate.purge.steps import LEAVES
from headgate.storage.deletions import Check, may_go_on
from headgate.testing.headgate_server import HeadgateServer, environment
from headgate.testing.object_stores import S3Server
from tests.purge.jobs import job_of
from tests.purge.lake import Lake
from tests.purge.listing import keys_in, local_path, obstruct
from tests.spark.purging import CONF, FILES_BELOW, drivers, patient, sets, wait_for
from tests.unit.purge.dropped import DroppedTable, Outcome, Version, purge, run
from tests.unit.purge.dropped import files_below as names_below

# pyspark leaves the socket of each result to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(autouse=True)
def _all_by_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left to the driver, however little it is."""
    monkeypatch.setattr(purge_stages, "SPARK_FEW_FILES", 0)
    monkeypatch.setattr(sweeping, "PAUSES_SECONDS", (0, 0, 0))


def hands_of(spark: SparkSession, fence: Fence, check: Check = may_go_on) -> Hands:
    """Hands that delete by Spark."""

    def hands(task: Any, means: Any, needed: Any) -> SparkRemoval:
        order = new_order(task, needed, pickle.dumps(FILES_BELOW(task.roots)), str(fence.path))
        return SparkRemoval(spark, order, Removal(task, means, needed), check)

    return hands


def counts(outcome: Outcome) -> dict[str, tuple[int, int, int]]:
    """What each step told in the end."""
    return {
        name: (sums.deleted, sums.missing, sums.expected) for name, sums in outcome.sums.items()
    }


@pytest.mark.parametrize("version", [1, 3])
def test_executors_delete_what_a_child_would(
    spark: SparkSession, fence: Fence, tmp_path: Path, version: Version
) -> None:
    """Every kind of file, each once, with the same sums; what others have stays."""
    table, same = (
        DroppedTable(tmp_path / name, version).with_everything() for name in ("spark", "child")
    )
    other = DroppedTable(tmp_path / "spark", version, "other").with_everything()
    there = names_below(other.folder)
    outcome, expected = purge(table, hands=hands_of(spark, fence)), purge(same)

    assert outcome.failed == []
    assert counts(outcome) == counts(expected)
    assert outcome.sums["data"].bytes == expected.sums["data"].bytes
    assert not table.folder.exists()
    assert names_below(other.folder) == there


def test_what_cannot_be_deleted_is_on_the_ledger_and_keeps_what_leads_to_it(
    spark: SparkSession, fence: Fence, tmp_path: Path
) -> None:
    """A folder in a file's place, a manifest that is cut; later all goes."""
    table = DroppedTable(tmp_path).with_many(30, manifests=3)
    obstacle = obstruct(table.data / "1-3.parquet")
    manifest = manifest_of(table, "2-0.parquet")
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:-50])
    hands = hands_of(spark, fence)
    first = run(table.task(LEAVES), hands=hands)
    shutil.rmtree(obstacle)
    manifest.write_bytes(whole)
    second = purge(table, hands=hands)

    assert {Path(one.path): one.why for one in first.failed} == {
        obstacle: "it is a folder",
        manifest: f"the manifest cannot be read: ValueError: {len(whole) - 50} bytes of "
        f"{len(whole)} are there",
    }
    assert (first.sums["data"].deleted, first.sums["data"].missing) == (19, 0)
    assert second.failed == []
    assert (second.sums["data"].deleted, second.sums["data"].missing) == (10, 20)
    assert not table.folder.exists()


def manifest_of(table: DroppedTable, name: str) -> Path:
    """The manifest that names a file."""
    walk = Walk(table.root.read_bytes(), LocalFiles())
    [manifest] = {
        manifest for manifest, found in walk.content() if str(table.data / name) in found.paths
    }
    return Path(manifest)


@pytest.mark.parametrize("whole_catalog", [False, True])
def test_files_outside_are_told_and_stay(
    spark: SparkSession, fence: Fence, tmp_path: Path, *, whole_catalog: bool
) -> None:
    """They are counted and listed; in a whole catalog the parent decides on them."""
    table = DroppedTable(tmp_path).with_many(4)
    own = (str(table.metadata), str(table.data / "0-0.parquet"))
    task = table.task(LEAVES, own=own, whole_catalog=whole_catalog)
    outcome = run(task, hands=hands_of(spark, fence))
    left = outcome.sums["data"].left_outside

    assert names_below(table.data) == {"0-1.parquet", "0-2.parquet", "0-3.parquet"}
    found = [str(table.data / f"0-{n}.parquet") for n in (1, 2, 3)]
    assert (sorted(outcome.outside), left.count) == ((found, 0) if whole_catalog else ([], 3))
    assert sorted(left.paths) == ([] if whole_catalog else found)


def test_metadata_files_of_unfinished_commits_go_with_a_large_table(
    spark: SparkSession, fence: Fence, tmp_path: Path
) -> None:
    """What else nothing refers to stays, and is counted."""
    table = DroppedTable(tmp_path).with_many(4)
    (table.metadata / f"00003-{uuid4()}.metadata.json").write_bytes(b"{}")
    (table.data / "orphan").touch()
    outcome = purge(table, hands=hands_of(spark, fence))

    assert outcome.failed == []
    assert names_below(table.folder) == {"data/orphan"}
    assert outcome.sums["older"].unreferenced.count == 1


def test_a_lost_lease_stops_executors_and_driver(
    spark: SparkSession, fence: Fence, tmp_path: Path
) -> None:
    """The first see the fence, the second one cancels what runs; nothing is deleted."""
    table = DroppedTable(tmp_path).with_many(4)
    fence.extend(NEVER)
    with pytest.raises(LeaseLost):
        run(table.task(LEAVES), hands=hands_of(spark, fence))
    fence.extend(deadline_from(SystemClock()).after(600))

    def lost() -> None:
        raise LeaseLost("no")

    with pytest.raises(LeaseLost, match="no"):
        run(table.task(LEAVES), hands=hands_of(spark, fence, lost))

    assert len(names_below(table.data)) == 4


def test_small_tables_are_purged_without_spark_and_obstacles_are_on_the_ledger(
    purging: HeadgateServer,
) -> None:
    """Two files are fewer than the threshold; four are not."""
    lake = Lake(purging)
    lake.create("small")
    lake.create("large")
    lake.iceberg.load_table(("shop", "large")).append(
        lake.iceberg.load_table(("shop", "large")).scan().to_arrow()
    )
    lake.remember("large")
    obstacle = obstruct(min(lake.known["large"].data))
    before = {one.pid for one in drivers(purging)}
    lake.drop("small")
    wait_for(lake, "small", State.SUCCEEDED)
    between = {one.pid for one in drivers(purging)}
    lake.drop("large")
    open_job = wait_for(lake, "large", State.PENDING, attempts=1)
    shutil.rmtree(obstacle)
    wait_for(lake, "large", State.SUCCEEDED)

    assert between == before
    assert job_of(lake, "large")["ledger"] == []
    assert [local_path(line["path"]) for line in open_job["ledger"]] == [obstacle]
    assert not lake.known["large"].folder.exists()
    lake.close()


def test_a_program_purges_tables_in_s3_for_a_server(
    s3_server: S3Server, bucket: str, tmp_path: Path
) -> None:
    """A dry run counts; then the job is claimed, done, and ended like any other."""
    settings = {
        "purger": "spark",
        "purger.async.worker-threads": "0",
        "purger.spark.hand-out-keys": "true",
        "bootstrap.warehouse": f"s3://{bucket}/purged",
        "s3.endpoint": s3_server.url,
        "s3.allow-http": "true",
        "s3.access-key-id": s3_server.keys.access_key_id,
        "s3.secret-access-key": s3_server.keys.secret_access_key,
    }
    with patient(), HeadgateServer(tmp_path, *sets(settings)) as server:
        catalog = Catalog(server.iceberg_url, warehouse="main")
        made = make_table(catalog, ("shop", "t"), 40, place=place(s3_server, bucket))
        lying = keys_in(s3_server, bucket)
        catalog.ask("DELETE", f"{made.path}?purgeRequested=true")
        counted = pipeline(server, "--dry-run")
        after = keys_in(s3_server, bucket)
        small = pipeline(server, "--min-files", "1000")
        done = pipeline(server)

    [waiting], [left], [job] = counted["jobs"], small["jobs"], done["jobs"]
    assert waiting["state"] == "WAITS"
    assert waiting["files"]["data"] >= 40
    assert after == lying
    assert left["state"] == "SMALL"
    assert (job["state"], job["deleted"] + job["missing"]) == (State.SUCCEEDED, made.files)
    assert keys_in(s3_server, bucket) == set()


def place(s3: S3Server, bucket: str) -> ObjectPlace:
    """Files are written by whoever has the keys of the store."""
    store = S3Store(
        bucket,
        endpoint=s3.url,
        region=s3.region,
        access_key_id=s3.keys.access_key_id,
        secret_access_key=s3.keys.secret_access_key,
        client_options={"allow_http": True},
    )
    return ObjectPlace(f"s3://{bucket}", store)


def pipeline(server: HeadgateServer, *options: str) -> dict[str, Any]:
    """What `headgate pipeline purge` says in the end."""
    conf = [part for name, text in CONF.items() for part in ("--conf", f"{name}={text}")]
    command = [sys.executable, "-m", "headgate", "pipeline", "purge", "--server", server.url]
    done = subprocess.run(
        [*command, "--master", "local[1]", *conf, "--json", *options],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said: dict[str, Any] = json.loads(done.stdout)
    return said
