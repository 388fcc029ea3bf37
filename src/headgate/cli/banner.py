"""What `headgate serve` says when it is ready: what is true then, for people or for scripts."""

import asyncio
import os
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import click

from headgate import __version__
from headgate.authentication import methods_of
from headgate.background import purges_elsewhere
from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import find_catalog
from headgate.cli.access import access_in_words, unchecked_users
from headgate.cli.output import printable, to_json
from headgate.cli.purge_findings import others
from headgate.cli.snippets import snippets
from headgate.errors import HeadgateError, NotFound
from headgate.server_settings import bootstrap_catalog
from headgate.settings.catalogs import BOOTSTRAP_CATALOG, BOOTSTRAP_METALAKE, BOOTSTRAP_WAREHOUSE
from headgate.settings.server import READ_ONLY
from headgate.settings.setting import Settings
from headgate.settings.store import BACKEND, DATA, DATABASE_FILE
from headgate.settings.urls import mask
from headgate.wiring import open_kernel

UNKNOWN = "unknown: "


class Banner(NamedTuple):
    """What there is to say."""

    url: str
    store: str
    tables: str
    """Where those of the default catalog lie; empty if there is none."""
    catalog: CatalogName
    read_only: bool
    temporary: bool
    """Everything goes away when the server stops."""
    access: str
    """Who is believed, and whether rights are checked."""
    methods: frozenset[str]
    """How clients may say who they are."""
    purges: bool
    """Whether it deletes the files of dropped tables itself."""
    others: str
    """Who does if it does not."""

    def announce(self) -> None:
        """Say where everything is, and that it works."""
        tables = self.tables or f"there is no catalog {self.catalog} yet"
        lost = ", for as long as this server runs" if self.temporary else ""
        click.echo(f"listening   {self.url}{', read-only' if self.read_only else ''}")
        click.echo(f"store       {printable(self.store)}{lost}")
        click.echo(f"tables      {printable(tables)}{lost}")
        if not (self.purges or self.read_only):
            click.echo(f"purges      left to {self.others}")
        click.echo(f"access      {self.access}\n")
        click.echo(snippets(self.url, self.catalog, self.methods))
        click.echo(f"headgate ready on {self.url}")

    def announce_as_json(self) -> None:
        """The same in one line."""
        about = {
            "url": self.url,
            "pid": os.getpid(),
            "version": __version__,
            "store": self.store,
            "tables": self.tables or None,
            "read-only": self.read_only,
            "temporary": self.temporary,
            "access": self.access,
            "purges": self.purges,
        }
        click.echo(to_json(about))


def banner(settings: Settings, url: str, *, temporary: bool) -> Banner:
    """What is true of a server that just became ready."""
    return Banner(
        url=url,
        store=mask(settings[BACKEND]) or str(settings[DATA] / DATABASE_FILE),
        tables=_tables(settings),
        catalog=CatalogName(settings[BOOTSTRAP_METALAKE], settings[BOOTSTRAP_CATALOG]),
        read_only=settings[READ_ONLY],
        temporary=temporary,
        access=access_in_words(settings),
        methods=methods_of(settings),
        purges=not (settings[READ_ONLY] or purges_elsewhere(settings)),
        others=others(settings),
    )


def unused_warehouse(settings: Settings, tables: str) -> str:
    """What to say if the operator chose a warehouse, and the tables lie elsewhere; else empty."""
    chosen = settings[BOOTSTRAP_WAREHOUSE].rstrip("/")
    if not chosen or tables in {"", chosen} or tables.startswith(UNKNOWN):
        return ""
    name = CatalogName(settings[BOOTSTRAP_METALAKE], settings[BOOTSTRAP_CATALOG])
    return (
        f"bootstrap.warehouse is not used: catalog {name} was made before, and its tables lie in "
        f"{tables}; `headgate catalog create NAME --warehouse URL` makes one elsewhere"
    )


def unchecked_access(settings: Settings) -> str:
    """What to say of users and roles in the store whose privileges are not checked; else empty."""
    return "" if is_in_memory(settings) else _aside(_unchecked(settings))


async def _unchecked(settings: Settings) -> str:
    try:
        async with open_kernel(settings, writable=False) as kernel:
            return await unchecked_users(settings, kernel)
    except HeadgateError:
        return ""  # the server runs; what is wrong it will say itself


def is_in_memory(settings: Settings) -> bool:
    """Nobody but the process that made the store can see it."""
    return settings[BACKEND] == "memory:"


def _tables(settings: Settings) -> str:
    """As the store says, which may be older than the settings."""
    if is_in_memory(settings):
        return bootstrap_catalog(settings).warehouse
    return _aside(_warehouse(settings))


def _aside(work: Coroutine[Any, Any, str]) -> str:
    with ThreadPoolExecutor(1) as aside:  # the server's own loop runs in this thread
        return aside.submit(asyncio.run, work).result()


async def _warehouse(settings: Settings) -> str:
    name = CatalogName(settings[BOOTSTRAP_METALAKE], settings[BOOTSTRAP_CATALOG])
    try:
        async with open_kernel(settings, writable=False) as kernel:
            return (await find_catalog(kernel, name)).warehouse
    except NotFound:
        return ""
    except HeadgateError as error:
        return f"{UNKNOWN}{error}"  # the server runs; what is wrong it will say itself
