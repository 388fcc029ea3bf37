"""`headgate pipeline orphans` on real files and on a real S3 server, with Spark."""

import http.client
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import obstore
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from obstore.store import S3Store
from pyspark.sql import SparkSession

from headgate.cli.pipeline import pipeline
from headgate.clock import NS_PER_MS, Clock, SystemClock
from headgate.errors import BadSetting, Forbidden, HeadgateError
from headgate.pipelines.fixtures.places import ObjectPlace
from headgate.pipelines.names import TableName
from headgate.pipelines.orphans import OrphansOptions, OrphansSummary, run
from headgate.pipelines.orphans_checking import UNSETTLED
from headgate.pipelines.reporting import Report, Stage
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions
from headgate.testing.headgate_server import HeadgateServer, environment
from headgate.testing.object_stores import S3Server, send
from tests.purge.listing import keys_in
from tests.spark.cluster import SparkCluster
from tests.spark.connect import ConnectServer
from tests.spark.dying import REMOVING, run_dying
from tests.spark.killed import run_killed
from tests.spark.orphaned import DAY_SECONDS, DELETED, KILLED, Lake, folder_of, local, plant

# PySpark's own toLocalIterator leaves its socket to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

GRACE = ("--set", "purger.async.grace-period-ms=86400000")
GUARDED = ("--set", "authorization.enabled=true", "--set", "authorization.service-admins=ann")


@pytest.fixture(name="lake", scope="module")
def _lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Tables that are dropped with purge can come back for a while."""
    with HeadgateServer(tmp_path_factory.mktemp("lake"), *GRACE) as server:
        yield Lake(server)


class LaterClock(SystemClock):
    """Ten days later: objects cannot be made to look old."""

    def _machine(self) -> tuple[int, int]:
        wall_ns, stopwatch_ns = super()._machine()
        return wall_ns + 10 * DAY_SECONDS * 1_000 * NS_PER_MS, stopwatch_ns


class Meanwhile(Report):
    """Does something between the listing and the second look at the tables."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__(is_quiet=True)
        self._act = act

    @contextmanager
    def stage(
        self,
        name: str,
        total: int | None = None,
        spark: SparkSession | None = None,
        *,
        is_announced: bool = False,
    ) -> Iterator[Stage]:
        if name == "look again":
            self._act()
        with super().stage(name, total, spark, is_announced=is_announced) as stage:
            yield stage


def search(
    server: HeadgateServer,
    options: OrphansOptions,
    report: Report | None = None,
    clock: Clock | None = None,
) -> OrphansSummary:
    """One run, in the Spark of all tests."""
    telling = report or Report(is_quiet=True)
    return run(options, Server(server.url), SparkOptions(), telling, clock)


def paths_in(report: Path) -> set[str]:
    return {local(row["path"]) for row in pq.read_table(report).to_pylist()}


def test_exactly_what_nobody_refers_to_is_found_and_deleted(
    lake: Lake, spark: SparkSession, tmp_path: Path
) -> None:
    """Tables of all formats, a view, and a table that can come back keep every file; what a drop
    without purge left goes, and checksums go with their files."""
    made = [lake.make("shop", f"v{version}", version) for version in (1, 2, 3)]
    lake.make_view("shop")
    left, waiting = lake.make("shop", "left"), lake.make("shop", "waiting")
    kept = lake.files()
    lake.drop(waiting, purge=True)
    lake.drop(left, purge=False)
    litter = {path for path in kept if path.startswith(f"{folder_of(left)}/")}
    folder = folder_of(made[1])
    planted = plant(
        [
            folder / "data" / "part=00000" / "lost.parquet",
            folder / "metadata" / "lost.avro",
            lake.warehouse / "nobody" / "has a name%20.parquet",
        ]
    )
    twins = plant([folder / "data" / "part=00000" / ".lost.parquet.crc"])
    young = plant([folder / "data" / "young.parquet"])
    lake.age(*young)
    report = tmp_path / "orphans.parquet"

    found = search(lake.server, OrphansOptions("main", report=str(report)))
    before = lake.files()
    deleted = search(lake.server, OrphansOptions("main", delete=True))

    orphans = planted | litter
    assert paths_in(report) == orphans
    assert (found.orphans, found.young, found.deleted) == (len(orphans), 1, 0)
    assert before == kept | planted | twins | young
    assert (deleted.orphans, deleted.deleted, deleted.failed) == (len(orphans), len(orphans), 0)
    assert lake.files() == (kept - litter) | young
    assert [one.table for one in found.left_out] == ["main.shop.waiting"]
    assert sum(one.files for one in found.by_place) == found.orphans


def test_very_many_are_told_apart_likewise(
    lake: Lake, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is few enough for the driver alone, nor to be known to each executor."""
    for limit in (
        "orphans_references.ORPHANS_FEW_SUBJECTS",
        "orphans_references.ORPHANS_BROADCAST_FILES_MAX",
        "orphans.ORPHANS_COLLECTED_BYTES_MAX",
    ):
        monkeypatch.setattr(f"headgate.pipelines.{limit}", -1)
    folder = folder_of(lake.make("many", "table"))
    planted = plant([folder / "data" / "lost.parquet", folder / "metadata" / "lost.avro"])
    lake.age(*(lake.files() - planted))
    below = (str(lake.warehouse / "many"),)
    kept = lake.files() - planted
    deleted = search(lake.server, OrphansOptions("main", below=below, delete=True))

    assert (deleted.orphans, deleted.deleted) == (2, 2)
    assert lake.files() == kept


def test_what_is_committed_or_dropped_meanwhile_is_no_orphan(
    lake: Lake, spark: SparkSession, tmp_path: Path
) -> None:
    """Files were written long before, and are committed after they were listed."""
    busy, going = lake.make("busy", "t"), lake.make("busy", "going")
    files = [folder_of(busy) / "data" / name for name in ("committed", "orphan")]
    committed, orphan = (str(path) for path in files)
    plant([*files, folder_of(going) / "data" / "in doubt"])
    lake.age()
    report = tmp_path / "orphans.parquet"
    options = OrphansOptions("main", below=(str(lake.warehouse / "busy"),), report=str(report))

    def act() -> None:
        lake.refer(busy, f"file:{committed}")
        lake.drop(going, purge=False)

    found = search(lake.server, options, Meanwhile(act))

    assert paths_in(report) == {orphan}
    assert found.orphans == 1


@pytest.mark.parametrize("renames", [2, 1_000])
def test_a_table_that_gets_another_name_at_every_look_keeps_its_files(
    lake: Lake, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    """Right after its name was listed. If that does not end, whatever may be its own is kept."""
    space = f"moving{renames}"
    lake.make(space, "t0")
    planted = plant([lake.warehouse / space / "nobody's.parquet"])
    lake.age()
    kept = lake.files() - planted
    names = (f"t{number}" for number in itertools.count())
    tables, left = Server.tables, iter(range(renames))
    now = [next(names)]

    def renaming(self: Server, catalog: str) -> list[TableName]:
        listed = list(tables(self, catalog))
        if next(left, None) is not None:
            before, now[0] = now[0], next(names)
            lake.rename(space, before, now[0])
        return listed

    monkeypatch.setattr(Server, "tables", renaming)
    below = (str(lake.warehouse / space),)
    deleted = search(lake.server, OrphansOptions("main", below=below, delete=True))

    assert kept <= lake.files()
    assert deleted.deleted == (1 if renames == 2 else 0)
    assert (UNSETTLED in {one.why for one in deleted.left_out}) == (renames != 2)


def test_objects_are_found_and_deleted_in_s3(
    s3_server: S3Server, bucket: str, s3_lake: HeadgateServer, spark: SparkSession
) -> None:
    """A table in S3 keeps all its objects, whoever calls them `s3a`; what stands for a folder is no
    orphan."""
    lake, keys = Lake(s3_lake), s3_server.keys
    store = S3Store(
        bucket,
        endpoint=s3_server.url,
        region=s3_server.region,
        access_key_id=keys.access_key_id,
        secret_access_key=keys.secret_access_key,
        client_options={"allow_http": True},
    )
    made = lake.make("shop", "t", 3, ObjectPlace(f"s3://{bucket}", store))
    referred = "wh/shop/referred as s3a"
    obstore.put(store, referred, b"1")
    folder = f"{made.location.replace('s3:/', s3_server.url)}/data/"
    assert send(keys, "PUT", folder)[0] == http.client.OK
    lake.refer(made, f"s3a://{bucket}/{referred}")
    kept = keys_in(s3_server, bucket)
    for key in ("wh/shop/orphan%20 é", f"{made.location.removeprefix(f's3://{bucket}/')}/data/x"):
        obstore.put(store, key, b"12345")
    storage = {
        "s3.endpoint": s3_server.url,
        "s3.region": s3_server.region,
        "s3.access-key-id": keys.access_key_id,
        "s3.secret-access-key": keys.secret_access_key,
    }
    options = OrphansOptions("main", delete=True, storage=storage)

    young = search(s3_lake, options)
    deleted = search(s3_lake, options, clock=LaterClock())

    assert (young.orphans, young.young) == (0, 2)
    assert (deleted.orphans, deleted.deleted, deleted.bytes) == (2, 2, 10)
    assert keys_in(s3_server, bucket) == kept
    with pytest.raises(BadSetting, match="--storage"):
        search(s3_lake, OrphansOptions("main"))


def test_a_run_that_is_killed_in_the_middle_is_made_good(lake: Lake, spark: SparkSession) -> None:
    """The next one finds the rest, and the end is as if nothing had happened."""
    made = lake.make("killed", "t")
    kept = lake.files("killed")
    place = lake.warehouse / "killed"
    plant(folder_of(made) / "data" / f"orphan {number}" for number in range(20))
    lake.age()

    run_killed(lake.server, "orphans", "--below", str(place), "--delete", program=KILLED)
    left = len(lake.files("killed") - kept)
    again = search(lake.server, OrphansOptions("main", below=(str(place),), delete=True))

    assert left == 20 - DELETED
    assert (again.orphans, again.deleted, again.missing) == (left, left, 0)
    assert lake.files("killed") == kept


def test_an_executor_that_is_killed_is_made_good(
    lake: Lake, cluster: SparkCluster, tmp_path: Path
) -> None:
    """What it had deleted is missing when another one tries again: the sum is exact."""
    made = lake.make("dying", "t")
    kept = lake.files("dying")
    plant(folder_of(made) / "data" / f"orphan {number}" for number in range(20))
    lake.age()
    words = ("orphans", "--below", str(lake.warehouse / "dying"), "--delete")

    told = run_dying(REMOVING, cluster, lake.server, tmp_path / "killed", *words)

    assert (told["orphans"], told["deleted"] + told["missing"], told["failed"]) == (20, 20, 0)
    assert told["missing"] > 0
    assert lake.files("dying") == kept


def test_spark_connect_does_the_same(lake: Lake, connect_server: ConnectServer) -> None:
    """Nothing is used but what it offers too."""
    made = lake.make("connected", "t")
    kept = lake.files("connected")
    plant(folder_of(made) / "data" / f"orphan {number}" for number in range(5))
    lake.age()

    done = subprocess.run(
        [
            *(sys.executable, "-m", "headgate", "pipeline", "orphans", "--json", "--delete"),
            *("--server", lake.server.url, "--catalog", "main"),
            *("--below", str(lake.warehouse / "connected")),
            *("--remote", connect_server.options.remote),
        ],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)

    assert (told["orphans"], told["deleted"], told["kept"]) == (5, 5, 0)
    assert lake.files("connected") == kept


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--older-than", "3h"), "24h or more"),
        (("--older-than", "soon"), "Write a number and a unit"),
        (("--report", "orphans.txt"), "End it with .parquet, .csv, .json"),
        (("--catalog", "nowhere"), "nowhere"),
        (("--below", "/etc"), "nothing of catalog main lies there"),
        (("--below", "ftp://x/y"), "Invalid location"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    lake: Lake, spark: SparkSession, given: tuple[str, str], says: str
) -> None:
    """And nothing is deleted."""
    before = lake.files()
    options = ("--server", lake.server.url, "--catalog", "main", "--delete", *given)

    failed = CliRunner().invoke(pipeline, ["orphans", *options])

    assert isinstance(failed.exception, HeadgateError)
    assert says in str(failed.exception)
    assert lake.files() == before


def test_only_who_sees_all_tables_and_purges_may_look(tmp_path: Path) -> None:
    """A reader of every table is refused: what is hidden from it would look like orphans."""
    with HeadgateServer(tmp_path, *GUARDED) as server:
        admin = Server(server.url, user="ann")
        lake = "/api/metalakes/default"
        rights = [{"name": name, "condition": "allow"} for name in ("use_catalog", "select_table")]
        reading = {"fullName": "main", "type": "catalog", "privileges": rights}
        admin.post(f"{lake}/users", {"name": "bob"})
        admin.post(f"{lake}/roles", {"name": "r", "properties": {}, "securableObjects": [reading]})
        admin.put(f"{lake}/permissions/users/bob/grant", {"roleNames": ["r"]})
        bob = Server(server.url, user="bob")

        assert [one.name for one in bob.catalogs()] == ["main"]
        with pytest.raises(Forbidden, match="only who owns it sees all its tables and purges"):
            run(OrphansOptions("main"), bob, SparkOptions(), Report(is_quiet=True))


@pytest.mark.parametrize("words", [("orphans",), ("orphans", "--dry-run")])
def test_a_summary_is_one_object_for_scripts(
    lake: Lake, spark: SparkSession, words: tuple[str, ...]
) -> None:
    """With the sums of each place; without a word to delete, nothing is."""
    name = f"scripted{len(words)}"
    made = lake.make(name, "t")
    plant([folder_of(made) / "x"])
    lake.age()
    place = str(lake.warehouse / name)

    done = CliRunner().invoke(
        pipeline,
        [*words, "--server", lake.server.url, "--catalog", "main", "--below", place, "--json"],
    )

    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["orphans"], told["bytes"], told["is_dry_run"]) == (1, 6, True)
    assert told["places"] == [place]
    [one] = told["by_place"]
    assert (one["place"], one["table"]) == (made.location, f"main.{name}.t")
