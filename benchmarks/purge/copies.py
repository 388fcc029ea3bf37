"""Many tables that are like one, made without its files being written again."""

import json
import os
from pathlib import Path
from uuid import uuid4

from benchmarks.rest.servers import Server
from headgate.pipelines.fixtures.places import local_path
from headgate.pipelines.fixtures.table import Made


def make_copies(server: Server, made: Made, count: int) -> list[str]:
    """The paths of new tables with the same metadata in folders of their own.

    Manifests and their lists are names of the same files, and what they name are the files of the
    first table.
    """
    found = json.loads(server.ask("GET", made.path))
    metadata = Path(local_path(found["metadata-location"]))
    files = [path for path in metadata.parent.iterdir() if path != metadata]
    text, uuid = metadata.read_text(), found["metadata"]["table-uuid"]
    namespace, _, name = made.path.rpartition("/tables/")
    paths = []
    for number in range(count):
        location = f"{made.location}-{number:04}"
        folder = Path(local_path(location)) / "metadata"
        folder.mkdir(parents=True)
        for file in files:
            os.link(file, folder / file.name)
        own = text.replace(made.location, location).replace(uuid, str(uuid4()))
        (folder / metadata.name).write_text(own)
        body = {
            "name": f"{name}_{number:04}",
            "metadata-location": f"{location}/metadata/{metadata.name}",
        }
        server.ask("POST", f"{namespace}/register", body)
        paths.append(f"{namespace}/tables/{body['name']}")
    return paths
