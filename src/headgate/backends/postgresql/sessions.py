"""What each new connection is asked before it is used: which server answers, and as which session.

A connection is refused if the server behind it takes no writes, if a pooler hands its session to
other clients between two statements, or if its server has an older history than one seen before.
"""

from typing import NamedTuple, Protocol
from weakref import WeakValueDictionary

import asyncpg

from headgate.errors import BackendUnavailable

NO_LINEAGE = (  # products that speak the protocol and do not tell
    asyncpg.FeatureNotSupportedError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.UndefinedFunctionError,
    asyncpg.ObjectNotInPrerequisiteStateError,
)
SESSION_LOST = (  # a statement that was prepared is gone, or one of another client is in its place
    asyncpg.InvalidSQLStatementNameError,
    asyncpg.DuplicatePreparedStatementError,
)


class Lineage(NamedTuple):
    """The history that a server continues; (0, 0) if the server does not tell."""

    cluster: int
    """The system identifier: chosen by initdb, the same on all standbys of a primary."""
    timeline: int
    """Grows with each promotion of a standby; 0 on a server that only reads."""


UNTOLD = Lineage(0, 0)


class Deposed(ConnectionError):
    """The server that answered is no longer the primary."""


class NotReplicated(ConnectionError):
    """A write was completed with a warning: a synchronous standby may not have it."""


class ServerMessage(Protocol):
    """A message beside the answer to a statement."""

    @property
    def severity_en(self) -> str | None: ...


class DriverConnection(asyncpg.Connection):  # type: ignore[misc]  # the driver has no types
    """A connection whose statements have names that no other connection uses.

    The driver counts statements from 1 in each process. Behind a pooler that shares sessions, the
    name of one client's `fetch` would run the `delete` of another: both take the same arguments.
    """

    lineage = UNTOLD
    """Of the server, as it was when the connection was made."""
    is_pooled = False
    """Whether a pooler is on the way."""
    warnings = 0
    """How often the server completed a statement with a warning."""

    token = ""
    """Part of the names; chosen by the server, by chance, for this connection alone. Until it is
    known, the process id that was told at connecting stands for it: poolers draw one by chance."""
    _named = 0

    def _get_unique_id(self, prefix: str) -> str:
        self._named += 1
        return f"headgate_{self.token or self.get_server_pid()}_{prefix}_{self._named}"

    def note_warning(self, _connection: object, message: ServerMessage) -> None:
        """Count a message of the server, if it is a warning."""
        self.warnings += message.severity_en == "WARNING"


class Introduced(Protocol):
    """A connection whose server is known."""

    @property
    def lineage(self) -> Lineage: ...


class Sessions:
    """The connections of one process to one database, and the newest history they have met."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._pooled: WeakValueDictionary[int, DriverConnection] = WeakValueDictionary()
        """Connections through a pooler, by the server's process."""
        self.lineage = UNTOLD

    def add(self, connection: DriverConnection, server_pid: int) -> bool:
        """Take a connection in; True if there is a pooler on the way.

        A pooler has told the client another process id than the server tells. While a session
        belongs to one client, no other client of the same pooler meets its process.
        """
        if connection.get_server_pid() == server_pid:
            return False
        other = self._pooled.get(server_pid)
        if other is not None and not other.is_closed():
            raise shared_session(self._where)
        self._pooled[server_pid] = connection
        return True

    def check_lineage(self, lineage: Lineage) -> None:
        """Refuse another cluster, and a server that was the primary before the present one."""
        if lineage == UNTOLD:
            return
        known = self.lineage
        if known != UNTOLD and lineage.cluster != known.cluster:
            raise BackendUnavailable(
                f"{self._where} is refused",
                why="it is another database cluster than the one this node was started on",
                fix="Stop all nodes before the database is replaced, then start them again",
            )
        if 0 < lineage.timeline < known.timeline:
            raise BackendUnavailable(
                f"{self._where} is refused",
                why=f"the server continues timeline {lineage.timeline}, and this node has seen "
                f"timeline {known.timeline}: a standby was promoted in its place",
                fix="Stop the former primary, or let the database URL lead to the new one",
            )
        self.lineage = max(known, lineage)

    def is_current(self, connection: Introduced) -> bool:
        """Whether no newer history was met since this connection was made."""
        timeline = connection.lineage.timeline
        return not timeline or timeline >= self.lineage.timeline


def shared_session(where: str) -> BackendUnavailable:
    """The error for a pooler that gives one session to several clients."""
    return BackendUnavailable(
        f"{where} cannot be used",
        why="a connection pooler on the way shares sessions between clients (pool_mode transaction "
        "or statement), so settings and prepared statements of a connection do not last",
        fix="Set pool_mode = session for this database in the pooler, or connect without it",
    )
