"""The steps of `features/cleanup.feature` that no other feature has."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import httpx
from pytest_bdd import given, parsers, scenarios, then, when

from headgate.catalog.providers import CATALOG_SCOPE
from headgate.testing.headgate_server import HeadgateServer
from tests.purge.conftest import PATIENT, Servers, options
from tests.purge.jobs import job_of
from tests.purge.lake import NAMESPACE, Lake, in_the_end
from tests.purge.listing import files_below, local_path

_numbers = itertools.count(1)

scenarios("cleanup.feature")


@given("a server of its own", target_fixture="lake")
def _own_server(tmp_path: Path) -> Iterator[Lake]:
    """Whoever comes after it soon takes its work over."""
    soon = ("poll-interval-ms=100", "backoff-base-ms=100", "lease-timeout-ms=1000")
    with HeadgateServer(tmp_path, *options(*soon)) as server:
        lake = Lake(server)
        yield lake
        lake.close()


@given("a server and a metalake of its own", target_fixture="lake")
def _own_metalake(servers: Servers) -> Iterator[Lake]:
    server, name = servers(*options(*PATIENT)), f"metalake{next(_numbers)}"
    httpx.post(f"{server.url}/api/metalakes", json={"name": name}).raise_for_status()
    lake = Lake(server, name)
    yield lake
    lake.close()


@given(parsers.parse("the table {name:w} with gc.enabled=false"))
def _table_that_keeps_garbage(lake: Lake, name: str) -> None:
    lake.create(name, **{"gc.enabled": "false"})


@given(parsers.parse("the files of {name:w} have hidden twins with checksums"))
def _twins(lake: Lake, name: str) -> None:
    for file in lake.known[name].files:
        file.with_name(f".{file.name}.crc").touch()


@given(parsers.parse("other files in the folders of {name:w}"), target_fixture="others")
def _others(lake: Lake, name: str) -> set[Path]:
    folder = lake.known[name].folder
    others = {folder / "notes.txt", folder / "data" / "x.parquet", folder / "metadata" / "x.avro"}
    for file in others:
        file.touch()
    return others


@given(parsers.parse("{name:w} has taken up a data file of {other:w}"))
def _shared(lake: Lake, name: str, other: str) -> None:
    table = lake.iceberg.load_table((NAMESPACE, name))
    table.add_files([f"file://{min(lake.known[other].data)}"])
    assert lake.ids(name) != lake.known[name].ids
    lake.remember(name)


@given(parsers.parse("somebody else has deleted a data file of {name:w} and its manifest"))
def _deleted_by_others(lake: Lake, name: str) -> None:
    table = lake.iceberg.load_table((NAMESPACE, name))
    [snapshot, *_] = table.snapshots()
    [manifest] = snapshot.manifests(table.io)
    [entry] = manifest.fetch_manifest_entry(table.io)
    for location in (entry.data_file.file_path, manifest.manifest_path):
        local_path(location).unlink()


@given("the catalog's owner lets purges delete in the whole catalog")
def _whole_catalog(lake: Lake) -> None:
    lake.purge_in(CATALOG_SCOPE)


@when("the catalog is dropped by force")
def _drop_catalog(lake: Lake) -> None:
    lake.ask("DELETE", f"{lake.catalog_path}?force=true").raise_for_status()


@when("the metalake is dropped by force")
def _drop_metalake(lake: Lake) -> None:
    lake.ask("DELETE", f"/api/metalakes/{lake.metalake}?force=true").raise_for_status()


@when("the server is killed")
def _kill(lake: Lake) -> None:
    lake.server.kill()


@when("the server starts again")
def _start(lake: Lake) -> None:
    lake.server.start()


@then("the catalog is gone")
def _no_catalog(lake: Lake) -> None:
    assert lake.ask("GET", lake.catalog_path).status_code == 404
    assert lake.ask("GET", lake.tables_path).status_code == 404


@then("the metalake is gone")
def _no_metalake(lake: Lake) -> None:
    assert lake.ask("GET", f"/api/metalakes/{lake.metalake}").status_code == 404
    assert lake.ask("GET", lake.tables_path).status_code == 404


@then(parsers.parse("in the end only the data files of {name:w} are left"))
def _data_left(lake: Lake, name: str) -> None:
    known = lake.known[name]
    assert in_the_end(lambda: files_below(known.folder) == known.data), files_below(known.folder)


@then(parsers.parse("in the end only the other files of {name:w} are left"))
def _others_left(lake: Lake, name: str, others: set[Path]) -> None:
    folder = lake.known[name].folder
    assert in_the_end(lambda: files_below(folder) == others), files_below(folder)


@then(parsers.parse("the job of {name:w} has deleted every file"))
def _deleted_all(lake: Lake, name: str) -> None:
    job, files = job_of(lake, name), len(lake.known[name].files)
    assert (job["files-expected"], job["files-deleted"]) == (files, files)
    assert (job["files-missing"], job["files-failed"]) == (0, 0)


@then(parsers.parse("the job of {name:w} has deleted all other files"))
def _deleted_others(lake: Lake, name: str) -> None:
    """That a manifest is missing is known; the data file that it led to is not."""
    job, others = job_of(lake, name), len(lake.known[name].files) - 2
    assert (job["files-deleted"], job["files-missing"], job["files-failed"]) == (others, 1, 0)


@then(parsers.parse("{name:w} has its rows"))
def _rows(lake: Lake, name: str) -> None:
    assert lake.ids(name) == lake.known[name].ids


@then(parsers.parse("the job of {name:w} has kept {count:d} file"))
def _kept(lake: Lake, name: str, count: int) -> None:
    job, files = job_of(lake, name), len(lake.known[name].files)
    assert (job["files-kept"], job["files-deleted"]) == (count, files - count)


@then(parsers.parse("the job of {name:w} has left {count:d} file outside of its locations"))
def _left_outside(lake: Lake, name: str, count: int) -> None:
    job = job_of(lake, name)
    assert (job["files-outside"], len(job["outside"]), job["files-failed"]) == (count, count, 0)


@then(parsers.parse("{count:d} file is left of {name:w} in the storage"))
def _files_left(lake: Lake, name: str, count: int) -> None:
    """Its folders may be, too: they are nobody's any more."""
    assert len(files_below(lake.known[name].folder)) == count
