"""Failures are told in one line that is true about what happened, and keeps the password."""

import traceback

import asyncpg
import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.postgresql.failures import still_usable, unavailable, write_failed
from headgate.backends.postgresql.sessions import Deposed
from headgate.errors import BackendUnavailable, OutcomeUnknown
from headgate.kernel.records import PointerKey
from headgate.testing.postgresql import PostgresqlServer

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://nobody:{SECRET}@127.0.0.1:PORT/postgres",
        f"postgresql://postgres:{SECRET}@127.0.0.1:PORT/no_such_database",
        f"postgresql://u:{SECRET}@127.0.0.1:1/db",
        f"postgresql://u:{SECRET}@127.0.0.1:99999/db",
        f"postgresql://u:{SECRET}@127.0.0.1:port/db",
        f"postgresql://u:12/{SECRET}@127.0.0.1/db",
        f"postgresql://u:12#{SECRET}@127.0.0.1/db",
        f"postgresql://u:12?{SECRET}@127.0.0.1/db",
        f"postgresql://u:{SECRET}@[::1/db",
        f"postgresql://u:{SECRET}@127.0.0.1/db?sslmode=never",
        f"postgresql://u:{SECRET}@no-such-host.invalid/db",
        f"postgresql:u:{SECRET}",
        f"postgresql://u:{SECRET}/db",
        f"mysql://u:{SECRET}@127.0.0.1/db",
        "",
    ],
)
async def test_a_database_that_cannot_be_opened_is_explained_without_the_password(
    url: str, postgresql_server: PostgresqlServer
) -> None:
    """One line says what, why and what to do; not even the traceback shows the secret."""
    backend = PostgresqlBackend(url.replace("PORT", str(postgresql_server.port)))

    with pytest.raises(BackendUnavailable) as caught:
        await backend.open()

    await backend.close()
    error = caught.value
    assert error.what
    assert error.why
    assert error.fix
    assert "\n" not in str(error)
    assert SECRET not in "".join(traceback.format_exception(error))


async def test_a_standby_is_refused() -> None:
    """Its answers could be old, so Headgate asks for the primary."""
    with PostgresqlServer() as server:
        url = server.create_database()
        server.stop()
        (server.data / "standby.signal").touch()
        server.start()
        backend = PostgresqlBackend(url)

        with pytest.raises(BackendUnavailable, match="Connect to the primary"):
            await backend.open()

        await backend.close()


def server_says(severity: str, code: str) -> Exception:
    fields = {"S": severity, "V": severity, "C": code, "M": "words of the server"}
    error: Exception = asyncpg.PostgresError.new(fields)
    return error


def pooler_says(code: str) -> Exception:
    """An error as poolers write it: without the field that tells its severity in English."""
    error: Exception = asyncpg.PostgresError.new({"S": "ERROR", "C": code, "M": "words"})
    return error


@pytest.mark.parametrize(
    ("error", "certain"),
    [
        (server_says("ERROR", "40001"), True),  # serialization failure
        (server_says("ERROR", "40P01"), True),  # deadlock
        (server_says("ERROR", "53100"), True),  # disk full
        (server_says("ERROR", "25006"), True),  # read-only
        (server_says("ERROR", "57014"), True),  # statement timeout
        (server_says("ERROR", "40002"), True),  # integrity constraint in a transaction
        (server_says("ERROR", "53200"), True),  # out of memory
        (server_says("ERROR", "53300"), True),  # too many connections
        (server_says("ERROR", "55P03"), True),  # lock not available
        (server_says("ERROR", "42501"), True),  # insufficient privilege
        (server_says("ERROR", "42P01"), True),  # no such table
        (server_says("ERROR", "42P05"), True),  # the prepared statement exists already
        (server_says("ERROR", "26000"), True),  # the prepared statement does not exist
        (server_says("ERROR", "0A000"), True),  # cached plan must not change result type
        (server_says("ERROR", "25P02"), True),  # the transaction failed before
        (server_says("ERROR", "08000"), False),  # connection exceptions, also as plain errors
        (server_says("ERROR", "08003"), False),
        (server_says("ERROR", "08006"), False),
        (server_says("ERROR", "08007"), False),  # transaction resolution unknown
        (server_says("ERROR", "08P01"), False),  # what PgBouncer says of everything
        (server_says("FATAL", "08P01"), False),
        (server_says("ERROR", "40003"), False),  # statement completion unknown
        (server_says("ERROR", "57P01"), False),
        (server_says("ERROR", "58030"), False),  # the disk reported an error
        (server_says("ERROR", "XX000"), False),  # internal errors
        (server_says("FATAL", "53300"), False),
        (server_says("FATAL", "25006"), False),
        (server_says("FATAL", "57P01"), False),  # shut down by the administrator
        (server_says("FATAL", "57P02"), False),  # another process crashed
        (server_says("FATAL", "57P03"), False),  # it is starting
        (server_says("FATAL", "57P05"), False),  # idle for too long
        (pooler_says("08P01"), False),
        (pooler_says("40001"), False),
        (asyncpg.OutdatedSchemaCacheError("raised after the statement was done"), False),
        (asyncpg.ConnectionFailureError("driver"), False),
        (Deposed(), False),
        (server_says("PANIC", "53100"), False),
        (asyncpg.ConnectionDoesNotExistError("connection was closed"), False),
        (asyncpg.InterfaceError("driver"), False),
        (asyncpg.InternalClientError("driver"), False),
        (ConnectionResetError(), False),
        (TimeoutError(), False),
    ],
)
def test_only_what_the_server_undid_is_called_certain(error: Exception, certain: bool) -> None:
    """A write whose end nobody told us is unknown; a read is never more than unavailable."""
    told = write_failed("PostgreSQL", error)

    assert isinstance(told, BackendUnavailable if certain else OutcomeUnknown)
    assert told.why
    assert told.fix
    assert isinstance(unavailable("PostgreSQL", error), BackendUnavailable)


@pytest.mark.parametrize(
    ("error", "usable"),
    [
        (server_says("ERROR", "40001"), True),
        (server_says("ERROR", "57014"), True),
        (server_says("ERROR", "08P01"), False),
        (server_says("ERROR", "25006"), False),  # the primary became a standby
        (server_says("ERROR", "26000"), False),  # a statement that the driver remembers is gone
        (server_says("ERROR", "42P05"), False),
        (server_says("FATAL", "57P01"), False),
        (TimeoutError(), False),
    ],
)
def test_a_connection_on_which_all_would_fail_again_is_given_up(
    error: Exception, usable: bool
) -> None:
    """The next statement gets a new connection, whose server and session are looked at first."""
    assert still_usable(error) is usable


async def test_a_value_that_cannot_be_encoded_is_the_callers_mistake(
    backend: PostgresqlBackend,
) -> None:
    """It is not reported as a failing database, and the backend works on."""
    with pytest.raises(asyncpg.DataError):
        await backend.fetch("realm", [1 << 64])
    with pytest.raises(asyncpg.DataError):
        await backend.read_pointers([PointerKey("\ud800", "x")])

    assert await backend.read_pointers([PointerKey("realm", "x")]) == [None]
    assert await backend.fetch("realm", [1]) == []
