"""How soon a server on a new store answers, and how much memory it takes when nobody asks."""

import statistics
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.rest.scale import Scale
from benchmarks.rest.servers import connect
from benchmarks.stores import say
from headgate.testing.headgate_server import HeadgateServer

REST_SECONDS = 1.0


def measure_starts(scale: Scale, folder: Path) -> dict[str, Any]:
    """Each start has an empty folder, as a first one has."""
    took, memory = [], []
    for turn in range(scale.starts):
        server = HeadgateServer(folder / f"start-{turn}")
        began = time.perf_counter()
        with server:
            connect(server)  # asks for the configuration, as every client does first
            took.append(time.perf_counter() - began)
            time.sleep(REST_SECONDS)
            memory.append(_resident_bytes(server.pid) / 1e6)
        say(f"start {turn + 1}: {took[-1]:.2f} s, {memory[-1]:.0f} MB")
    return {"start_seconds": statistics.median(took), "idle_rss_mb": statistics.median(memory)}


def _resident_bytes(pid: int) -> int:
    """Of a process and all its children, what they share counted for each."""
    parent = psutil.Process(pid)
    processes = [parent, *parent.children(recursive=True)]
    return sum(int(process.memory_info().rss) for process in processes)
