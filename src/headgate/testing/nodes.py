"""Nodes on real stores, for the programs that tests run as processes of their own."""

import os
import socket
from pathlib import Path

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.clock import SystemClock
from headgate.kernel.backend import Backend
from headgate.kernel.commit import CommitOptions
from headgate.kernel.kernel import Kernel, KernelOptions
from headgate.wiring import entropy


def make_node(store: str, commit: CommitOptions = CommitOptions()) -> Kernel:
    """A kernel, not opened, on a PostgreSQL URL or the path of a SQLite file."""
    backend: Backend
    if store.startswith("postgresql:"):
        backend = PostgresqlBackend(store)
    else:
        backend = SqliteBackend(Path(store))
    holder = f"{socket.gethostname()}:{os.getpid()}"
    return Kernel(backend, SystemClock(), entropy, KernelOptions(commit=commit, holder=holder))
