"""What happens to tables, told at once to listeners in this process.

A listener hears of an event at most once. What must not be missed is read from the change log.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec

from headgate.catalog.purging import LiveJob
from headgate.model.names import Identifier, dotted

logger = logging.getLogger("headgate.events")


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What all events say."""

    name: ClassVar[str]
    """What happened, in words."""

    at_ms: int
    metalake: str
    catalog: str
    table: Identifier
    job: int = 0
    """The purge job; 0 if there is none."""
    principal: str = ""
    """Who dropped the table."""
    request: str = ""
    """The id of the request that dropped it."""
    server: str = ""
    """Where it happened: `host:pid`. The bus fills it in."""

    def fields(self) -> dict[str, Any]:
        """All that it says, as plain values; what is not known is left out."""
        table = [*self.table.namespace, self.table.name]
        return {"event": self.name, **msgspec.to_builtins(self), "table": table}

    def __str__(self) -> str:
        path = dotted((self.metalake, self.catalog, *self.table.namespace, self.table.name))
        more = (f"{name}={value!r}" for name, value in self.fields().items() if name not in _SAID)
        return " ".join((f"{self.name}: {path!r}", *more))


_SAID = {"event", "at_ms", "metalake", "catalog", "table"}
"""What a line says in its first words."""


class TableDropped(Event, frozen=True, kw_only=True):
    """A table left its catalog; told before the request is answered."""

    name: ClassVar[str] = "table dropped"
    purge_requested: bool
    """Whether its files are to be deleted."""


class PurgeStarted(Event, frozen=True, kw_only=True):
    """A purger begins with a dropped table, for the first time or once more."""

    name: ClassVar[str] = "purge started"


class PurgeCompleted(Event, frozen=True, kw_only=True):
    """A purger is done with a dropped table."""

    name: ClassVar[str] = "purge completed"
    elapsed_ms: int
    files: int
    bytes: int
    kept: int = 0
    """Files that stay because other tables refer to them."""
    outside: int = 0
    """Files that its metadata names and that stay, as they are outside of its own locations."""
    outside_paths: tuple[str, ...] = ()
    """The first of these."""
    unreferenced: int = 0
    """Files that stay in its own locations, as nothing refers to them."""
    unreferenced_paths: tuple[str, ...] = ()
    """The first of these."""


class PurgeFailed(Event, frozen=True, kw_only=True):
    """A purge is not tried again unless somebody says so."""

    name: ClassVar[str] = "purge failed"
    reason: str
    attempts: int


def facts_of(live: LiveJob, now_ms: int) -> dict[str, Any]:
    """What all events of a purge job say, as arguments."""
    return {
        "at_ms": now_ms,
        "metalake": live.metalake,
        "catalog": live.catalog_name,
        "table": live.job.table,
        "job": live.id,
        "principal": live.job.created_by,
        "request": live.job.request,
    }


Listener = Callable[[Event], None]
"""Hears of each event before the work goes on, so it must not wait for anything."""


class EventBus:
    """Tells listeners, one after the other, what happens on this server."""

    def __init__(self, server: str = "", listeners: Sequence[Listener] = ()) -> None:
        self.server = server
        self.listeners = list(listeners)

    def publish(self, event: Event) -> None:
        """Tell of an event. If a listener fails the log says so, and the others are told."""
        if not event.server:
            event = msgspec.structs.replace(event, server=self.server)
        for listener in tuple(self.listeners):
            try:
                listener(event)
            except Exception:
                logger.exception("a listener failed at the event %r", event.name)


def log_event(event: Event) -> None:
    """The listener that writes events to the log."""
    logger.info("%s", event, extra={"fields": event.fields()})
