"""Tables per second of an export, and of an import into another server."""

import asyncio
import time
from pathlib import Path
from typing import Any

from benchmarks.pipelines.lakes import METALAKE, make_lake
from benchmarks.pipelines.scale import Scale
from benchmarks.stores import say
from headgate.pipelines import export, import_
from headgate.pipelines.export import ExportOptions
from headgate.pipelines.import_ import ImportOptions
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions
from headgate.portage.summaries import ExportSummary
from headgate.settings.loading import load
from headgate.testing.headgate_server import HeadgateServer
from headgate.wiring import open_kernel

MOVED = "moved"


def measure_moves(scale: Scale, disk: Path) -> dict[str, Any]:
    """The import is exported once more, and must be the same."""
    asyncio.run(_fill(disk / "from" / "data", scale.tables))
    with HeadgateServer(disk / "from") as server:
        began = time.perf_counter()
        before = _exported(server, METALAKE, disk / "export")
        exporting = time.perf_counter() - began
    say(f"{scale.tables:,} tables exported: {scale.tables / exporting:,.0f} /s")
    with HeadgateServer(disk / "to") as server:
        began = time.perf_counter()
        options = ImportOptions(folder=disk / "export", name=MOVED)
        import_.run(options, Server(server.url), SparkOptions(), Report(is_quiet=True))
        importing = time.perf_counter() - began
        after = _exported(server, MOVED, disk / "again")
    say(f"{scale.tables:,} tables imported: {scale.tables / importing:,.0f} /s")
    return {
        "export_entities_per_second": scale.tables / exporting,
        "import_entities_per_second": scale.tables / importing,
        "import_differs": int(before.content != after.content),
        "export_rows": before.rows,
        "export_bytes": before.bytes,
    }


async def _fill(data: Path, tables: int) -> None:
    async with open_kernel(load(flags={"data": str(data)})) as kernel:
        await make_lake(kernel, "file:///moving", tables)


def _exported(server: HeadgateServer, metalake: str, folder: Path) -> ExportSummary:
    options = ExportOptions(metalake=metalake, folder=folder)
    return export.run(options, Server(server.url), SparkOptions(), Report(is_quiet=True))
