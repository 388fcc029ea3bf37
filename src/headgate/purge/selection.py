"""Which purger a server has: one of those built in, or one that a third party brings.

A third party's is chosen by the name of its entry point, or by its import path.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from headgate.catalog.ports import Storage
from headgate.errors import BadSetting
from headgate.extensions import Kind, nearest, reason
from headgate.purge.purgers import METHODS, IcebergPurger, PurgerContext, ThirdParty

ASYNC, SYNCHRONOUS, SPARK = "async", "synchronous", "spark"
ALIASES = {"jdbc-async": ASYNC}
PURGERS = Kind("purger", "headgate.purgers", (ASYNC, *ALIASES, SYNCHRONOUS, SPARK))
_GOOD_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Selection(NamedTuple):
    """The purger that was chosen."""

    name: str
    """As jobs record it."""
    purger: IcebergPurger | None = None
    """Of a third party, not initialized yet; None if it is built in."""
    properties: Mapping[str, str] = {}

    async def start(self, context: PurgerContext, storage: Storage) -> ThirdParty | None:
        """Let a third party's purger begin; None if there is none. BadSetting if it cannot."""
        if self.purger is None:
            return None
        third_party = ThirdParty(self.purger, context, storage)
        try:
            await third_party.initialize(self.properties)
        except (Exception, SystemExit) as error:
            raise PURGERS.unusable(
                self.name,
                why=f"it could not be initialized ({reason(error)})",
                fix=f"Correct its properties purger.{self.name}.*, or choose another purger",
            ) from error
        return third_party


def select(choice: str, properties: Mapping[str, Mapping[str, str]]) -> Selection:
    """The purger of this name or import path; BadSetting says why there is none.

    `properties` are those of all third parties by their names. Some may wait for a purger that is
    installed and not chosen; those of one that nobody knows are mistakes.
    """
    name = ALIASES.get(choice, choice)
    purger = None if name in PURGERS.built_in else _made(choice)
    name = name if purger is None else purger.name
    _check_owners(properties, (*PURGERS.names(), name))
    return Selection(name, purger, properties.get(name, {}))


def _made(choice: str) -> IcebergPurger:
    """A new purger of a third party."""
    make = PURGERS.load(choice)
    if not callable(make):
        raise _broken(choice, f"it is no class but {type(make).__name__!r}")
    try:
        purger = cast("Callable[[], object]", make)()
    except (Exception, SystemExit) as error:
        raise _broken(choice, f"it could not be made ({reason(error)})") from error
    missing = [one for one in METHODS if not callable(getattr(purger, one, None))]
    if missing:
        raise _broken(choice, f"it has no method {', '.join(missing)}")
    _check_name(choice, getattr(purger, "name", None))
    return cast("IcebergPurger", purger)


def _check_name(choice: str, name: object) -> None:
    """Jobs and properties know a purger by its own name, however it was chosen."""
    if not isinstance(name, str) or not _GOOD_NAME.fullmatch(name):
        raise _broken(choice, f"its name is {name!r}, and not lower-case words with dashes between")
    if name in PURGERS.built_in:
        raise _broken(choice, f"its name is {name!r}, which is built in")
    if choice in PURGERS.names() and choice != name:
        raise _broken(choice, f"its name is {name!r}, and its entry point has another")


def _broken(choice: str, why: str) -> BadSetting:
    return PURGERS.unusable(
        choice, why=why, fix="Tell who made it, and choose another purger meanwhile"
    )


def _check_owners(properties: Mapping[str, object], names: tuple[str, ...]) -> None:
    """Refuse properties of a purger that nobody knows: its name may be misspelt."""
    for owner in properties:
        if owner not in names:
            raise BadSetting(
                f"the settings 'purger.{owner}.*' cannot be used",
                why=nearest(owner, names) or f"there is no purger {owner!r}",
                fix="Correct the name, or leave them out",
            )
