"""Bounds the number of jobs at once; the others wait for their turn, in bounded number."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from headgate.clock import Clock, SystemClock
from headgate.errors import Overloaded
from headgate.limits import (
    SLOTS_SLOW_MAX,
    SLOTS_WAITING_MAX,
    SLOTS_WAITING_PER_PRINCIPAL_MAX,
    SLOW_JOB_SECONDS,
    SLOW_TENANT_SECONDS,
)
from headgate.workers.turns import NO_TENANT, Shares, State, Tenant, Ticket, Turns


def shared(per_principal: int) -> Shares:
    """Shares of slots for tenants: one more for other principals, and one for other metalakes.

    No tenant loses a slot to that: the additional ones are used only while others are busy.
    """
    return Shares(
        slots=per_principal + 2,
        per_metalake=per_principal + 1,
        per_principal=per_principal,
        slow=SLOTS_SLOW_MAX,
        waiting=SLOTS_WAITING_MAX,
        waiting_per_principal=SLOTS_WAITING_PER_PRINCIPAL_MAX,
    )


def unshared(slots: int, waiting: int) -> Shares:
    """Shares of slots that the server uses for itself, in the order of arrival."""
    return Shares(slots, slots, slots, slots, waiting, waiting)


class Slots:
    """A bounded number of slots, which tenants hold in turns."""

    def __init__(self, shares: Shares, what: str, clock: Clock | None = None) -> None:
        self._slots = shares.slots
        self._what = what
        self._clock = clock or SystemClock()
        self._turns = Turns(shares)
        self._calls: dict[Ticket, asyncio.Future[None]] = {}
        """Of tickets that wait; done when they get a slot or are refused."""

    @asynccontextmanager
    async def taken(self, tenant: Tenant = NO_TENANT) -> AsyncIterator[None]:
        """Hold a slot; `Overloaded` if too many wait.

        A tenant whose job is ended before it is done is served after the others for a while, if the
        job took long: by a deadline, or because its client does not wait any longer.
        """
        ticket = Ticket(tenant)
        try:
            await self._enter(ticket)
            began = self._clock.seconds()
            try:
                yield
            except BaseException:
                now = self._clock.seconds()
                if now - began >= SLOW_JOB_SECONDS:
                    self._turns.mark_slow(tenant, now, now + SLOW_TENANT_SECONDS)
                raise
        finally:
            self._calls.pop(ticket, None)
            for admitted in self._turns.leave(ticket, self._clock.seconds()):
                self._call(admitted)

    async def _enter(self, ticket: Ticket) -> None:
        refused = self._turns.enter(ticket, self._clock.seconds())
        if refused is not None and refused is not ticket:
            self._call(refused)
        if ticket.state is State.WAITING:
            self._calls[ticket] = asyncio.get_running_loop().create_future()
            await self._calls[ticket]
        if ticket.state is State.REFUSED:
            raise Overloaded(
                f"Too many requests are waiting for {self._what}",
                why=f"{self._turns.waiting} wait, and {self._slots} are served at once",
                fix="Try again later",
            )

    def _call(self, ticket: Ticket) -> None:
        call = self._calls[ticket]
        if not call.done():  # else its request was given up, and it leaves by itself
            call.set_result(None)
