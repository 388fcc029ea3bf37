"""Whatever path an attacker's table names, nothing of the victim is read, changed or deleted."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.non_interference.tenants import (
    CANARY,
    OWNERS,
    Tenant,
    Tenants,
    snapshot_by,
)
from tests.unit.catalog.lakes import commit, set_properties

Aim = Callable[[Tenants], str]
Plant = Callable[[Tenants, Tenant, str], Awaitable[str | None]]


def data_of_ledger(tenants: Tenants) -> str:
    """A data file of the victim's table."""
    return f"{tenants.ledger['metadata']['location']}/data/{CANARY}.parquet"


def metadata_of_ledger(tenants: Tenants) -> str:
    return str(tenants.ledger["metadata-location"])


def list_of_ledger(tenants: Tenants) -> str:
    return str(tenants.ledger["metadata"]["snapshots"][0]["manifest-list"])


def metadata_of_former(tenants: Tenants) -> str:
    """The metadata file of a table that was dropped without a purge."""
    return str(tenants.former["metadata-location"])


def loose_file(tenants: Tenants) -> str:
    return tenants.loose


def database(tenants: Tenants) -> str:
    """The store of the server itself."""
    return f"file://{tenants.folder}/data/headgate.db"


AIMS: list[Aim] = [
    data_of_ledger,
    metadata_of_ledger,
    list_of_ledger,
    metadata_of_former,
    loose_file,
    database,
]


def committing(update: Callable[[str, int], list[dict[str, Any]]]) -> Plant:
    """Puts a path into a table by a commit."""

    async def plant(tenants: Tenants, attacker: Tenant, path: str) -> str | None:
        name, made = await tenants.create(attacker)
        folder = made["metadata"]["location"]
        first = tenants.snapshot(f"{folder}/metadata", 7, f"{folder}/data/own.parquet")
        url = f"{attacker.url}/tables/{name}"
        await tenants.must("POST", url, commit(first), attacker.user)
        answer = await tenants.ask("POST", url, commit(update(path, 7)), attacker.user)
        assert answer.status_code < 500, answer.text
        return name

    return plant


async def in_manifest(tenants: Tenants, attacker: Tenant, path: str) -> str | None:
    """A manifest names the path as a data file."""
    name, made = await tenants.create(attacker)
    updates = tenants.snapshot(f"{made['metadata']['location']}/metadata", 7, path)
    await tenants.must("POST", f"{attacker.url}/tables/{name}", commit(updates), attacker.user)
    return name


async def in_log(tenants: Tenants, attacker: Tenant, path: str) -> str | None:
    """The metadata log of a registered table names the path."""
    name, made = await tenants.create(attacker)
    metadata = made["metadata"] | {"metadata-log": [{"metadata-file": path, "timestamp-ms": 1}]}
    file = f"{made['metadata']['location']}/metadata/00009-own.metadata.json"
    tenants.store.write(file, msgspec.json.encode(metadata))
    await tenants.must("DELETE", f"{attacker.url}/tables/{name}", user=attacker.user)
    body = {"name": name, "metadata-location": file}
    answer = await tenants.ask("POST", f"{attacker.url}/register", body, attacker.user)
    assert answer.status_code < 500, answer.text
    return name if answer.is_success else None


async def as_location(tenants: Tenants, attacker: Tenant, path: str) -> str | None:
    """The table is created where the victim's file lies."""
    return await _created(tenants, attacker, location=path.rpartition("/")[0])


async def as_registered(tenants: Tenants, attacker: Tenant, path: str) -> str | None:
    """The path is registered as a table's metadata file."""
    body = {"name": "taken", "metadata-location": path}
    answer = await tenants.ask("POST", f"{attacker.url}/register", body, attacker.user)
    assert answer.status_code < 500, answer.text
    return "taken" if answer.is_success else None


async def _created(tenants: Tenants, attacker: Tenant, **more: Any) -> str | None:
    body = {"name": "placed", "schema": {"type": "struct", "fields": []}, **more}
    answer = await tenants.ask("POST", f"{attacker.url}/tables", body, attacker.user)
    assert answer.status_code < 500, answer.text
    return "placed" if answer.is_success else None


def by_property(name: str) -> Plant:
    """The table writes below the victim's folder, by a property."""

    async def plant(tenants: Tenants, attacker: Tenant, path: str) -> str | None:
        properties = {name: path.rpartition("/")[0]}
        return await _created(tenants, attacker, properties=properties)

    return plant


def _statistics(path: str, id: int) -> list[dict[str, Any]]:
    statistics = {
        "snapshot-id": id,
        "statistics-path": path,
        "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1,
        "blob-metadata": [],
    }
    return [{"action": "set-statistics", "snapshot-id": id, "statistics": statistics}]


def _partition_statistics(path: str, id: int) -> list[dict[str, Any]]:
    statistics = {"snapshot-id": id, "statistics-path": path, "file-size-in-bytes": 1}
    return [{"action": "set-partition-statistics", "partition-statistics": statistics}]


PLANTS: dict[str, Plant] = {
    "statistics": committing(_statistics),
    "partition statistics": committing(_partition_statistics),
    "manifest list": committing(lambda path, number: snapshot_by(path, number + 1)),
    "set-location": committing(
        lambda path, _: [{"action": "set-location", "location": path.rpartition("/")[0]}]
    ),
    "write.data.path": committing(
        lambda path, _: [set_properties(write_data_path=path.rpartition("/")[0])]
    ),
    "manifest": in_manifest,
    "metadata log": in_log,
    "location": as_location,
    "metadata-location": as_registered,
    **{
        name: by_property(name)
        for name in (
            "write.metadata.path",
            "write.object-storage.path",
            "write.folder-storage.path",
        )
    },
}
"""Each field of metadata and of requests that names a file or a folder."""


@pytest.mark.parametrize("field", PLANTS)
async def test_a_path_in_a_table_reaches_nothing_of_the_victim(
    tenants: Tenants, field: str
) -> None:
    """Loaded, planned and purged: files, names and rights are as before, and nothing is told."""
    before = await tenants.state()
    for attacker in OWNERS:
        for aim in AIMS:
            path = aim(tenants)
            name = await PLANTS[field](tenants, attacker, path)
            if name is not None:
                await _use(tenants, attacker, name, path)
                job = await tenants.purge(attacker, name)
                assert CANARY not in msgspec.json.encode(job).decode().replace(path, "")
            assert await tenants.state() == before, (field, attacker.user, aim.__name__)
    assert Path(tenants.folder / "data" / "headgate.db").exists()


async def _use(tenants: Tenants, attacker: Tenant, name: str, path: str) -> None:
    """Ask for all that a table gives: its content is what its owner planted, and no more."""
    url = f"{attacker.url}/tables/{name}"
    for method, where, body in (
        ("GET", url, None),
        ("GET", f"{url}/credentials", None),
        ("POST", f"{url}/plan", {}),
    ):
        answer = await tenants.ask(method, where, body, attacker.user)
        assert answer.status_code < 500, (url, answer.text)
        assert CANARY not in answer.text.replace(path, ""), (url, answer.text)
