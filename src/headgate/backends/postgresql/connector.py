"""How to connect: the URL, the settings of every connection, and its failures."""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol
from urllib.parse import urlsplit

import asyncpg

from headgate.backends.postgresql.failures import FAILURES, unavailable
from headgate.errors import BackendUnavailable

CONNECT_SECONDS_MAX = 5.0
SERVER_TIMEOUT_SHARE = 0.8  # the server gives up first: then it is certain that it undid its work
SCHEMES = ("postgresql", "postgres")


class Connection(Protocol):
    """What we use of a connection of the driver, which has no types of its own."""

    async def execute(self, query: str, *args: object) -> str: ...
    async def fetch(self, query: str, *args: object) -> list[Any]: ...
    def transaction(self) -> AbstractAsyncContextManager[object]: ...
    def is_closed(self) -> bool: ...
    def terminate(self) -> None: ...


class Connector:
    """Makes connections to one database, to its primary only."""

    def __init__(self, url: str, schema: str, command_timeout_seconds: float) -> None:
        self.where = "PostgreSQL"
        self.command_timeout_seconds = command_timeout_seconds
        self._url = url
        self._schema = schema

    async def connect(self, command_timeout_seconds: float | None = None) -> Connection:
        """A new connection, or `BackendUnavailable`."""
        self.where = _where(self._url)
        seconds = command_timeout_seconds or self.command_timeout_seconds
        try:
            connection: Connection = await asyncpg.connect(
                self._url,
                timeout=min(CONNECT_SECONDS_MAX, seconds),
                command_timeout=seconds,
                target_session_attrs="read-write",  # reads must be current: never a standby
                server_settings=self._settings(seconds),
            )
            return connection
        except OSError as error:  # before ValueError: a bad certificate is both
            raise unavailable(self.where, error) from error
        except (ValueError, OverflowError):
            raise _bad_url() from None  # their words may quote the password
        except FAILURES as error:
            raise unavailable(self.where, error) from error

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


def _bad_url() -> BackendUnavailable:
    return BackendUnavailable(
        "PostgreSQL is not available",
        why="the database URL or one of its options cannot be used",
        fix="Write it as postgresql://user:password@host:port/database, "
        "and / ? # @ : in user and password as %2F %3F %23 %40 %3A",
    )
