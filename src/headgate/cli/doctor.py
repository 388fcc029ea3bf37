"""`headgate doctor`: looks at everything a server needs, and says what to do about it."""

import asyncio
import shutil
import socket
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import click

from headgate.catalog.catalogs import list_catalogs
from headgate.catalog.entities import CatalogEntity
from headgate.cli.options import Run, shared
from headgate.cli.output import printable, to_json
from headgate.cli.version import versions
from headgate.errors import HeadgateError
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import REALMS_KEY, RealmState
from headgate.server_settings import new_uuid, storage_options
from headgate.settings.server import HTTP_HOST, HTTP_PORT
from headgate.settings.setting import Settings
from headgate.settings.store import BACKEND, DATA
from headgate.settings.urls import mask
from headgate.storage.gateway import StorageGateway
from headgate.wiring import DATABASE_FILE, open_kernel

FREE_BYTES_WANTED = 1 << 30
READ_SECONDS_WANTED = 0.05


class Finding(NamedTuple):
    """What one look found."""

    subject: str
    ok: bool
    text: str


@click.command()
@shared
def doctor(run: Run) -> None:
    """Check settings, database, storage, permissions, clock and versions."""
    findings = asyncio.run(_all(run.settings))
    healthy = all(one.ok for one in findings)
    if run.json:
        click.echo(to_json({"healthy": healthy, "findings": [one._asdict() for one in findings]}))
    else:
        for one in findings:
            mark = "ok  " if one.ok else "FAIL"
            click.echo(f"{mark}  {one.subject:<10} {printable(one.text)}")
    if not healthy:
        sys.exit(1)


async def _all(settings: Settings) -> list[Finding]:
    findings = [_versions(), *_data(settings), _port(settings)]
    findings += [finding async for finding in _store(settings)]
    return findings


def _versions() -> Finding:
    known = ", ".join(f"{name} {text}" for name, text in versions().items() if text)
    return Finding("versions", ok=True, text=known)


def _data(settings: Settings) -> list[Finding]:
    """The data directory: there or to be made, with room, its keys for the owner only."""
    data = settings[DATA].absolute()
    existing = next(path for path in (data, *data.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    roomy = free >= FREE_BYTES_WANTED
    advice = "" if roomy else "; make room, or choose another directory with --data"
    findings = [Finding("disk", roomy, f"{free >> 20:,} MiB are free in {existing}{advice}")]
    for key in sorted((data / "keys").glob("*")) if (data / "keys").is_dir() else []:
        findings.append(_key(key))
    return findings


def _key(path: Path) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        text = f"{path} can be read by others (mode {mode:o}); run chmod 600 on it"
        return Finding("keys", ok=False, text=text)
    return Finding("keys", ok=True, text=f"{path} is readable by its owner only")


def _port(settings: Settings) -> Finding:
    host, port = settings[HTTP_HOST], settings[HTTP_PORT]
    with socket.socket() as probe:
        probe.settimeout(1)
        taken = port != 0 and probe.connect_ex((host, port)) == 0
    state = "answers: a server is running" if taken else "is free"
    return Finding("port", ok=True, text=f"{host}:{port} {state}")


async def _store(settings: Settings) -> AsyncIterator[Finding]:
    """The database with its clock, then the storage of every catalog."""
    place = mask(settings[BACKEND]) or str(settings[DATA] / DATABASE_FILE)
    try:
        async with open_kernel(settings) as kernel:
            yield await _database(kernel, place)
            yield Finding("clock", ok=True, text="it is not behind the newest commit")
            async for finding in _warehouses(settings, kernel):
                yield finding
    except HeadgateError as error:
        yield Finding("database", ok=False, text=f"{place}: {error}")


async def _database(kernel: Kernel, place: str) -> Finding:
    began = kernel.clock.seconds()
    await kernel.pointers.read([REALMS_KEY])
    seconds = kernel.clock.seconds() - began
    text = f"{place} answers in {seconds * 1e3:.1f} ms and takes writes"
    if seconds > READ_SECONDS_WANTED:
        text += "; every request waits that long: bring server and database together"
    return Finding("database", seconds <= READ_SECONDS_WANTED, text)


async def _warehouses(settings: Settings, kernel: Kernel) -> AsyncIterator[Finding]:
    storage = StorageGateway(storage_options(settings), kernel.clock)
    realms = [one for one in await kernel.realms.list() if one.state is RealmState.ACTIVE]
    if not realms:
        yield Finding("storage", ok=True, text="the store is empty; `headgate serve` fills it")
    for realm in realms:
        for catalog in await list_catalogs(kernel, realm.name):
            yield await _warehouse(storage, f"{realm.name}.{catalog.name}", catalog)


async def _warehouse(storage: StorageGateway, name: str, catalog: CatalogEntity) -> Finding:
    """Write a file, read it, delete it."""
    files = storage.files((catalog.warehouse,))
    probe = f"{catalog.warehouse}/headgate-doctor-{new_uuid()}"
    try:
        await files.write(probe, b"headgate")
        whole = await files.read(probe) == b"headgate"
        left = await files.delete([probe])
    except HeadgateError as error:
        return Finding("storage", ok=False, text=f"catalog {name}: {error}")
    if left or not whole:
        why = left[0][1] if left else "a file came back changed"
        return Finding("storage", ok=False, text=f"catalog {name}: {catalog.warehouse}: {why}")
    text = f"catalog {name}: {catalog.warehouse} can be written, read and deleted"
    return Finding("storage", ok=True, text=text)
