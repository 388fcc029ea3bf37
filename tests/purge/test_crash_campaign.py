"""Servers killed at random instants while tables are dropped and purged: nothing is lost, and
nothing is left."""

import itertools
import random
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import FULL
from tests.purge.cluster import Cluster, hasty, slow_children
from tests.purge.customers import Customer
from tests.purge.lake import in_the_end
from tests.purge.listing import files_below
from tests.seeds import draw_seed

KILLS = 100 if FULL else 5
KILLS_PER_ROUND = 5
DROPS_PER_KILL = 2
FILES = (10, 100, 1_000)
PAUSE_SECONDS = (0.0, 1.2)
QUIET_SECONDS = 60.0
BYSTANDERS = ("bystander-small", "bystander-large")

Seen = dict[Path, tuple[int, int]]
"""Size and time of each file."""


class Doomed(NamedTuple):
    """A table to be dropped, and how many times its name is."""

    name: str
    folder: Path
    has_heir: bool
    """Another table gets its name at once,"""
    heir_dies: bool
    """and is dropped as well."""


@pytest.fixture(name="database", params=["sqlite", "postgresql"])
def _database(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture(name="cluster")
def _cluster(
    database: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Cluster]:
    """Three processes on one store, which take their time with files: most die meanwhile."""
    for name, value in slow_children(tmp_path / "unlinked", seconds=0.0005).items():
        monkeypatch.setenv(name, value)
    options = hasty()
    if database == "postgresql":
        store = request.getfixturevalue("postgresql_server").create_database()
        options += ["--backend", store]
    with Cluster(tmp_path, *options) as cluster:
        yield cluster


class Campaign:
    """One store through all rounds."""

    def __init__(
        self, cluster: Cluster, customer: Customer, data: Path, chance: random.Random
    ) -> None:
        self.customer = customer
        self._cluster = cluster
        self._data = data
        self._chance = chance
        self._numbers = itertools.count(1)
        self._bystanders = [self.customer.make(name, 60) for name in BYSTANDERS]
        self._seen = self._look_at_bystanders()

    def play(self, kills: int) -> None:
        """Drop tables, and a whole catalog, while processes are killed."""
        drops = [self._new_table() for _ in range(kills * DROPS_PER_KILL)]
        whole = Customer(self._cluster.front, f"doomed{next(self._numbers)}")
        whole.make_catalog()
        folders = [whole.make(f"t{number}", files) for number, files in enumerate(FILES)]
        with closing(whole), ThreadPoolExecutor(DROPS_PER_KILL + 1) as pool:
            done: list[Future[None]] = [pool.submit(whole.drop_catalog)]
            for _ in range(kills):
                now, drops = drops[:DROPS_PER_KILL], drops[DROPS_PER_KILL:]
                done += [pool.submit(self._drop, table) for table in now]
                time.sleep(self._chance.uniform(*PAUSE_SECONDS))
                self._cluster.strike(self._chance)
        for one in done:
            one.result()
        self._check_gone([*folders, *(folder for _, folder in self.customer.dropped)])
        self._check_names()
        self._check_others()

    def check_jobs(self) -> None:
        """Every drop had one job, and each has succeeded."""
        wanted = sorted((name, "SUCCEEDED") for name, _ in self.customer.dropped)
        assert in_the_end(lambda: self.customer.jobs() == wanted), self.customer.jobs()

    def _new_table(self) -> Doomed:
        name = f"t{next(self._numbers)}"
        folder = self.customer.make(name, self._chance.choice(FILES))
        return Doomed(name, folder, self._chance.random() < 0.7, self._chance.random() < 0.5)

    def _drop(self, table: Doomed) -> None:
        self.customer.drop(table.name, table.folder)
        if table.has_heir:
            self.customer.recreate(table.name)
            if table.heir_dies:
                self.customer.drop(table.name, self.customer.recreated.pop(table.name))

    def _check_gone(self, folders: list[Path]) -> None:
        """No file is left of what was dropped, nor the folder it was in."""
        left = [folder for folder in folders if folder.exists()]
        assert in_the_end(lambda: not any(folder.exists() for folder in left), QUIET_SECONDS), [
            *map(files_below, left)
        ]
        assert in_the_end(lambda: not self._cluster.has_orphans())

    def _check_names(self) -> None:
        """Each name can be loaded, or made anew."""
        there = self.customer.names()
        assert there == {*BYSTANDERS, *self.customer.recreated}
        for name in there:
            assert Path(
                self.customer.load(name)["metadata-location"].removeprefix("file://")
            ).exists()
        for name in {name for name, _ in self.customer.dropped} - there:
            self.customer.recreate(name)

    def _check_others(self) -> None:
        """Files of others are as they were; what else lies there is of tables that are there, or
        was written for one whose creation a kill cut off."""
        assert self._look_at_bystanders() == self._seen
        known = [*self._bystanders, *self.customer.recreated.values()]
        strays = [
            file
            for file in files_below(self._data / "warehouse")
            if not any(file.is_relative_to(folder) for folder in known)
        ]
        assert len(strays) <= self.customer.creations_cut, strays
        assert all(file.name.startswith("00000-") for file in strays), strays

    def _look_at_bystanders(self) -> Seen:
        files = [file for folder in self._bystanders for file in files_below(folder)]
        return {file: (file.stat().st_size, file.stat().st_mtime_ns) for file in files}


@pytest.mark.timeout(1_800)
def test_no_kill_loses_a_purge_or_strands_a_file(cluster: Cluster, tmp_path: Path) -> None:
    """What was acknowledged as dropped stays dropped, all its files go, and nothing else does."""
    chance = random.Random(draw_seed("purge kills"))
    with closing(Customer(cluster.front, "main")) as customer:
        campaign = Campaign(cluster, customer, tmp_path / "data", chance)
        for begun in range(0, KILLS, KILLS_PER_ROUND):
            campaign.play(min(KILLS_PER_ROUND, KILLS - begun))
        campaign.check_jobs()

    print(f"{len(customer.dropped)} tables, {dict(cluster.deaths)}")
    assert cluster.deaths.total() == KILLS
