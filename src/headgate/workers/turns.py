"""Decides which waiting job gets the next slot, so that no tenant keeps another one waiting.

Metalakes take turns, and within a metalake its principals do. A principal never holds all slots,
over all metalakes: of those that it cannot have one is for other principals, and one more for other
metalakes. Nothing here waits or reads a clock.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping
from enum import Enum
from typing import NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class Tenant(NamedTuple):
    """The principal that a job is done for, and the metalake that the job is about."""

    metalake: str = ""
    principal: str = ""


NO_TENANT = Tenant()
"""Of jobs that the server does for itself."""


class Shares(NamedTuple):
    """The number of slots, and the number that one tenant may hold or wait for."""

    slots: int
    per_metalake: int
    per_principal: int
    slow: int
    """Slots that all principals together may hold whose jobs lately were too slow."""
    waiting: int
    waiting_per_principal: int


class State(Enum):
    """What became of a ticket."""

    NEW = "new"
    WAITING = "waiting"
    HOLDING = "holding"
    REFUSED = "refused"
    GONE = "gone"


class Ticket:
    """One request for a slot."""

    __slots__ = ("state", "tenant")

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.state = State.NEW


class Held:
    """Counts the slots that tenants hold. A principal has one count for all metalakes, so it gains
    nothing by asking about another one."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._slots = 0
        self._by: dict[Tenant, int] = {}
        self._in: dict[str, int] = {}
        self._of: dict[str, int] = {}

    def has_room(self, tenant: Tenant) -> bool:
        """Whether a tenant may hold one more."""
        shares = self._shares
        return (
            self._slots < shares.slots
            and self._in.get(tenant.metalake, 0) < shares.per_metalake
            and self._of.get(tenant.principal, 0) < shares.per_principal
        )

    def by(self, tenant: Tenant) -> int:
        """How many a tenant holds."""
        return self._by.get(tenant, 0)

    def add(self, tenant: Tenant, change: int) -> None:
        """Count one more of a tenant, or one less (-1)."""
        self._slots += change
        _add(self._by, tenant, change)
        _add(self._in, tenant.metalake, change)
        _add(self._of, tenant.principal, change)


_Queues = OrderedDict[Tenant, deque[Ticket]]


class Turns:
    """The tickets that hold a slot or wait for one."""

    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._held = Held(shares)
        self._waiting: OrderedDict[str, _Queues] = OrderedDict()
        """By metalake and principal; the first of each has the next turn."""
        self._slow: dict[Tenant, float] = {}
        """Tenants whose jobs were too slow, with the time when that is forgotten."""

    @property
    def waiting(self) -> int:
        """The number of tickets that wait."""
        return sum(map(_count, self._waiting.values()))

    def enter(self, ticket: Ticket, now: float) -> Ticket | None:
        """Give a ticket a slot or a place in the queue.

        Returns the ticket that is refused if the queue is full: the last one of the tenant that has
        the most, which may be this one.
        """
        own = self._waiting_of(ticket.tenant)
        if not own and self._may_hold(ticket.tenant, now):
            self._hold(ticket)
            return None
        refused = self._refused_for(ticket, own)
        if refused is not ticket:
            if refused is not None:
                self._withdraw(refused)
            queues = self._waiting.setdefault(ticket.tenant.metalake, OrderedDict())
            queues.setdefault(ticket.tenant, deque()).append(ticket)
            ticket.state = State.WAITING
        if refused is not None:
            refused.state = State.REFUSED
        return refused

    def leave(self, ticket: Ticket, now: float) -> list[Ticket]:
        """Take back the slot of a ticket, or its place in the queue.

        Returns the tickets that get a slot now.
        """
        if ticket.state is State.HOLDING:
            self._held.add(ticket.tenant, -1)
        elif ticket.state is State.WAITING:
            self._withdraw(ticket)
        ticket.state = State.GONE
        admitted: list[Ticket] = []
        while self._waiting and (following := self._next(now)) is not None:
            self._withdraw(following)
            self._hold(following)
            self._rotate(following.tenant)
            admitted.append(following)
        return admitted

    def mark_slow(self, tenant: Tenant, now: float, until: float) -> None:
        """Serve a tenant after all others until this time."""
        self._slow = {one: end for one, end in self._slow.items() if end > now}
        self._slow[tenant] = until

    def _may_hold(self, tenant: Tenant, now: float) -> bool:
        return self._held.has_room(tenant) and not (
            self._is_slow(tenant, now) and self._held_by_slow(now) >= self._shares.slow
        )

    def _is_slow(self, tenant: Tenant, now: float) -> bool:
        return bool(self._slow) and self._slow.get(tenant, now) > now

    def _held_by_slow(self, now: float) -> int:
        return sum(self._held.by(tenant) for tenant, end in self._slow.items() if end > now)

    def _next(self, now: float) -> Ticket | None:
        """The next ticket that may have a slot; those of slow tenants come last."""
        last: Ticket | None = None
        for queues in self._waiting.values():
            for tenant, queue in queues.items():
                if not self._may_hold(tenant, now):
                    continue
                if not self._is_slow(tenant, now):
                    return queue[0]
                last = last or queue[0]
        return last

    def _refused_for(self, ticket: Ticket, own: int) -> Ticket | None:
        """The ticket that has to go so that this one can wait; None if there is room."""
        shares = self._shares
        if self._waiting_for(ticket.tenant.principal) >= shares.waiting_per_principal:
            return ticket
        if self.waiting < shares.waiting:
            return None
        queues = self._waiting.get(ticket.tenant.metalake, OrderedDict())
        fullest = max(self._waiting.values(), key=_count, default=queues)
        if _count(fullest) <= _count(queues) + 1:  # one more would only change places
            fullest = queues
        longest = max(fullest.values(), key=len, default=deque())
        if fullest is queues and len(longest) <= own + 1:
            return ticket
        return longest[-1]

    def _waiting_for(self, principal: str) -> int:
        """The number of tickets of a principal that wait, over all metalakes."""
        found = (Tenant(metalake, principal) for metalake in self._waiting)
        return sum(map(self._waiting_of, found))

    def _waiting_of(self, tenant: Tenant) -> int:
        queues = self._waiting.get(tenant.metalake)
        return len(queues.get(tenant, ())) if queues else 0

    def _hold(self, ticket: Ticket) -> None:
        ticket.state = State.HOLDING
        self._held.add(ticket.tenant, 1)

    def _rotate(self, tenant: Tenant) -> None:
        """Let the other metalakes, and the other principals of this one, have the next turns."""
        queues = self._waiting.get(tenant.metalake)
        if queues is None:
            return
        self._waiting.move_to_end(tenant.metalake)
        if tenant in queues:
            queues.move_to_end(tenant)

    def _withdraw(self, ticket: Ticket) -> None:
        queues = self._waiting[ticket.tenant.metalake]
        queue = queues[ticket.tenant]
        queue.remove(ticket)
        if not queue:
            del queues[ticket.tenant]
        if not queues:
            del self._waiting[ticket.tenant.metalake]


def _count(queues: Mapping[Tenant, deque[Ticket]]) -> int:
    return sum(map(len, queues.values()))


def _add(counts: dict[K, int], key: K, change: int) -> None:
    """Change a count; one of zero is not kept."""
    count = counts.get(key, 0) + change
    if count:
        counts[key] = count
    else:
        del counts[key]
