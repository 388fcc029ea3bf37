"""The steps of `headgate demo`: the body of each is what a user would write, and is shown as such.

Only `headgate.cli.demo` imports this module, and only when it runs: it needs pyarrow.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import requests
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType
from pyiceberg.view.metadata import ViewVersion

from headgate.clock import SystemClock

PURGE_SECONDS_MAX = 30.0
USE_CATALOG = {"name": "USE_CATALOG", "condition": "ALLOW"}

Step = Callable[[RestCatalog], object]


def connect(url: str) -> RestCatalog:
    """The client that all steps use."""
    catalog = load_catalog("headgate", type="rest", uri=f"{url}/iceberg")
    assert isinstance(catalog, RestCatalog)
    return catalog


def nested_namespaces(catalog: RestCatalog) -> object:
    """Namespaces have levels; those above a new one are made with it, in the same commit."""
    catalog.create_namespace("shop.europe")
    catalog.create_namespace("shop.asia")
    return catalog.list_namespaces("shop")


def a_partitioned_table(catalog: RestCatalog) -> object:
    """A table whose files are kept apart by country."""
    schema = Schema(
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "country", StringType(), required=False),
        NestedField(3, "item", StringType(), required=False),
    )
    by_country = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "country"))
    return catalog.create_table("shop.europe.orders", schema, partition_spec=by_country)


def two_appends(catalog: RestCatalog) -> object:
    """Each append is one commit and one snapshot."""
    orders = catalog.load_table("shop.europe.orders")
    lamps = {"id": [1, 2], "country": ["FR", "DE"], "item": ["lamp", "lamp"]}
    chairs = {"id": [3, 4], "country": ["FR", "IT"], "item": ["chair", "chair"]}
    orders.append(pa.table(lamps))
    orders.append(pa.table(chairs))
    return orders.scan().to_arrow().sort_by("id")


def a_filter_planned_by_the_server(catalog: RestCatalog) -> object:
    """The server reads the manifests and names only the files that can match."""
    mode = {"scan-planning-mode": "server"}
    planning = load_catalog("headgate", type="rest", uri=catalog.uri, **mode)
    french = planning.load_table("shop.europe.orders").scan(row_filter="country = 'FR'")
    every = catalog.load_table("shop.europe.orders").scan()
    return {
        "files to read": f"{len(list(french.plan_files()))} of {len(list(every.plan_files()))}",
        "rows": french.to_arrow().sort_by("id").to_pylist(),
    }


def time_travel(catalog: RestCatalog) -> object:
    """An old snapshot is read by its id."""
    orders = catalog.load_table("shop.europe.orders")
    first = orders.history()[0]
    return {
        "then": orders.scan(snapshot_id=first.snapshot_id).count(),
        "now": orders.scan().count(),
    }


def a_branch(catalog: RestCatalog) -> object:
    """What is written to a branch is not seen on `main`."""
    orders = catalog.load_table("shop.europe.orders")
    newest = orders.history()[-1].snapshot_id
    orders.manage_snapshots().create_branch(newest, "draft").commit()
    orders.append(pa.table({"id": [99], "country": ["FR"], "item": ["sofa"]}), branch="draft")
    return {
        "main": orders.scan().count(),
        "draft": orders.scan().use_ref("draft").count(),
    }


def a_view(catalog: RestCatalog) -> object:
    """A query with a name, kept beside the tables; Spark and others run it."""
    sql = "SELECT country, count(*) AS orders FROM shop.europe.orders GROUP BY country"
    version = {
        "version-id": 1,
        "schema-id": 0,
        "timestamp-ms": 0,
        "summary": {},
        "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
        "default-namespace": ["shop", "europe"],
    }
    columns = pa.schema([("country", pa.string()), ("orders", pa.int64())])
    catalog.create_view("shop.europe.by_country", columns, ViewVersion.model_validate(version))
    return catalog.list_views("shop.europe")


def a_schema_change(catalog: RestCatalog) -> object:
    """A column is added; old files are read as if they had it."""
    orders = catalog.load_table("shop.europe.orders")
    with orders.update_schema() as update:
        update.add_column("price", LongType(), doc="in cents")
        update.rename_column("item", "article")
    return orders.scan(row_filter="id < 3").to_arrow().sort_by("id")


def two_writers(catalog: RestCatalog) -> object:
    """Two writers begin with the same state of a table; the slower one is told, and goes on."""
    states = {writer: catalog.load_table("shop.europe.orders") for writer in (1, 2)}

    def write(writer: int) -> None:
        rows = [{"id": 10 * writer + n, "country": "ES", "article": "rug"} for n in (1, 2, 3)]
        states[writer].append(pa.Table.from_pylist(rows))

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, states))
    spanish = catalog.load_table("shop.europe.orders").scan(row_filter="country = 'ES'")
    return sorted(spanish.to_arrow()["id"].to_pylist())


def a_transaction_over_two_tables(catalog: RestCatalog) -> object:
    """Two tables change together or not at all: here the second one refuses, then both agree."""
    rows = pa.table({"id": [1, 2, 3]})
    catalog.create_table("shop.asia.orders", rows.schema).append(rows)

    def change(region: str, *requirements: dict[str, str]) -> dict[str, Any]:
        return {
            "identifier": {"namespace": ["shop", region], "name": "orders"},
            "requirements": requirements,
            "updates": [{"action": "set-properties", "updates": {"audited": "yes"}}],
        }

    url = f"{catalog.uri}/v1/default.main/transactions/commit"
    wrong = {"type": "assert-table-uuid", "uuid": "00000000-0000-0000-0000-000000000000"}
    refused = requests.post(
        url, json={"table-changes": [change("europe"), change("asia", wrong)]}, timeout=10
    )
    tables = [catalog.load_table(f"shop.{region}.orders") for region in ("europe", "asia")]
    before = ["audited" in table.properties for table in tables]
    done = requests.post(
        url, json={"table-changes": [change("europe"), change("asia")]}, timeout=10
    )
    after = ["audited" in table.refresh().properties for table in tables]
    return {
        "one refuses": f"{refused.status_code}, audited: {before}",
        "both agree": f"{done.status_code}, audited: {after}",
    }


def a_retry_with_a_key(catalog: RestCatalog) -> object:
    """A request that is sent twice with one Idempotency-Key is done once and answered twice."""
    url = f"{catalog.uri}/v1/default.main/namespaces"
    new = {"namespace": ["shop", "africa"]}
    key = {"Idempotency-Key": "019947a0-7a7c-7c0e-8f55-2f6a4ad9e0aa"}
    first = requests.post(url, json=new, headers=key, timeout=10)
    again = requests.post(url, json=new, headers=key, timeout=10)
    another = requests.post(url, json=new, timeout=10)
    return {
        "first": first.status_code,
        "the same again": again.status_code,
        "without the key": f"{another.status_code} {another.json()['error']['type']}",
    }


def a_right_that_is_taken_away(catalog: RestCatalog) -> object:
    """A role lets ann read a schema; without it her very next request is refused."""
    lake = f"{catalog.uri.removesuffix('/iceberg')}/api/metalakes/default"
    allowed = [{"name": one, "condition": "ALLOW"} for one in ("USE_SCHEMA", "SELECT_TABLE")]
    objects: list[dict[str, Any]] = [
        {"type": "CATALOG", "fullName": "main", "privileges": [USE_CATALOG]},
        {"type": "SCHEMA", "fullName": "main.shop:europe", "privileges": allowed},
    ]
    requests.post(f"{lake}/users", json={"name": "ann"}, timeout=10)
    requests.post(f"{lake}/roles", json={"name": "r", "securableObjects": objects}, timeout=10)

    def ann_loads_it() -> int:
        path = "/v1/default.main/namespaces/shop:europe/tables/orders"
        return requests.get(catalog.uri + path, auth=("ann", ""), timeout=10).status_code

    answers = {"without a role": ann_loads_it()}
    for change in ("grant", "revoke"):
        url = f"{lake}/permissions/users/ann/{change}"
        requests.put(url, json={"roleNames": ["r"]}, timeout=10)
        answers[f"after the {change}"] = ann_loads_it()
    return answers


def a_drop_with_purge(catalog: RestCatalog) -> object:
    """The name is free at once; the files are deleted behind it."""
    folder = Path(urlsplit(catalog.load_table("shop.asia.orders").location()).path)
    before = files_below(folder)
    catalog.purge_table("shop.asia.orders")
    wait_until_empty(folder)
    return {
        "tables": catalog.list_tables("shop.asia"),
        "files before": len(before),
        "files after": files_below(folder),
    }


STEPS: dict[str, Step] = {
    "Nested namespaces": nested_namespaces,
    "A partitioned table": a_partitioned_table,
    "Two appends": two_appends,
    "A filter, planned by the server": a_filter_planned_by_the_server,
    "Time travel": time_travel,
    "A branch": a_branch,
    "A view": a_view,
    "A schema change": a_schema_change,
    "Two writers at once": two_writers,
    "A transaction over two tables": a_transaction_over_two_tables,
    "A retry that does nothing twice": a_retry_with_a_key,
    "A right that is taken away": a_right_that_is_taken_away,
    "A drop with purge": a_drop_with_purge,
}


def files_below(folder: Path) -> list[str]:
    """All files in a folder and the folders in it; what is deleted meanwhile is no matter."""
    return sorted(name for _, _, names in os.walk(folder) for name in names)


def wait_until_empty(folder: Path) -> None:
    """Wait for the server to delete what it was told to delete."""
    clock = SystemClock()
    deadline = clock.seconds() + PURGE_SECONDS_MAX
    while files_below(folder) and clock.seconds() < deadline:
        clock.pause()
