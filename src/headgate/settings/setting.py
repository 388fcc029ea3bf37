"""What a setting is, and its value with where it comes from."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

from headgate.masking import MASK, mask_userinfo
from headgate.settings.urls import mask

T = TypeVar("T")
Raw = str | int | float | bool
"""A value as a source has it."""

PREFIX = "HEADGATE_"
_EXPECTED: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Path: "a path",
}
_BOOLEANS = {"true": True, "false": False}
_UNUSABLE = re.compile("[\0\ud800-\udfff]")  # in a text or a path; the latter stand for bad UTF-8


@dataclass(frozen=True, kw_only=True)
class Setting(Generic[T]):
    """One row of the table."""

    name: str
    """Dotted lower case; words are joined by dashes."""
    type: type[T]
    default: T | Callable[[], T]
    """A function where the default depends on the machine. Only an empty one may be left empty."""
    help: str
    default_help: str = ""
    """What to say of a default that is a function or empty."""
    unit: str = ""
    choices: tuple[str, ...] = ()
    least: float = -math.inf
    most: float = math.inf
    secret: bool = False
    """True for what is shown to nobody."""
    url: bool = False
    """True for a value that is one URL: of one that is not well formed the scheme is shown."""
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
            bound = f" from {_number(self.least)} to {_number(self.most)}"
        else:
            bound = f" of at least {_number(self.least)}" if self.least > -math.inf else ""
        if self.type is str and self.default:
            bound = " that is not empty"
        return f"{_EXPECTED[self.type]}{bound}" + (f" ({self.unit})" if self.unit else "")

    @property
    def default_shown(self) -> str:
        """The default, or what to say of it."""
        return self.default_help or self.shown(self.default)

    def shown(self, value: object) -> str:
        """This value as it may be shown to anyone, without the credentials of any URL in it."""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if self.secret:
            return MASK if text else ""
        return mask(text) if self.url else mask_userinfo(text)

    def parse(self, raw: Raw) -> T:
        """The value of this text or number; ValueError if there is none."""
        if isinstance(raw, bool) and self.type is not bool:
            raise ValueError
        value = self._read(str(raw))
        if not self._fits(value):
            raise ValueError
        return cast("T", value)

    def _read(self, text: str) -> object:
        if self.type is bool:
            if text.lower() not in _BOOLEANS:
                raise ValueError
            return _BOOLEANS[text.lower()]
        if self.type is Path and not text:
            raise ValueError
        value: object = self.type(text)  # type: ignore[call-arg]  # text suits the other four
        return _expanded(value) if isinstance(value, Path) else value

    def _fits(self, value: object) -> bool:
        if isinstance(value, int | float):
            return self.least <= value <= self.most and value != math.inf
        if self.choices:
            return value in self.choices
        if value == "" and self.default:
            return False
        return not _UNUSABLE.search(str(value))


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

    def plain(self) -> dict[str, tuple[Any, str]]:
        """Value and source by name: what another process needs to have the same settings."""
        return {name: (value, source) for name, (_, value, source) in self._values.items()}


def _number(value: float) -> str:
    """All digits of a whole number."""
    return str(int(value)) if value == int(value) else str(value)


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:  # `~somebody`, whom this machine does not know
        raise ValueError from error
