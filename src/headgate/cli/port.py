"""Who listens where a server would listen: nobody, a Headgate on this store or another, others."""

import http.client
from typing import TypeVar

import msgspec

from headgate.cli.finding import Finding
from headgate.errors import BadSetting, HeadgateError
from headgate.http.management.health import Health
from headgate.http.management.routes import SettingList
from headgate.server.listening import TAKEN, listen
from headgate.settings.server import HTTP_HOST, HTTP_PORT
from headgate.settings.setting import Settings
from headgate.settings.store import BACKEND, DATA, DATABASE_FILE
from headgate.settings.urls import sqlite_file

ANSWER_SECONDS_MAX = 2.0

T = TypeVar("T")


def found_on_port(settings: Settings) -> Finding:
    """Nobody listens there, or a Headgate does, and on this store."""
    host, port = settings[HTTP_HOST], settings[HTTP_PORT]
    try:
        listen(host, port).socket.close()
    except BadSetting as error:
        health = _asked(host, port, "/health/live", Health)
        if health is None or health.status != "up":
            return Finding("port", ok=False, text=str(error))
        return _whose(settings, f"{host}:{port}", _asked_settings(host, port))
    return Finding("port", ok=True, text=f"{host}:{port} is free")


def with_listener(settings: Settings, error: HeadgateError) -> HeadgateError:
    """The same error; if the port is taken by another Headgate, it says so."""
    if error.why != TAKEN:
        return error
    host, port = settings[HTTP_HOST], settings[HTTP_PORT]
    health = _asked(host, port, "/health/live", Health)
    if health is None or health.status != "up":
        return error
    store = _store(_asked_settings(host, port))
    which = f" on the store {store}" if store else ""
    return BadSetting(error.what, why=f"another Headgate{which} serves there", fix=error.fix)


def _whose(settings: Settings, place: str, others: dict[str, str]) -> Finding:
    own = {value.setting.name: value.shown for value in settings}
    ours, theirs = _store(own), _store(others)
    if not theirs:
        return Finding(
            "port", ok=True, text=f"a Headgate serves on {place}; of which store is unknown"
        )
    if ours == theirs:
        return Finding("port", ok=True, text=f"a Headgate serves on {place}")
    text = f"a Headgate serves on {place}, and on another store: {theirs}, not {ours}; "
    return Finding("port", ok=False, text=text + "choose another port, or name that store")


def _store(shown: dict[str, str]) -> str:
    """The store that settings name, without passwords; empty if they do not tell."""
    backend, data = shown.get(BACKEND.name, ""), shown.get(DATA.name, "")
    if backend:
        file = sqlite_file(backend)
        return f"sqlite://{file}" if file else backend
    return f"sqlite://{data}/{DATABASE_FILE}" if data.startswith("/") else ""


def _asked_settings(host: str, port: int) -> dict[str, str]:
    """Those of the server there; none if it does not tell."""
    found = _asked(host, port, "/management/v1/settings", SettingList)
    return {one["name"]: one["value"] for one in found.settings} if found else {}


def _asked(host: str, port: int, path: str, form: type[T]) -> T | None:
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS_MAX)
    try:
        connection.request("GET", path)
        return msgspec.json.decode(connection.getresponse().read(), type=form)
    except (OSError, http.client.HTTPException, msgspec.MsgspecError):
        return None
    finally:
        connection.close()
