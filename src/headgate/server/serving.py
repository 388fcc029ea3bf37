"""Serve an application on one port, by one process or by several."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from headgate.clock import Clock
from headgate.errors import BadSetting
from headgate.limits import PROCESSES_MAX
from headgate.server.listening import listen
from headgate.server.process import run_process
from headgate.server.supervisor import Load, Supervisor


def serve(
    load: Load,
    *,
    host: str,
    port: int,
    processes: int,
    ready: Callable[[str], None],
    clock: Clock,
) -> None:
    """Serve until SIGTERM or SIGINT. `ready` is called with the URL when the first answer came.

    One process serves by itself. Several are children of this one, which only watches them.
    """
    if not 1 <= processes <= PROCESSES_MAX:
        raise BadSetting(
            f"{processes} processes cannot be used",
            why=f"allowed are 1 to {PROCESSES_MAX}",
            fix="Choose one for SQLite, one for each core for a database server",
        )
    listener = listen(host, port, shared=processes > 1)
    url = listener.url
    with listener.socket:
        if processes == 1:
            run_process(load(None), listener.socket, lambda: ready(url))
        else:
            with tempfile.TemporaryDirectory(prefix="headgate-") as shared:
                supervisor = Supervisor(load, listener, Path(shared), clock)
                supervisor.run(processes, lambda: ready(url))
