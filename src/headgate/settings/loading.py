"""How the values of all settings are put together.

Sources, later wins: default, config file (TOML), environment, `--set`, flags. Nothing is read here:
the environment and the text of the config file come in as arguments.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from headgate.errors import BadSetting
from headgate.settings.purge import property_of_variable, purger_property, usual_name
from headgate.settings.setting import PREFIX, Raw, Setting, Settings, Value
from headgate.settings.store import BACKEND, DATA
from headgate.settings.table import SETTINGS
from headgate.settings.urls import sqlite_file

T = TypeVar("T")

# HEADGATE_FULL belongs to the test command, HEADGATE_TOKEN and its like to pipelines, which are
# clients; an orchestrator with a service called "headgate" hands
# HEADGATE_SERVICE_HOST, HEADGATE_PORT_8181_TCP and their like to every container.
_NOT_OURS = re.compile(r"HEADGATE_(FULL|TOKEN|USER|PASSWORD|SERVICE_.*|PORT(_.*)?)")
_BY_NAME = {name: setting for setting in SETTINGS for name in (setting.name, *setting.aliases)}
_BY_VARIABLE = {setting.variable: setting for setting in SETTINGS}


def load(
    *,
    flags: Mapping[str, Raw | None] | None = None,
    sets: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    file: str = "",
    file_name: str = "",
) -> Settings:
    """The values of all settings; `BadSetting` if a source names or holds what cannot be used."""
    values = {setting.name: Value(setting, _default(setting), "default") for setting in SETTINGS}
    sources: tuple[tuple[str, Iterable[tuple[str, Raw]]], ...] = (
        ("config file", _from_file(file, file_name)),
        ("environment", _from_environment(environ or {})),
        ("--set", map(_split, sets)),
        ("flag", ((name, raw) for name, raw in (flags or {}).items() if raw is not None)),
    )
    for source, pairs in sources:
        for name, raw in pairs:
            setting = find(name)
            values[setting.name] = Value(setting, _parse(setting, raw, source), source)
    file_named = sqlite_file(values[BACKEND.name].value)
    if file_named is not None and values[DATA.name].source == "default":
        values[DATA.name] = Value(DATA, file_named.parent, "backend")
    return Settings(values)


def restore(plain: Mapping[str, tuple[Any, str]]) -> Settings:
    """The settings that another process has, from `Settings.plain`."""
    return Settings(
        {name: Value(find(name), value, source) for name, (value, source) in plain.items()}
    )


def find(name: str) -> Setting[Any]:
    """The setting of this name or alias."""
    usual = usual_name(name)
    setting = _BY_NAME.get(usual) or purger_property(usual)
    if setting is not None:
        return setting
    raise _unknown(f"setting {_harmless(name)!r}", usual, _BY_NAME)


def _default(setting: Setting[T]) -> T:
    default = setting.default
    return default() if callable(default) else default


def _harmless(text: str) -> str:
    """The beginning of a text that should have been a name, before what may be a secret value."""
    return re.split(r"[:=\s]", text.strip(), maxsplit=1)[0]


def _parse(setting: Setting[T], raw: Raw, source: str) -> T:
    try:
        return setting.parse(raw)
    except ValueError:
        raise _unusable(setting, raw, source) from None


def _split(pair: str) -> tuple[str, str]:
    name, equals, text = pair.partition("=")
    if not equals:
        raise BadSetting(
            f"--set {_harmless(pair)!r} cannot be used",
            why="it has no =",
            fix="Write --set NAME=VALUE",
        )
    return name.strip(), text.strip()


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or _NOT_OURS.fullmatch(variable):
            continue
        setting = _BY_VARIABLE.get(variable) or property_of_variable(variable)
        if setting is None:
            raise _unknown(f"environment variable {variable}", variable, _BY_VARIABLE)
        yield setting.name, text


def _from_file(text: str, name: str) -> Iterator[tuple[str, Raw]]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(
            f"config file {name!r} cannot be used", why=f"it is no TOML: {error}", fix="Correct it"
        ) from error
    return _flatten(tables, "")


def _flatten(table: Mapping[str, object], path: str) -> Iterator[tuple[str, Raw]]:
    for key, value in table.items():
        name = path + key
        if isinstance(value, dict):
            yield from _flatten(value, f"{name}.")
        elif isinstance(value, Raw):
            yield name, value
        else:
            raise _unusable(find(name), value, "config file")


def _unusable(setting: Setting[Any], value: object, source: str) -> BadSetting:
    return BadSetting(
        f"setting {setting.name!r} from {source} cannot be used",
        why=f"{setting.shown(value)!r} is not {setting.expected}",
        fix="Correct the value",
    )


def _unknown(what: str, name: str, known: Iterable[str]) -> BadSetting:
    nearest = difflib.get_close_matches(name, known, n=1)
    return BadSetting(
        f"{what} is unknown",
        why=f"the nearest known name is {nearest[0]!r}" if nearest else "",
        fix="`headgate settings` lists them all",
    )
