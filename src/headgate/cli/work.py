"""`headgate work`: what servers do in the background, by a process that does nothing else."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial

import click

from headgate import __version__
from headgate.authentication import log_key
from headgate.background import (
    Background,
    cut_logs,
    free_left_locations,
    open_background,
    open_maintenance,
    purges_elsewhere,
    write_checkpoints,
)
from headgate.catalog.catalogs import check_all_locations
from headgate.cli import logs
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import printable, to_json
from headgate.errors import BadSetting
from headgate.extension_settings import check_extensions, event_bus
from headgate.kernel.kernel import Kernel
from headgate.server.process import Stopping, stop_on_signals
from headgate.server_settings import check_endpoints, storage_options
from headgate.settings.own_files import check_apart
from headgate.settings.purge_jobs import PURGE_WORKER_THREADS
from headgate.settings.server import LOG_FORMAT, LOG_LEVEL, READ_ONLY
from headgate.settings.setting import Settings
from headgate.settings.store import BACKEND, DATA, DATABASE_FILE
from headgate.settings.urls import mask
from headgate.storage.gateway import StorageGateway
from headgate.wiring import server_name


@click.command
@shared
def work(run: Run) -> None:
    """Delete the files of dropped tables until SIGTERM or SIGINT; no requests are served.

    Servers do that too. More such processes, on any machine that reaches the store and the files,
    share the jobs with them; give all of them the same settings.
    """
    settings = run.settings
    if settings[READ_ONLY]:
        raise BadSetting(
            "headgate work cannot be read-only",
            why="all it does is to change something",
            fix="Leave the setting read-only out",
        )
    if purges_elsewhere(settings):
        raise BadSetting(
            "headgate work cannot leave purges to others",
            why=f"{PURGE_WORKER_THREADS.name} is 0, which is for servers",
            fix=f"Give this process some: `--set {PURGE_WORKER_THREADS.name}="
            f"{PURGE_WORKER_THREADS.default}`",
        )
    check_endpoints(settings)
    check_extensions(settings)
    _log_what_is_done(settings)
    with suppress(asyncio.CancelledError):  # it was told to stop before it began
        with_kernel(
            run,
            lambda kernel: _work(settings, kernel, lambda: _announce(run)),
            writable=True,
            create=False,
            names=True,
        )
    if not run.json:
        click.echo("headgate stopped")


async def _work(settings: Settings, kernel: Kernel, ready: Callable[[], None]) -> None:
    """Until somebody says stop; jobs under way are given back."""
    stopping = Stopping()
    stop_on_signals(stopping.say)
    await check_all_locations(kernel, partial(check_apart, settings))
    async with AsyncExitStack() as stack:
        background = await _background(settings, kernel, stack)
        stopping.opened()
        background.start()
        ready()
        await stopping.wait()


async def _background(settings: Settings, kernel: Kernel, stack: AsyncExitStack) -> Background:
    """The same as in a server, without one."""
    gateway = StorageGateway(storage_options(settings), kernel.clock)
    stack.callback(gateway.close)
    cut_logs(settings, kernel, stack)
    free_left_locations(kernel, gateway, stack)
    write_checkpoints(settings, kernel, partial(log_key, settings), stack)
    open_maintenance(settings, kernel, stack)
    bus = event_bus(settings, server_name())
    return await open_background(settings, kernel, gateway, bus, stack)


def _log_what_is_done(settings: Settings) -> None:
    """Log events, unless somebody chose what is logged: there is nothing else to see."""
    is_chosen = settings.plain()[LOG_LEVEL.name][1] != "default"
    logs.set_up(settings[LOG_LEVEL], settings[LOG_FORMAT], events=not is_chosen)


def _announce(run: Run) -> None:
    """Say what it works on, and that it does."""
    settings = run.settings
    store = mask(settings[BACKEND]) or str(settings[DATA] / DATABASE_FILE)
    if run.json:
        click.echo(to_json({"pid": os.getpid(), "version": __version__, "store": store}))
        return
    click.echo(f"store       {printable(store)}")
    click.echo(f"jobs        {settings[PURGE_WORKER_THREADS]} at a time")
    click.echo("headgate works")
