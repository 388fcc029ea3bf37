"""Records refused logins in the audit: the first of its kind at once, repetitions by their number.

A login is of one kind with others of the same address, name and reason. Of one address, and in
all, only so many kinds are told apart within a period, so that guesses do not fill a disk.
"""

import asyncio
from collections import Counter
from typing import NamedTuple, Protocol

from headgate.access.auditing import Decision
from headgate.catalog.calls import ANYBODY
from headgate.clock import Clock
from headgate.errors import NotAuthenticated
from headgate.http.addresses import address_group
from headgate.http.authentication.basic_header import basic_credentials
from headgate.http.request import Request
from headgate.limits import (
    LOGIN_KINDS_MAX,
    LOGIN_KINDS_PER_ADDRESS_MAX,
    LOGIN_NAME_CHARS_MAX,
    LOGIN_PERIOD_SECONDS,
)

LOGIN = "login"
SEVERAL = "several reasons"


class Audit(Protocol):
    """Where decisions are recorded."""

    def decided(self, decision: Decision) -> None:
        """Record this."""
        ...


class _Kind(NamedTuple):
    address: str
    name: str
    reason: str


class RefusedLogins:
    """Records refused logins of one process."""

    def __init__(self, audit: Audit, clock: Clock) -> None:
        self._audit = audit
        self._clock = clock
        self._repeated: dict[_Kind, int] = {}
        """How often each kind was repeated in this period; those of 0 came once."""
        self._kinds: Counter[str] = Counter()
        """By address."""
        self._timer: asyncio.TimerHandle | None = None

    def refused(self, request: Request, error: NotAuthenticated) -> None:
        """Record a request whose credentials were refused; one that has none tried nothing."""
        header = request.headers.get("authorization")
        if header is None:
            return
        caller = request.caller
        name = basic_credentials(header).name if caller is ANYBODY else caller.name
        self.note(request, name, error.reason)

    def note(self, request: Request, name: str, reason: str) -> None:
        """Record that this name was refused; `reason` names a kind of reasons and no secret."""
        kind = self._kind(request.address, printable(name), reason)
        if kind in self._repeated:
            self._repeated[kind] += 1
            return
        self._repeated[kind] = 0
        self._kinds[address_group(request.address)] += 1
        self._record(kind, request.id)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(LOGIN_PERIOD_SECONDS, self.close)

    def close(self) -> None:
        """End this period: record what was repeated in it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for kind, times in self._repeated.items():
            if times:
                self._record(kind, "", times)
        self._repeated.clear()
        self._kinds.clear()

    def _kind(self, address: str, name: str, reason: str) -> _Kind:
        """What a login is counted as; those of too many kinds are not told apart."""
        kind = _Kind(address, name, reason)
        if kind in self._repeated:
            return kind
        if len(self._repeated) >= LOGIN_KINDS_MAX:
            return _Kind("", "", SEVERAL)
        group = address_group(address)
        if self._kinds[group] >= LOGIN_KINDS_PER_ADDRESS_MAX:
            return _Kind(group, "", SEVERAL)
        return kind

    def _record(self, kind: _Kind, request: str, times: int = 1) -> None:
        now = self._clock.wall_ms()
        self._audit.decided(
            Decision(
                now,
                request,
                kind.name,
                LOGIN,
                "",
                (),
                allowed=False,
                why=kind.reason,
                address=kind.address,
                times=times,
            )
        )


def printable(name: str) -> str:
    """A name as it was given, shortened; what cannot be printed is escaped."""
    short = name[:LOGIN_NAME_CHARS_MAX]
    if short.isprintable():
        return short
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in short
    )
