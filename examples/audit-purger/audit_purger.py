"""A purger that deletes nothing: it writes down which tables were to be purged.

One JSON object per line, of one file. Somebody else decides what becomes of the files.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from headgate.purge.purgers import PurgerContext, PurgeRequest


class AuditPurger:
    """Chosen by `purger = "audit"`; the file is `purger.audit.file`."""

    name = "audit"

    def initialize(self, properties: Mapping[str, str], context: PurgerContext) -> None:
        """Open the file. What is wrong with the properties is raised: the server then says it."""
        unknown = sorted(properties.keys() - {"file"})
        if unknown:
            raise ValueError(f"purger.audit.{unknown[0]} is unknown, the only one is file")
        if not properties.get("file"):
            raise ValueError("purger.audit.file is missing")
        self._context = context
        self._file = Path(properties["file"]).open("ab", buffering=0)  # noqa: SIM115  it stays open

    def purge_table(self, request: PurgeRequest) -> None:
        """Write a line. It is on the disk when this returns: then the job is done."""
        metadata = json.loads(self._context.wait(request.metadata()))
        line = {
            "job": request.job,
            "at_ms": request.at_ms,
            "metalake": request.metalake,
            "catalog": request.catalog,
            "namespace": request.identifier.namespace,
            "table": request.identifier.name,
            "uuid": metadata["table-uuid"],
            "metadata_location": request.metadata_location,
            "principal": request.principal,
            "request": request.request,
            "server": self._context.server,
        }
        self._file.write(json.dumps(line).encode() + b"\n")  # at once: others write too
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """The server stops."""
        self._file.close()
