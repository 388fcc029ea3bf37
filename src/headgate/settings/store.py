"""Settings of the store that everything lies in, and of commits to it."""

from pathlib import Path

import platformdirs

from headgate.limits import (
    BATCH_ATTEMPTS_MAX,
    CACHE_BYTES,
    COMMIT_TIMEOUT_SECONDS,
    POSTGRESQL_COMMAND_SECONDS,
    POSTGRESQL_CONNECTIONS_MAX,
    SQLITE_BUSY_SECONDS,
    TIMEOUT_SECONDS_MAX,
)
from headgate.limits import POSTGRESQL_CONNECTIONS as POSTGRESQL_CONNECTIONS_DEFAULT
from headgate.settings.setting import Setting

DATA = Setting(
    name="data",
    type=Path,
    default=lambda: platformdirs.user_data_path("headgate", appauthor=False),
    default_help="the directory of the SQLite file that `backend` names, else the platform's user "
    "data directory",
    help="The directory of everything embedded, `headgate.db` first.",
)
DATABASE_FILE = "headgate.db"
"""What the file of an embedded store is called in the data directory."""
BACKEND = Setting(
    name="backend",
    type=str,
    default="",
    default_help="the SQLite file `headgate.db` in the data directory",
    help="Where everything is stored: `sqlite:///PATH`, `postgresql://USER:PASSWORD@HOST/DATABASE` "
    "or `memory:`. A path is absolute: `sqlite:///x/y.db` and `sqlite:////x/y.db` are the same.",
    url=True,
)
CACHE_SIZE = Setting(
    name="cache.bytes",
    type=int,
    default=CACHE_BYTES,
    unit="bytes",
    least=0,
    help="How much memory the cache of decoded objects may take.",
)
COMMIT_TIMEOUT = Setting(
    name="commit.timeout-seconds",
    type=float,
    default=COMMIT_TIMEOUT_SECONDS,
    unit="seconds",
    least=0.1,
    most=TIMEOUT_SECONDS_MAX,
    help="How long a commit may wait before it is refused.",
)
COMMIT_BATCH = Setting(
    name="commit.batch-attempts",
    type=int,
    default=BATCH_ATTEMPTS_MAX,
    unit="attempts",
    least=1,
    help="How many callers of one pointer may share one commit.",
)
POSTGRESQL_CONNECTIONS = Setting(
    name="postgresql.connections-max",
    type=int,
    default=POSTGRESQL_CONNECTIONS_DEFAULT,
    unit="connections",
    least=1,
    most=POSTGRESQL_CONNECTIONS_MAX,
    help="How many connections a process may hold.",
    aliases=("gravitino.entity.store.relational.maxConnections",),
)
POSTGRESQL_TIMEOUT = Setting(
    name="postgresql.command-timeout-seconds",
    type=float,
    default=POSTGRESQL_COMMAND_SECONDS,
    unit="seconds",
    least=0.1,
    most=TIMEOUT_SECONDS_MAX,
    help="How long one statement may take before its answer is given up.",
)
POSTGRESQL_STALE_READS = Setting(
    name="postgresql.stale-reads",
    type=bool,
    default=False,
    help="Whether what only reads, as a server with `read-only` does, may read from a standby. Its "
    "answers are as old as the standby is behind its primary, also those on privileges and tokens.",
)
SQLITE_BUSY_TIMEOUT = Setting(
    name="sqlite.busy-timeout-seconds",
    type=float,
    default=SQLITE_BUSY_SECONDS,
    unit="seconds",
    least=0,
    most=TIMEOUT_SECONDS_MAX,
    help="How long to wait for another process that is writing.",
)
