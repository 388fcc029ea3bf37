"""The options every command shares, and what they are turned into: settings and a way to speak."""

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from headgate.cli import logs
from headgate.errors import BadSetting
from headgate.settings.loading import load
from headgate.settings.server import (
    HTTP_HOST,
    HTTP_PORT,
    HTTP_PROCESSES,
    LOG_FORMAT,
    LOG_LEVEL,
    READ_ONLY,
)
from headgate.settings.setting import Settings
from headgate.settings.store import BACKEND, DATA

FLAGS = {
    "host": HTTP_HOST.name,
    "port": HTTP_PORT.name,
    "processes": HTTP_PROCESSES.name,
    "read_only": READ_ONLY.name,
}
"""Options of single commands that are settings."""


class Run(NamedTuple):
    """What one run of a command is told by the shared options."""

    settings: Settings
    json: bool
    given: tuple[str, ...] = ()
    """The options that name the store, as they were given."""


def shared(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options; it is called with a `Run` and its own options."""

    @functools.wraps(command)
    def with_settings(
        *,
        data: str | None,
        backend: str | None,
        config: str | None,
        sets: tuple[str, ...],
        json: bool,
        **own: Any,  # noqa: ANN401  the options of any command
    ) -> None:
        flags = {name: own.pop(option) for option, name in FLAGS.items() if option in own}
        settings = load(
            flags={DATA.name: data, BACKEND.name: backend, **flags},
            sets=sets,
            environ=environment(),
            file=read_config(config),
            file_name=config or "",
        )
        logs.set_up(settings[LOG_LEVEL], settings[LOG_FORMAT])
        named = {"--data": data, "--backend": backend, "--config": config}
        given = (word for name, value in named.items() if value for word in (name, value))
        command(Run(settings, json, tuple(given)), **own)

    options = (
        click.option("--data", metavar="DIR", help=DATA.help),
        click.option("--backend", metavar="URL", help=BACKEND.help),
        click.option("--config", metavar="FILE", help="A TOML file of settings."),
        click.option(
            "--set",
            "sets",
            metavar="KEY=VALUE",
            multiple=True,
            help="One setting; may be repeated. `headgate settings` lists them.",
        ),
        click.option("--json", is_flag=True, help="Print JSON, for scripts."),
    )
    decorated: Callable[..., None] = with_settings
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def environment() -> Mapping[str, str]:
    """The environment of this process; the only place that reads it."""
    return os.environ


def read_config(path: str | None) -> str:
    """The text of the config file, empty if there is none."""
    if path is None:
        return ""
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise BadSetting(
            f"config file {path!r} cannot be read", why=why or str(error), fix="Check the path"
        ) from error
