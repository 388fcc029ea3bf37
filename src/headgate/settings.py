"""The one table of settings, and how their values are put together.

Sources, later wins: default, config file (TOML), environment, `--set`, flags. Nothing is read here:
the environment and the text of the config file come in as arguments.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

import platformdirs

from headgate.errors import BadSetting
from headgate.limits import (
    BATCH_ATTEMPTS_MAX,
    CACHE_BYTES,
    COMMIT_TIMEOUT_SECONDS,
    POSTGRESQL_COMMAND_SECONDS,
    POSTGRESQL_CONNECTIONS_MAX,
    SQLITE_BUSY_SECONDS,
    TIMEOUT_SECONDS_MAX,
)
from headgate.limits import POSTGRESQL_CONNECTIONS as POSTGRESQL_CONNECTIONS_DEFAULT

T = TypeVar("T")
Raw = str | int | float

PREFIX = "HEADGATE_"
# HEADGATE_FULL belongs to the test command; an orchestrator with a service called "headgate" hands
# HEADGATE_SERVICE_HOST, HEADGATE_PORT_8181_TCP and their like to every container.
_NOT_OURS = re.compile(r"HEADGATE_(FULL|SERVICE_.*|PORT(_.*)?)")
_EXPECTED: dict[type, str] = {str: "text", int: "a whole number", float: "a number", Path: "a path"}
_UNUSABLE = re.compile("[\0\ud800-\udfff]")  # in a text or a path; the latter stand for bad UTF-8
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):.*", re.DOTALL)
# What may be shown of a URL: the groups. Whatever looks otherwise may hide a password anywhere.
_CLEAN_URLS = (
    re.compile(r"(memory:)"),
    re.compile(r"(sqlite:///[^:?#]+)"),
    re.compile(
        r"(postgres(?:ql)?://)(?:[^\s/?#@]*@)?([\w.-]*|\[[\da-fA-F:.]+\])(?::\d+)?"
        r"((?:/[\w.-]*)?)(?:\?[^\s@#]*)?"
    ),
)


@dataclass(frozen=True, kw_only=True)
class Setting(Generic[T]):
    """One row of the table."""

    name: str
    """Dotted lower case; words are joined by dashes."""
    type: type[T]
    default: T | Callable[[], T]
    """A function where the default depends on the machine."""
    help: str
    default_help: str = ""
    """What to say of a default that is a function or empty."""
    unit: str = ""
    choices: tuple[str, ...] = ()
    least: float = -math.inf
    most: float = math.inf
    secret: bool = False
    """True for a URL that may carry a password."""
    aliases: tuple[str, ...] = ()
    """Names of the same setting elsewhere."""

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + re.sub(r"[.-]", "_", self.name).upper()

    @property
    def expected(self) -> str:
        """What a value looks like."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.most < math.inf:
            bound = f" from {self.least:g} to {self.most:g}"
        else:
            bound = f" of at least {self.least:g}" if self.least > -math.inf else ""
        return f"{_EXPECTED[self.type]}{bound}" + (f" ({self.unit})" if self.unit else "")

    @property
    def default_shown(self) -> str:
        """The default, or what to say of it."""
        return self.default_help or str(self.default)

    def shown(self, value: object) -> str:
        """This value as it may be shown to anyone."""
        return mask(str(value)) if self.secret else str(value)

    def parse(self, raw: Raw) -> T:
        """The value in this text; ValueError if there is none."""
        value: object = self.type(str(raw))  # type: ignore[call-arg]  # text suits all four types
        if isinstance(value, int | float):
            fits = self.least <= value <= self.most and value != math.inf
        elif self.choices:
            fits = value in self.choices
        else:
            fits = value != Path() and not _UNUSABLE.search(str(value))
        if not fits:
            raise ValueError
        return cast("T", _expanded(value) if isinstance(value, Path) else value)


DATA = Setting(
    name="data",
    type=Path,
    default=lambda: platformdirs.user_data_path("headgate", appauthor=False),
    default_help="the platform's user data directory",
    help="The directory of everything embedded, `headgate.db` first.",
)
BACKEND = Setting(
    name="backend",
    type=str,
    default="",
    default_help="the SQLite file `headgate.db` in the data directory",
    help="Where everything is stored: `sqlite:///PATH`, `postgresql://USER:PASSWORD@HOST/DATABASE` "
    "or `memory:`.",
    secret=True,
)
CACHE_SIZE = Setting(
    name="cache.bytes",
    type=int,
    default=CACHE_BYTES,
    unit="bytes",
    least=0,
    help="How much memory the cache of decoded objects may take.",
)
COMMIT_TIMEOUT = Setting(
    name="commit.timeout-seconds",
    type=float,
    default=COMMIT_TIMEOUT_SECONDS,
    unit="seconds",
    least=0.1,
    most=TIMEOUT_SECONDS_MAX,
    help="How long a commit may wait before it is refused.",
)
COMMIT_BATCH = Setting(
    name="commit.batch-attempts",
    type=int,
    default=BATCH_ATTEMPTS_MAX,
    unit="attempts",
    least=1,
    help="How many callers of one pointer may share one commit.",
)
POSTGRESQL_CONNECTIONS = Setting(
    name="postgresql.connections-max",
    type=int,
    default=POSTGRESQL_CONNECTIONS_DEFAULT,
    unit="connections",
    least=1,
    most=POSTGRESQL_CONNECTIONS_MAX,
    help="How many connections a process may hold.",
    aliases=("gravitino.entity.store.relational.maxConnections",),
)
POSTGRESQL_TIMEOUT = Setting(
    name="postgresql.command-timeout-seconds",
    type=float,
    default=POSTGRESQL_COMMAND_SECONDS,
    unit="seconds",
    least=0.1,
    most=TIMEOUT_SECONDS_MAX,
    help="How long one statement may take before its answer is given up.",
)
SQLITE_BUSY_TIMEOUT = Setting(
    name="sqlite.busy-timeout-seconds",
    type=float,
    default=SQLITE_BUSY_SECONDS,
    unit="seconds",
    least=0,
    most=TIMEOUT_SECONDS_MAX,
    help="How long to wait for another process that is writing.",
)
LOG_LEVEL = Setting(
    name="log.level",
    type=str,
    default="warning",
    choices=("debug", "info", "warning", "error"),
    help="The least important messages to log.",
)
LOG_FORMAT = Setting(
    name="log.format",
    type=str,
    default="text",
    choices=("text", "json"),
    help="How messages are logged: lines for people, or one JSON object per line.",
)

SETTINGS: tuple[Setting[Any], ...] = (
    DATA,
    BACKEND,
    CACHE_SIZE,
    COMMIT_TIMEOUT,
    COMMIT_BATCH,
    POSTGRESQL_CONNECTIONS,
    POSTGRESQL_TIMEOUT,
    SQLITE_BUSY_TIMEOUT,
    LOG_LEVEL,
    LOG_FORMAT,
)


class Value(NamedTuple):
    """A setting, its value, and where the value comes from."""

    setting: Setting[Any]
    value: Any
    source: str

    @property
    def shown(self) -> str:
        """The value as it may be shown to anyone."""
        return self.setting.shown(self.value)


class Settings:
    """The values of all settings. `settings[CACHE_SIZE]` is an int, by the setting's type."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    def __getitem__(self, setting: Setting[T]) -> T:
        return cast("T", self._values[setting.name].value)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._values.values())


def load(
    *,
    flags: Mapping[str, str | None] | None = None,
    sets: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    file: str = "",
) -> Settings:
    """The values of all settings; `BadSetting` if a source names or holds what cannot be used."""
    values = {setting.name: Value(setting, _default(setting), "default") for setting in SETTINGS}
    sources: tuple[tuple[str, Iterable[tuple[str, Raw]]], ...] = (
        ("config file", _from_file(file)),
        ("environment", _from_environment(environ or {})),
        ("--set", map(_split, sets)),
        ("flag", ((name, text) for name, text in (flags or {}).items() if text is not None)),
    )
    for source, pairs in sources:
        for name, raw in pairs:
            setting = find(name)
            values[setting.name] = Value(setting, _parse(setting, raw, source), source)
    return Settings(values)


def find(name: str) -> Setting[Any]:
    """The setting of this name or alias."""
    known = {alias: setting for setting in SETTINGS for alias in (setting.name, *setting.aliases)}
    if name in known:
        return known[name]
    raise _unknown(f"setting {_harmless(name)!r}", name, known)


def mask(url: str) -> str:
    """This URL as scheme, host and database, or path; if it is not well formed, its scheme."""
    for clean in _CLEAN_URLS:
        if found := clean.fullmatch(url):
            return "".join(found.groups())
    return f"{scheme(url)}:***".removeprefix(":") if url else ""


def scheme(url: str) -> str:
    """The part of this URL before the colon, empty if that is no scheme."""
    found = _SCHEME.fullmatch(url)
    return found[1] if found else ""


def _default(setting: Setting[T]) -> T:
    default = setting.default
    return default() if callable(default) else default


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:  # `~somebody`, whom this machine does not know
        raise ValueError from error


def _harmless(text: str) -> str:
    """The beginning of a text that should have been a name, before what may be a secret value."""
    return re.split(r"[:=\s]", text.strip(), maxsplit=1)[0]


def _parse(setting: Setting[T], raw: Raw, source: str) -> T:
    try:
        return setting.parse(raw)
    except ValueError:
        raise BadSetting(
            f"setting {setting.name!r} from {source} cannot be used",
            why=f"{setting.shown(raw)!r} is not {setting.expected}",
            fix="Correct the value",
        ) from None


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
    known = {setting.variable: setting.name for setting in SETTINGS}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or _NOT_OURS.fullmatch(variable):
            continue
        if variable not in known:
            raise _unknown(f"environment variable {variable}", variable, known)
        yield known[variable], text


def _from_file(text: str) -> Iterator[tuple[str, Raw]]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(
            "the config file cannot be used", why=f"it is no TOML: {error}", fix="Correct it"
        ) from error
    return _flatten(tables, "")


def _flatten(table: Mapping[str, object], path: str) -> Iterator[tuple[str, Raw]]:
    for key, value in table.items():
        name = path + key
        if isinstance(value, dict):
            yield from _flatten(value, f"{name}.")
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield name, value
        else:
            setting = find(name)
            raise BadSetting(
                f"setting {name!r} from config file cannot be used",
                why=f"{setting.shown(value)!r} is not {setting.expected}",
                fix="Correct the value",
            )


def _unknown(what: str, name: str, known: Iterable[str]) -> BadSetting:
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0)
    return BadSetting(
        f"{what} is unknown",
        why=f"the nearest known name is {nearest[0]!r}",
        fix="`headgate settings` lists them all",
    )
