"""`headgate serve`: the catalog as a server, in the foreground."""

import functools
from pathlib import Path
from typing import Any

import click

from headgate.application import load_application
from headgate.cli import logs
from headgate.cli.options import Run, shared
from headgate.clock import SystemClock
from headgate.errors import BadSetting, HeadgateError
from headgate.http.front import Front
from headgate.http.origins import is_loopback
from headgate.server.serving import serve as serve_application
from headgate.server_settings import bootstrap_catalog, lake_options, token_secret
from headgate.settings import catalogs, server, store
from headgate.settings.loading import restore
from headgate.settings.setting import Settings
from headgate.settings.urls import mask
from headgate.wiring import DATABASE_FILE

SNIPPETS = """\
pyiceberg   load_catalog("headgate", type="rest", uri="{url}/iceberg")
Spark       spark.sql.catalog.headgate=org.apache.iceberg.spark.SparkCatalog
            spark.sql.catalog.headgate.type=rest
            spark.sql.catalog.headgate.uri={url}/iceberg
DuckDB      ATTACH '{catalog}' AS headgate (TYPE iceberg, ENDPOINT '{url}/iceberg',
            AUTHORIZATION_TYPE none)
Polars      pl.scan_iceberg(load_catalog("headgate", type="rest",
            uri="{url}/iceberg").load_table("namespace.table"))
"""


class NotStarted(Exception):
    """The server could not start. Whatever the reason, somebody has to change something first."""

    def __init__(self, reason: HeadgateError) -> None:
        super().__init__(str(reason))
        self.reason = reason


@click.command
@click.option("--host", help=server.HTTP_HOST.help)
@click.option("--port", help=server.HTTP_PORT.help)
@click.option("--processes", metavar="N", help=server.HTTP_PROCESSES.help)
@click.option("--read-only", is_flag=True, default=None, help=server.READ_ONLY.help)
@click.option(
    "--insecure", is_flag=True, help="Let others than this machine in, though everyone is trusted."
)
@shared
def serve(run: Run, *, insecure: bool) -> None:
    """Serve the catalog until SIGTERM or SIGINT."""
    settings = run.settings
    host = settings[server.HTTP_HOST]
    if not (insecure or is_loopback(host)):
        raise BadSetting(
            f"the server cannot listen on {host!r}",
            why="it believes whoever asks, and others than this machine could ask",
            fix="Listen on 127.0.0.1, or say --insecure",
        )
    check_settings(settings)
    started = False

    def ready(url: str) -> None:
        nonlocal started
        started = True
        _announce(settings, url)

    try:
        serve_application(
            functools.partial(_load, settings.plain()),
            host=host,
            port=settings[server.HTTP_PORT],
            processes=settings[server.HTTP_PROCESSES],
            ready=ready,
            clock=SystemClock(),
        )
    except HeadgateError as error:
        if started:
            raise
        raise NotStarted(error) from error


def check_settings(settings: Settings) -> None:
    """Refuse settings that fit their types and cannot be used, before anything is made of them."""
    lake_options(settings)
    if settings[server.TOKEN_SECRET]:
        token_secret(settings)


def _load(plain: dict[str, tuple[Any, str]], shared: Path | None) -> Front:
    """The application of one process, made in that process."""
    settings = restore(plain)
    logs.set_up(
        settings[server.LOG_LEVEL],
        settings[server.LOG_FORMAT],
        access=settings[server.LOG_ACCESS],
    )
    return load_application(settings, shared)


def _announce(settings: Settings, url: str) -> None:
    """Say where everything is, and that it works."""
    place = mask(settings[store.BACKEND]) or str(settings[store.DATA] / DATABASE_FILE)
    tables = bootstrap_catalog(settings).warehouse
    click.echo(f"listening   {url}\nstore       {place}\ntables      {tables}\n")
    click.echo(SNIPPETS.format(url=url, catalog=settings[catalogs.BOOTSTRAP_CATALOG]))
    click.echo(f"headgate ready on {url}")
