"""How to connect: the URL, the settings of every connection, and its failures."""

import asyncio
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from headgate.backends.postgresql.failures import FAILURES, takes_no_writes, unavailable
from headgate.backends.postgresql.sessions import (
    NO_LINEAGE,
    UNTOLD,
    Deposed,
    DriverConnection,
    Lineage,
    Sessions,
    shared_session,
)
from headgate.errors import BackendUnavailable, HeadgateError
from headgate.sql import load_statements

CONNECT_SECONDS_MAX = 5.0
SERVER_TIMEOUT_SHARE = 0.8  # the server gives up first: then it is certain that it undid its work
SCHEMES = ("postgresql", "postgres")
SQL = load_statements("headgate.backends.postgresql", "sessions.sql")


class Connection(Protocol):
    """What we use of a connection of the driver, which has no types of its own."""

    @property
    def lineage(self) -> Lineage: ...
    @property
    def is_pooled(self) -> bool: ...
    @property
    def warnings(self) -> int: ...
    async def execute(self, query: str, *args: object) -> str: ...
    async def fetch(self, query: str, *args: object) -> list[Any]: ...
    def transaction(self) -> AbstractAsyncContextManager[object]: ...
    def is_closed(self) -> bool: ...
    def terminate(self) -> None: ...


class Connector:
    """Makes connections to one database, to its primary only.

    With `standby` also to servers that only read; their answers may be old.
    """

    def __init__(
        self, url: str, schema: str, command_timeout_seconds: float, *, standby: bool = False
    ) -> None:
        self.where = "PostgreSQL"
        self.command_timeout_seconds = command_timeout_seconds
        self.standby = standby
        self._url = url
        self._urls: list[str] = []
        """One for each host, the one used last first."""
        self._schema = schema
        self._sessions: Sessions | None = None

    async def connect(self, command_timeout_seconds: float | None = None) -> Connection:
        """A new connection, or `BackendUnavailable`.

        Of several hosts the first that can be used is taken, beginning with the one used last.
        """
        urls = self._known_urls()
        seconds = command_timeout_seconds or self.command_timeout_seconds
        host_seconds = min(CONNECT_SECONDS_MAX, seconds) / len(urls)
        refusals: list[HeadgateError] = []
        for url in urls:
            try:
                connection = await self._connect(url, seconds, host_seconds)
            except BackendUnavailable as error:
                refusals.append(error)
                continue
            self._urls.remove(url)
            self._urls.insert(0, url)
            return connection
        raise _of_all_hosts(refusals)

    async def look_around(self) -> None:
        """Ask the other hosts, if there are any, whether one of them is the primary by now.

        The former primary may still run and answer: connections to it do not break.
        """
        others = [] if self.standby else self._known_urls()[1:]
        for url in others:
            with suppress(BackendUnavailable):
                seconds = self.command_timeout_seconds
                (await self._connect(url, seconds, min(CONNECT_SECONDS_MAX, seconds))).terminate()

    def is_current(self, connection: Connection) -> bool:
        """Whether no newer primary was met since this connection was made."""
        return self._sessions is None or self._sessions.is_current(connection)

    def check_current(self, connection: Connection) -> None:
        """Distrust an answer of a server that is no longer the primary."""
        if not self.is_current(connection):
            raise Deposed

    def _known_urls(self) -> list[str]:
        if not self._urls:
            self.where = _where(self._url)
            self._urls = _one_host_each(self._url)
        return self._urls.copy()

    async def _connect(self, url: str, command_seconds: float, seconds: float) -> Connection:
        """A connection to one host."""
        try:
            async with asyncio.timeout(seconds):
                connection: DriverConnection = await asyncpg.connect(
                    url,
                    timeout=None,
                    command_timeout=command_seconds,
                    connection_class=DriverConnection,
                    # Reads must be current: never a standby, unless an operator asked for it.
                    target_session_attrs="any" if self.standby else "read-write",
                )
                try:
                    await self._introduce(connection, command_seconds)
                except BaseException:
                    connection.terminate()
                    raise
                return connection
        except OSError as error:  # before ValueError: a bad certificate is both
            raise unavailable(self.where, error) from error
        except (ValueError, OverflowError):
            raise _bad_url() from None  # their words may quote the password
        except FAILURES as error:
            raise unavailable(self.where, error) from error

    async def _introduce(self, connection: DriverConnection, seconds: float) -> None:
        """Set up the session and learn which server it is on.

        Settings are not passed while connecting: poolers refuse them there, or drop them.
        """
        settings = self._settings(seconds)
        [server] = await connection.fetch(SQL["introduce"], [*settings], [*settings.values()])
        connection.token = server["token"]
        if server["is_read_only"] and not self.standby:
            raise takes_no_writes(self.where)
        if self._sessions is None:
            self._sessions = Sessions(self.where)
        connection.is_pooled = self._sessions.add(connection, server["pid"])
        if connection.is_pooled:
            [again] = await connection.fetch(SQL["server_pid"])
            if again["pid"] != server["pid"]:
                raise shared_session(self.where)
        connection.lineage = await _lineage(connection)
        self._sessions.check_lineage(connection.lineage)
        connection.add_log_listener(connection.note_warning)

    def _settings(self, command_timeout_seconds: float) -> dict[str, str]:
        return {
            "application_name": "headgate",
            "search_path": f'"{self._schema}"',
            "synchronous_commit": "on",  # what is acknowledged survives a crash
            "default_transaction_isolation": "read committed",  # else a lost swap is an error
            "statement_timeout": f"{command_timeout_seconds * 1000 * SERVER_TIMEOUT_SHARE:.0f}",
            # All statements look up keys: plan once, and never by a scan that statistics suggest.
            "plan_cache_mode": "force_generic_plan",
            "enable_seqscan": "off",
            "jit": "off",
        }


async def _lineage(connection: DriverConnection) -> Lineage:
    try:
        [told] = await connection.fetch(SQL["lineage"])
    except NO_LINEAGE:
        return UNTOLD
    return Lineage(told["cluster"], told["timeline"])


def _where(url: str) -> str:
    """Server and database as in the URL, without user, password and options."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _bad_url() from None
    # An `@` further right may mean that the password was cut in two and would be shown.
    begins = url.startswith(tuple(f"{scheme}://" for scheme in SCHEMES))
    if not begins or "@" in parts.path + parts.query + parts.fragment:
        raise _bad_url()
    return f"PostgreSQL at {parts.netloc.rpartition('@')[2]}{parts.path}"


def _one_host_each(url: str) -> list[str]:
    """The URL for each of its hosts: the driver's own list has one time limit for all of them."""
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    return [urlunsplit(parts._replace(netloc=f"{user}{at}{host}")) for host in hosts.split(",")]


def _of_all_hosts(refusals: list[HeadgateError]) -> HeadgateError:
    """One error for all hosts of a URL, each of which has refused."""
    if len(refusals) == 1:
        return refusals[0]
    what = refusals[0].what
    fixes = list(dict.fromkeys(error.fix for error in refusals))
    return BackendUnavailable(
        what, why="; ".join(error.why for error in refusals), fix=", or: ".join(fixes)
    )


def _bad_url() -> BackendUnavailable:
    return BackendUnavailable(
        "PostgreSQL is not available",
        why="the database URL or one of its options cannot be used",
        fix="Write it as postgresql://user:password@host:port/database, "
        "and / ? # @ : in user and password as %2F %3F %23 %40 %3A",
    )
