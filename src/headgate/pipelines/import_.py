"""A metalake from the files of an export: checked, sent and read back by executors.

Every step may be repeated. A run that was killed is made good by the next one.
"""

from functools import partial
from pathlib import Path
from urllib.parse import quote

import msgspec

from headgate.http.management.realm_messages import (
    IMPORTS,
    FinishRequest,
    ImportRequest,
    ImportView,
)
from headgate.pipelines.portage_tasks import (
    again,
    check_files,
    count_pieces,
    outlined,
    send_files,
    spread,
)
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.portage import folder as folders
from headgate.portage.manifest import Manifest, check_arrived, check_facts, renamed
from headgate.portage.summaries import ImportSummary, imported


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is read from where."""

    folder: Path
    """Which all executors share."""
    name: str = ""
    """Another name than that it had."""


def run(
    options: ImportOptions, server: Server, spark: SparkOptions, report: Report
) -> ImportSummary:
    """Fill a metalake; what came of it. What is not whole is refused before anything is sent."""
    folder = options.folder.absolute()
    manifest = renamed(folders.load_manifest(folder), options.name)
    files = [msgspec.json.encode(file).decode() for file in manifest.files]
    with spark_session(spark, "import", report=report) as session:
        with report.stage("check", total=len(files), spark=session) as stage:
            check_facts(manifest, spread(session, files, partial(check_files, folder))[0])
            stage.advance(files=len(files))
        id = _begun(server, manifest).id
        with report.stage("import", total=manifest.facts.rows, spark=session) as stage:
            sent, _ = spread(session, files, partial(send_files, server, id, folder))
            stage.advance(rows=sent.rows)
        with report.stage("read back", total=manifest.facts.rows, spark=session) as stage:
            pieces = outlined(server, id).pieces
            found, _ = spread(session, pieces, partial(count_pieces, server, id))
            stage.advance(rows=found.rows)
    check_arrived(manifest, found)
    done = _finished(server, manifest, id)
    return imported(manifest, done.name, done.id, done.state)


def abort(options: ImportOptions, server: Server) -> ImportSummary:
    """Clear away what an unfinished import left."""
    name = options.name or folders.load_manifest(options.folder).realm.name
    gone = msgspec.convert(server.delete(f"{IMPORTS}/{quote(name, safe='')}"), ImportView)
    return ImportSummary(metalake=gone.name, id=gone.id, state=gone.state)


def _begun(server: Server, manifest: Manifest) -> ImportView:
    wanted = ImportRequest(manifest.realm, manifest.facts)
    return msgspec.convert(again(partial(server.post, IMPORTS, wanted)), ImportView)


def _finished(server: Server, manifest: Manifest, id: str) -> ImportView:
    wanted = FinishRequest(manifest.facts.content, manifest.realm.state)
    path = f"{IMPORTS}/{quote(id, safe='')}/finish"
    return msgspec.convert(again(partial(server.post, path, wanted)), ImportView)
