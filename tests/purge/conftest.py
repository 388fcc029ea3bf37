"""Purges from outside: scenarios of `features/`, run against the real `headgate serve`.

They need pytest-bdd, pyiceberg and DuckDB, all from PyPI. Files are counted by listing the storage,
never by asking the server. Here are the servers and the steps that several features share.
"""

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from pytest_bdd import given, parsers, then, when

from headgate.testing.headgate_server import HeadgateServer
from tests.purge.jobs import steer, wait_for
from tests.purge.lake import Lake, in_the_end
from tests.purge.listing import files_below, lying_below, obstruct
from tests.purge.machine import Site, opened_site

Servers = Callable[..., HeadgateServer]

PATIENT = ("poll-interval-ms=100", "backoff-base-ms=3600000")
"""Looks for work often, and waits for long after a failure: until an operator does something."""


def options(*settings: str) -> tuple[str, ...]:
    """The command line of a server with these settings of its purger."""
    return tuple(part for one in settings for part in ("--set", f"purger.async.{one}"))


@pytest.fixture(name="site")
async def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    async with opened_site(tmp_path, monkeypatch) as site:
        yield site


@pytest.fixture(name="servers", scope="session")
def _servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """A server for each set of options, started when it is first asked for."""
    started: dict[tuple[str, ...], HeadgateServer] = {}

    def server(*options: str) -> HeadgateServer:
        if options not in started:
            started[options] = HeadgateServer(tmp_path_factory.mktemp("server"), *options)
            started[options].start()
        return started[options]

    yield server
    for one in started.values():
        one.stop()


@given("a server", target_fixture="lake")
def _lake(servers: Servers) -> Iterator[Lake]:
    lake = Lake(servers(*options(*PATIENT)))
    yield lake
    lake.close()


@given(parsers.parse("the table {name:w}"))
def _table(lake: Lake, name: str) -> None:
    lake.create(name)


@given(parsers.parse("a file of {name:w} cannot be deleted"), target_fixture="obstacle")
def _obstacle(lake: Lake, name: str) -> Path:
    return obstruct(min(lake.known[name].data))


@when("the obstacle is removed")
def _no_obstacle(obstacle: Path) -> None:
    shutil.rmtree(obstacle)


@when(parsers.parse("{name:w} is dropped with purge"))
def _drop(lake: Lake, name: str) -> None:
    lake.drop(name)


@when(parsers.parse("a new table {name:w} is created"))
def _new_table(lake: Lake, name: str) -> None:
    lake.known[f"old {name}"] = lake.known[name]
    lake.create(name)


@then(parsers.parse("HEAD of {name:w} answers {status:d}"))
def _head(lake: Lake, name: str, status: int) -> None:
    assert lake.ask("HEAD", f"{lake.tables_path}/{name}").status_code == status


@then("no table is listed")
def _list(lake: Lake) -> None:
    assert lake.ask("GET", lake.tables_path).json()["identifiers"] == []


@then(parsers.parse("nothing is left of {name:w} in the storage"))
def _nothing_left(lake: Lake, name: str) -> None:
    assert lying_below(lake.known[name].folder) == set()


@then(parsers.parse("in the end nothing is left of {name:w} in the storage"))
def _nothing_left_at_last(lake: Lake, name: str) -> None:
    folder = lake.known[name].folder
    assert in_the_end(lambda: not folder.exists()), lying_below(folder)


@then(parsers.parse("every file of {name:w} is still there"))
def _all_there(lake: Lake, name: str) -> None:
    known = lake.known[name]
    assert files_below(known.folder) == known.files


@then(parsers.parse("in the end the job of {name:w} is {state:w}"))
def _job_state(lake: Lake, name: str, state: str) -> None:
    wait_for(lake, name, state)


@then(parsers.parse("in the end the job of {name:w} waits for its next attempt"))
def _job_waits(lake: Lake, name: str) -> None:
    assert wait_for(lake, name, "PENDING", attempts=1)["next-attempt-ms"]


@when(parsers.parse("the job of {name:w} is tried again by {way}"))
def _retry(lake: Lake, name: str, way: str) -> None:
    steer(lake, name, "retry", way)
