"""Parts that third parties bring: found by the name of an entry point, or by an import path."""

import difflib
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import entry_points
from typing import NamedTuple

from headgate.errors import BadSetting

REASON_CHARS_MAX = 500


class Kind(NamedTuple):
    """A kind of part that third parties may bring."""

    word: str
    """What messages call it."""
    group: str
    """The group of its entry points."""
    built_in: tuple[str, ...] = ()
    """Names that are taken already."""

    def names(self) -> tuple[str, ...]:
        """All that can be chosen by name here."""
        installed = sorted({one.name for one in entry_points(group=self.group)})
        return (*self.built_in, *(name for name in installed if name not in self.built_in))

    def load(self, name: str) -> object:
        """What is installed under a name, or lies at `module:Name`; BadSetting says why not."""
        paths = {one.value for one in entry_points(group=self.group) if one.name == name}
        if len(paths) > 1:
            raise self.unusable(
                name,
                why=f"several packages bring one: {', '.join(sorted(paths))}",
                fix="Uninstall all but one of them, or write one of these paths instead",
            )
        if not paths and "." not in name and ":" not in name:
            raise self.unknown(name)
        return self._import(name, *(paths or {name}))

    def unknown(self, name: str) -> BadSetting:
        """What to say of a name that nobody has."""
        names = self.names()
        choice = f"one of {', '.join(names)}, or " if names else ""
        return BadSetting(
            f"{self.word} {name!r} is unknown",
            why=nearest(name, names),
            fix=f"Choose {choice}the import path of one, as module:Name",
        )

    def unusable(self, name: str, *, why: str, fix: str) -> BadSetting:
        """What to say of one that is there and does not work."""
        return BadSetting(f"{self.word} {name!r} cannot be used", why=why, fix=fix)

    def _import(self, name: str, path: str) -> object:
        module, found, attribute = path.partition(":")
        if not found:
            module, _, attribute = path.rpartition(".")
        try:
            part: object = import_module(module)
        except (Exception, SystemExit) as error:
            raise self.unusable(
                name,
                why=f"{module!r} cannot be imported ({reason(error)})",
                fix="Install its package where Headgate is installed, or correct its name",
            ) from error
        for step in attribute.split("."):
            if not hasattr(part, step):
                raise self.unusable(
                    name, why=f"{module!r} has no {attribute!r}", fix="Correct its name"
                )
            part = getattr(part, step)
        return part


def nearest(name: str, known: Iterable[str]) -> str:
    """Which known name may have been meant, as a reason; empty if none is near."""
    found = difflib.get_close_matches(name, known, n=1)
    return f"the nearest known name is {found[0]!r}" if found else ""


def reason(error: BaseException) -> str:
    """An error of somebody else's code, on one line."""
    words = " ".join(str(error).split())[:REASON_CHARS_MAX]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
