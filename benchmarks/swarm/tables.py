"""Tables with many data files and one snapshot, which are made quickly."""

import json
from pathlib import Path
from typing import NamedTuple

from headgate.pipelines.fixtures.catalog import Asks
from headgate.pipelines.fixtures.manifests import SCHEMA, SPEC
from headgate.pipelines.fixtures.places import LocalPlace, local_path
from headgate.pipelines.fixtures.shape import parts
from headgate.pipelines.fixtures.table import Table

NAMESPACE = "swarm"


class Doomed(NamedTuple):
    """A table that is to be dropped."""

    name: str
    folder: Path


def make_doomed(catalog: Asks, name: str, files: int, place: LocalPlace) -> Doomed:
    """A new table with so many data files."""
    schema, spec = (json.loads(one.model_dump_json()) for one in (SCHEMA, SPEC))
    body = {"name": name, "schema": schema, "partition-spec": spec}
    path = f"/namespaces/{NAMESPACE}/tables"
    made = json.loads(catalog.ask("POST", path, body))["metadata"]
    table = Table(catalog, f"{path}/{name}", made, place)
    table.append(parts(files, 1))
    return Doomed(name, Path(local_path(table.location)))


def make_empty(catalog: Asks, name: str) -> str:
    """A new table without files but its metadata; its name."""
    schema = json.loads(SCHEMA.model_dump_json())
    catalog.ask("POST", f"/namespaces/{NAMESPACE}/tables", {"name": name, "schema": schema})
    return name
