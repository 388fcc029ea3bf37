"""What the settings say of parts that third parties bring: purgers, and listeners of events."""

from collections import defaultdict
from typing import cast

from headgate.catalog.events import EventBus, Listener, log_event
from headgate.extensions import Kind
from headgate.purge.selection import Selection, select
from headgate.settings.events import EVENTS_LISTENERS
from headgate.settings.purge import PURGER, PurgerProperty
from headgate.settings.setting import Settings

LISTENERS = Kind("listener", "headgate.listeners")


def purger_selection(settings: Settings) -> Selection:
    """The purger that was chosen, with its properties; BadSetting if it cannot be used."""
    properties: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for setting, value, _ in settings:
        if isinstance(setting, PurgerProperty):
            properties[setting.owner][setting.key] = value
    return select(settings[PURGER], properties)


def event_bus(settings: Settings, server: str) -> EventBus:
    """Tells the log and whoever was chosen; BadSetting if one of them cannot be told."""
    names = (one.strip() for one in settings[EVENTS_LISTENERS].split(","))
    return EventBus(server, [log_event, *(_listener(name) for name in names if name)])


def check_extensions(settings: Settings) -> None:
    """Refuse third parties' parts that are not there, before anything is made."""
    purger_selection(settings)
    event_bus(settings, "")


def _listener(name: str) -> Listener:
    found = LISTENERS.load(name)
    if not callable(found):
        raise LISTENERS.unusable(
            name,
            why=f"it is no function but {type(found).__name__!r}",
            fix="Name a function that takes an event",
        )
    return cast("Listener", found)
