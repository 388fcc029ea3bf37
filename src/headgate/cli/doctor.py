"""`headgate doctor`: looks at everything a server needs, and says what to do about it."""

import asyncio
import shutil
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import click

from headgate.authentication import shared_names
from headgate.catalog.catalogs import list_catalogs
from headgate.cli.access import access_in_words, access_warnings, unchecked_users, unknown_admins
from headgate.cli.finding import Finding
from headgate.cli.options import Run, shared
from headgate.cli.output import iso, printable, to_json
from headgate.cli.port import found_on_port
from headgate.cli.purge_findings import found_of_jobs, found_of_purger
from headgate.cli.serve import check_settings
from headgate.cli.suggestions import for_same_store
from headgate.cli.version import versions
from headgate.errors import BadSetting, ClockRefused, HeadgateError, StoreNotFound
from headgate.first_start import check_first_start
from headgate.kernel.kernel import Kernel
from headgate.kernel.realms import REALMS_KEY, RealmState
from headgate.model.locations import normalize, scheme_of
from headgate.server_settings import existing, is_writable, storage_options, uuids
from headgate.settings.own_files import own_file_at
from headgate.settings.setting import Settings
from headgate.settings.store import BACKEND, DATA, DATABASE_FILE
from headgate.settings.urls import mask
from headgate.storage.gateway import StorageGateway
from headgate.wiring import database_file, is_there, open_kernel

FREE_BYTES_WANTED = 1 << 30
READ_SECONDS_WANTED = 0.05


@click.command()
@shared
def doctor(run: Run) -> None:
    """Check settings, access, purges, database, storage, permissions, clock and versions.

    A store that is not there is not made. To each place where tables may lie a file is written,
    read and deleted. The exit code is 1 if anything is wrong.
    """
    findings = asyncio.run(_all(run.settings))
    healthy = all(one.ok for one in findings)
    if run.json:
        click.echo(to_json({"healthy": healthy, "findings": [one._asdict() for one in findings]}))
    else:
        for one in findings:
            mark = ("warn" if one.warns else "ok  ") if one.ok else "FAIL"
            text = for_same_store(printable(one.text), run.given)
            click.echo(f"{mark}  {one.subject:<10} {text}")
    if not healthy:
        click.get_current_context().exit(1)


async def _all(settings: Settings) -> list[Finding]:
    findings = [_versions(), _settings(settings), *_access(settings)]
    findings += [*found_of_purger(settings), *_data(settings), *_file(settings)]
    findings.append(found_on_port(settings))
    findings += [finding async for finding in _store(settings)]
    return findings


def _versions() -> Finding:
    known = ", ".join(f"{name} {text}" for name, text in versions().items() if text)
    return Finding("versions", ok=True, text=known)


def _settings(settings: Settings) -> Finding:
    """What `headgate serve` would say of them before it does anything."""
    try:
        check_settings(settings)
    except HeadgateError as error:
        return Finding("settings", ok=False, text=str(error))
    changed = sum(value.source != "default" for value in settings)
    return Finding("settings", ok=True, text=f"{changed} are set, and all can be used")


def _access(settings: Settings) -> Iterator[Finding]:
    """Who is believed and what is checked, and who vouches for users if that is more than one."""
    with suppress(HeadgateError):  # the settings are found wrong already
        yield Finding("access", ok=True, text=access_in_words(settings))
        for warning in access_warnings(settings):
            yield Finding("access", ok=True, text=warning, warns=True)
        if shared := shared_names(settings):
            yield Finding("users", ok=True, text=shared, warns=True)


def _data(settings: Settings) -> Iterator[Finding]:
    """The data directory: there or to be made, with room, its keys for the owner only."""
    data = settings[DATA].absolute()
    above = existing(data)
    free = shutil.disk_usage(above).free
    roomy = free >= FREE_BYTES_WANTED
    advice = "" if roomy else "; make room, or choose another directory with --data"
    yield Finding("disk", roomy, f"{free >> 20:,} MiB are free in {above}{advice}")
    try:
        for key in sorted((data / "keys").iterdir()):
            yield _key(key)
    except (FileNotFoundError, NotADirectoryError):
        pass  # keys are made on first start
    except OSError as error:
        text = f"{data / 'keys'} cannot be looked at ({error.strerror}); run as the server's user"
        yield Finding("keys", ok=False, text=text)


def _key(path: Path) -> Finding:
    shared = _shared(path)
    return Finding("keys", not shared, shared or f"{path} is readable by its owner only")


def _file(settings: Settings) -> Iterator[Finding]:
    """What the file of an embedded store lets others do."""
    try:
        file = database_file(settings)
        shared = _shared(file) if file else ""
    except (HeadgateError, OSError):
        return  # it is not there, or the next look says what is wrong
    if shared:
        yield Finding("database", ok=False, text=shared)


def _shared(path: Path) -> str:
    """What to say of a file that not only its owner can use; empty if only he can."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & 0o077:
        return ""
    return f"{path} can be used by others (mode {mode:o}); run chmod 600 on it"


async def _store(settings: Settings) -> AsyncIterator[Finding]:
    """The database, the clock that its commits are compared with, the storage of all catalogs."""
    place = mask(settings[BACKEND]) or str(settings[DATA].absolute() / DATABASE_FILE)
    try:
        file = database_file(settings)
        if file is not None and not is_there(file):
            yield await _new_database(settings, file)
            return
        clock = await _clock(settings)
        async with open_kernel(settings, writable=False) as kernel:
            yield await _database(kernel, place, clock)
            yield clock
            if ahead := await _ahead(kernel):
                yield Finding("clock", ok=True, text=ahead, warns=True)
            if unknown := await unknown_admins(settings, kernel):
                yield Finding("users", ok=True, text=unknown, warns=True)
            if unchecked := await unchecked_users(settings, kernel):
                yield Finding("access", ok=True, text=unchecked, warns=True)
            yield await found_of_jobs(kernel)
            async for finding in _storage(settings, kernel):
                yield finding
    except StoreNotFound as error:
        yield Finding("database", ok=True, text=str(error))
    except HeadgateError as error:
        yield Finding("database", ok=False, text=f"{place}: {error}")


async def _new_database(settings: Settings, file: Path) -> Finding:
    """What would become of a file that is not there: it is not made here."""
    await check_first_start(settings)
    folder = existing(file.parent)
    if is_writable(folder):
        text = f"{file} is not there; `headgate serve` makes it, and {folder} can be written"
        return Finding("database", ok=True, text=text)
    text = f"{file} cannot be made: {folder} cannot be written; choose another place with --data"
    return Finding("database", ok=False, text=text)


async def _clock(settings: Settings) -> Finding:
    """A store that is opened for writing compares the clock with its newest commit."""
    try:
        async with open_kernel(settings, create=False) as kernel:
            now = iso(kernel.clock.wall_ms())
    except ClockRefused as error:
        return Finding("clock", ok=False, text=str(error))
    return Finding("clock", ok=True, text=f"it says {now}, which is not behind the newest commit")


async def _ahead(kernel: Kernel) -> str:
    """What to say of commits and leases that a clock which was ahead has left; empty if none."""
    found = await kernel.clock_repair.find()
    if not found.has_work:
        return ""
    return (
        f"{len(found.pointers)} pointers and {len(found.leases)} leases of nodes lie in the "
        "future; `headgate maintenance repair-clock` shows and mends them"
    )


async def _database(kernel: Kernel, place: str, clock: Finding) -> Finding:
    began = kernel.clock.seconds()
    await kernel.pointers.read([REALMS_KEY])
    seconds = kernel.clock.seconds() - began
    writes = "takes writes" if clock.ok else "takes no writes with this clock"
    text = f"{place} answers in {seconds * 1e3:.1f} ms and {writes}"
    if seconds > READ_SECONDS_WANTED:
        text += "; every request waits that long: bring server and database together"
    return Finding("database", seconds <= READ_SECONDS_WANTED, text)


async def _storage(settings: Settings, kernel: Kernel) -> AsyncIterator[Finding]:
    """Every place where the tables of a catalog may lie."""
    gateway = StorageGateway(storage_options(settings), kernel.clock)
    realms = [one for one in await kernel.realms.list() if one.state is RealmState.ACTIVE]
    if not realms:
        yield await _empty_store(settings, kernel)
    for realm in realms:
        for catalog in await list_catalogs(kernel, realm.name):
            for location in catalog.locations:
                refusal = _own_files(settings, location)
                refusal = refusal or _moved(settings[DATA].absolute(), location)
                refusal = refusal or await _refusal(gateway, location.rstrip("/"))
                text = f"catalog {realm.name}.{catalog.name}: {location} "
                text += refusal or "can be written, read and deleted"
                yield Finding("storage", not refusal, text)


async def _empty_store(settings: Settings, kernel: Kernel) -> Finding:
    """What `headgate serve` does with a store without metalakes that are in use."""
    try:
        await check_first_start(settings, kernel)
    except BadSetting as error:
        return Finding("storage", ok=False, text=str(error))
    return Finding("storage", ok=True, text="the store is empty; `headgate serve` fills it")


def _own_files(settings: Settings, location: str) -> str:
    """What to say of a location that holds files of the server; empty if it holds none."""
    own = own_file_at(settings, location)
    return f"holds files of the server itself, {own}: no server starts with it" if own else ""


def _moved(data: Path, location: str) -> str:
    """What to say of a local folder that is not there because the data directory was moved."""
    if scheme_of(location) != "file":
        return ""
    folder = Path(normalize(location).removeprefix("file://"))
    twins = (data / folder.name, data / folder.parent.name / folder.name)
    twin = next((one for one in twins if one != folder and one.is_dir()), None)
    if twin is None or folder.is_dir():
        return ""
    return (
        f"is not there, and {twin} is: the data directory was moved, and tables name their old "
        "place; move it back, or put a link there"
    )


async def _refusal(gateway: StorageGateway, location: str) -> str:
    """Write a file, read it, delete it: what does not work, empty if all does."""
    probe = f"{location}/headgate-doctor-{uuids()()}"
    try:
        files = gateway.files((location,))
        await files.write(probe, b"headgate")
        whole = await files.read(probe) == b"headgate"
        left = await files.delete([probe])
    except HeadgateError as error:
        return f"fails: {error}"
    if left:
        return f"keeps what is deleted: {left[0][1]}"
    return "" if whole else "gives files back changed"
