"""`headgate serve`: the catalog as a server, in the foreground."""

import functools
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headgate.application import load_application
from headgate.authentication import believes_everybody, check_authentication, shared_names
from headgate.background import job_terms
from headgate.cli import logs
from headgate.cli.access import access_warnings
from headgate.cli.banner import banner, is_in_memory, unchecked_access, unused_warehouse
from headgate.cli.options import Run, shared
from headgate.cli.port import with_listener
from headgate.clock import SystemClock
from headgate.errors import BadSetting, HeadgateError
from headgate.extension_settings import check_extensions
from headgate.http.front import Front
from headgate.http.origins import is_loopback
from headgate.server.serving import serve as serve_application
from headgate.server_settings import (
    check_catalog_places,
    check_endpoints,
    check_public_url,
    check_warehouse,
    front_options,
    lake_options,
)
from headgate.settings import catalogs, server, store
from headgate.settings.key_files import shared_key_files
from headgate.settings.loading import restore
from headgate.settings.setting import Settings

logger = logging.getLogger(__name__)


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
    if not (insecure or is_loopback(host)) and believes_everybody(settings):
        raise BadSetting(
            f"the server cannot listen on {host!r}",
            why="it believes whoever asks, or lets everybody do everything, and others than this "
            "machine could ask",
            fix="Listen on 127.0.0.1; or set authentication.methods to others than simple, and "
            "authorization.enabled; or say --insecure",
        )
    check_settings(settings)
    with _folder_for(settings) as used:
        _serve(run._replace(settings=used), temporary=used is not settings)


@contextmanager
def _folder_for(settings: Settings) -> Iterator[Settings]:
    """A store in memory leaves nothing behind, unless somebody chose where."""
    plain = settings.plain()
    if not is_in_memory(settings) or plain[store.DATA.name][1] != "default":
        yield settings
        return
    with tempfile.TemporaryDirectory(prefix="headgate-") as folder:
        yield restore({**plain, store.DATA.name: (Path(folder), "temporary")})


def _serve(run: Run, *, temporary: bool) -> None:
    settings = run.settings
    started = False

    def ready(url: str) -> None:
        nonlocal started
        started = True
        said = banner(settings, url, temporary=temporary)
        if run.json:
            said.announce_as_json()
        else:
            said.announce()
        if unused := unused_warehouse(settings, said.tables):
            logger.warning(unused)
        if shared := shared_names(settings):
            logger.warning(shared)
        for warning in (*access_warnings(settings), *shared_key_files(settings)):
            logger.warning(warning)
        if unchecked := unchecked_access(settings):
            logger.warning(unchecked)

    try:
        serve_application(
            functools.partial(_load, settings.plain()),
            host=settings[server.HTTP_HOST],
            port=settings[server.HTTP_PORT],
            processes=settings[server.HTTP_PROCESSES],
            ready=ready,
            clock=SystemClock(),
        )
    except HeadgateError as error:
        if started:
            raise
        raise NotStarted(with_listener(settings, error)) from error


def check_settings(settings: Settings) -> None:
    """Refuse settings that fit their types and cannot be used, before anything is made of them."""
    lake_options(settings)
    check_endpoints(settings)
    if settings[catalogs.BOOTSTRAP] and not settings[server.READ_ONLY]:
        check_warehouse(settings)
    check_catalog_places(settings)
    check_public_url(settings)
    front_options(settings)
    check_authentication(settings)
    check_extensions(settings)
    job_terms(settings)
    if is_in_memory(settings) and settings[server.HTTP_PROCESSES] > 1:
        raise BadSetting(
            f"{settings[server.HTTP_PROCESSES]} processes cannot be used",
            why="with the backend memory: each would have a store of its own",
            fix="Use one process, or another backend",
        )


def _load(plain: dict[str, tuple[Any, str]], shared: Path | None) -> Front:
    """The application of one process, made in that process."""
    settings = restore(plain)
    logs.set_up(
        settings[server.LOG_LEVEL],
        settings[server.LOG_FORMAT],
        access=settings[server.LOG_ACCESS],
    )
    return load_application(settings, shared)
