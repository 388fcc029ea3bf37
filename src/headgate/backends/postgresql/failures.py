"""What went wrong, told as a Headgate error that says whether a write may have landed."""

from collections.abc import Callable

import asyncpg

from headgate.backends.postgresql.sessions import (
    SESSION_LOST,
    Deposed,
    NotReplicated,
    shared_session,
)
from headgate.errors import BackendUnavailable, HeadgateError, OutcomeUnknown

FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # timeouts too
)

Told = Callable[[str, Exception], HeadgateError]

# SQLSTATEs, or what they begin with, after which a write may have landed even if they are told as
# an ordinary ERROR: by a pooler that lost its server, or by a server that lost another one.
_DOUBTFUL = (
    "08",  # connection exceptions
    "40003",  # statement completion unknown
    "57P",  # the server is going down
    "58",  # errors of the system around the server
    "XX",  # internal errors
)
_USELESS = (asyncpg.ReadOnlySQLTransactionError, *SESSION_LOST)
_READ_ONLY = (
    "the server takes no writes; it is a standby or set to read-only",
    "Connect to the primary",
)

# The first line that fits counts. An empty `why` stands for the driver's own words.
_CAUSES: tuple[tuple[tuple[type[Exception], ...], str, str], ...] = (
    (
        (asyncpg.InvalidAuthorizationSpecificationError,),
        "",
        "Check user and password in the database URL, and the server's pg_hba.conf",
    ),
    (
        (asyncpg.InvalidCatalogNameError,),
        "",
        "Create the database, or correct its name in the database URL",
    ),
    (
        (asyncpg.TargetServerAttributeNotMatched, asyncpg.ReadOnlySQLTransactionError),
        *_READ_ONLY,
    ),
    (
        (NotReplicated,),
        "the server completed it with a warning; a synchronous standby may not have it",
        "Check that the synchronous standbys run",
    ),
    (
        (Deposed,),
        "a standby was promoted in the place of the server that answered",
        "Stop the former primary; the next try goes to the present one",
    ),
    (
        (asyncpg.TooManyConnectionsError,),
        "",
        "Raise max_connections of the server, or let each node open fewer connections",
    ),
    ((asyncpg.CannotConnectNowError,), "", "Wait until the server has started"),
    ((asyncpg.DiskFullError,), "", "Free space on the disk of the database server"),
    (
        (asyncpg.InsufficientPrivilegeError,),
        "",
        "Grant the user the right to create in the database and to use Headgate's schema",
    ),
    ((asyncpg.TransactionRollbackError, asyncpg.LockNotAvailableError), "", "Try again"),
    ((asyncpg.QueryCanceledError,), "", "Check that the server is not overloaded"),
    (
        (TimeoutError,),
        "no answer in time",
        "Check that the server is reachable and not overloaded",
    ),
    ((Exception,), "", "Check that the server runs and is reachable, then try again"),
)


def unavailable(where: str, error: Exception) -> HeadgateError:
    """The error of a read, of a write that was never sent, or of one the server undid."""
    if isinstance(error, SESSION_LOST):
        return shared_session(where)
    why, fix = _cause(error)
    return BackendUnavailable(f"{where} is not available", why=why, fix=fix)


def takes_no_writes(where: str) -> HeadgateError:
    """The error for a server that only reads."""
    why, fix = _READ_ONLY
    return BackendUnavailable(f"{where} is not available", why=why, fix=fix)


def write_failed(where: str, error: Exception) -> HeadgateError:
    """The error of a write that was sent."""
    if refused(error):
        return unavailable(where, error)
    return OutcomeUnknown(
        f"{where} was sent a write and did not confirm it",
        why=_cause(error)[0],
        fix="Read to see whether it was applied",
    )


def refused(error: BaseException) -> bool:
    """Whether the server itself said that it undid the statement.

    FATAL and PANIC do not count: the server may say them after it has committed.
    """
    return (
        isinstance(error, asyncpg.PostgresError)
        and error.severity_en == "ERROR"
        and not (error.sqlstate or "").startswith(_DOUBTFUL)
    )


def still_usable(error: BaseException) -> bool:
    """Whether the connection can take another statement after this error.

    Not if an answer may still be under way, which must not meet another question; and not if every
    further statement would fail in the same way.
    """
    return refused(error) and not isinstance(error, _USELESS)


def never_sent(error: BaseException) -> bool:
    """Whether the driver could not encode an argument: a mistake of the program."""
    return isinstance(error, asyncpg.DataError) and error.severity_en is None


def _cause(error: Exception) -> tuple[str, str]:
    why, fix = next((why, fix) for types, why, fix in _CAUSES if isinstance(error, types))
    words = str(error).partition("\n")[0]
    return why or words or type(error).__name__, fix
