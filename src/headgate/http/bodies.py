"""Reads the bodies of requests, outside of the places that admitted requests have.

A body has a deadline and a lowest pace. So many are read at once, and so many of one address: where
there is no room for one more, the slowest is ended, so that slow senders hinder only themselves. A
body that has just begun is not slow yet: a burst of them may take as much room again.
"""

import asyncio
from typing import Any

import msgspec

from headgate.amounts import whole_number
from headgate.clock import Clock
from headgate.errors import BadRequest, RequestTimedOut
from headgate.http import refusals
from headgate.http.addresses import address_group
from headgate.http.request import Message, Receive, Request
from headgate.limits import (
    BODIES_AT_ONCE_MAX,
    BODIES_PER_ADDRESS_MAX,
    BODY_CREDIT_BYTES,
    BODY_LOOK_SECONDS,
    BODY_PACE_BYTES_MIN,
    BODY_SECONDS_MAX,
    OPEN_BODIES_AT_ONCE_MAX,
    OPEN_BODIES_PER_ADDRESS_MAX,
)

BURST = 2
"""How much more room bodies take that have just begun."""


class BodyOptions(msgspec.Struct, frozen=True):
    """How many bodies are read at once, and how slow they may be."""

    at_once_max: int = BODIES_AT_ONCE_MAX
    per_address_max: int = BODIES_PER_ADDRESS_MAX
    seconds_max: float = BODY_SECONDS_MAX
    pace_bytes_min: float = BODY_PACE_BYTES_MIN
    """In a second, on average since the body began; `BODY_CREDIT_BYTES` are a gift."""
    look_seconds: float = BODY_LOOK_SECONDS
    """Between looks for bodies that are too slow."""


class _Arrival:
    """A body that is being read."""

    __slots__ = ("address", "began", "received", "task", "why")

    def __init__(self, task: asyncio.Task[Any], address: str, began: float) -> None:
        self.task = task
        self.address = address
        self.began = began
        self.received = 0
        self.why = ""
        """It was ended; empty if not."""

    def pace(self, now: float) -> float:
        """Bytes in a second; a body that has just begun is fast."""
        return (self.received + BODY_CREDIT_BYTES) / max(now - self.began, 1e-6)


_Arrivals = dict[_Arrival, None]
"""In the order in which they began."""


class Bodies:
    """The bodies that are being read. One timer watches them all."""

    def __init__(self, options: BodyOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._arrivals: dict[str, _Arrivals] = {}
        """By address."""
        self.count = 0
        self.ended = 0
        """How many bodies were given up, since the start."""
        self._timer: asyncio.TimerHandle | None = None

    async def read(self, request: Request, receive: Receive, limit: int) -> bytes:
        """The whole body; `RequestTimedOut` if it is too slow, or the slowest of too many."""
        task = asyncio.current_task()
        assert task is not None
        arrival = _Arrival(task, address_group(request.address), self._clock.seconds())
        self._enter(arrival)
        try:
            return await _read(request, receive, limit, arrival)
        except asyncio.CancelledError:
            if not arrival.why:
                raise
            task.uncancel()
            raise RequestTimedOut(
                "the body did not arrive", why=arrival.why, fix="Send it at once"
            ) from None
        finally:
            self._leave(arrival)

    def stop(self) -> None:
        """Give up all bodies, because the server stops."""
        for arrival in self._all():
            self._end(arrival, "the server is shutting down")

    def close(self) -> None:
        """Watch none any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _enter(self, arrival: _Arrival) -> None:
        self._make_room(arrival)
        self._arrivals.setdefault(arrival.address, {})[arrival] = None
        self.count += 1
        if self._timer is None:
            self._wait()

    def _make_room(self, arrival: _Arrival) -> None:
        """End the slowest body if there is no room for this one."""
        options, now = self._options, arrival.began
        crowd = self._arrivals.get(arrival.address, {})
        if len(crowd) < options.per_address_max:
            if self.count < options.at_once_max:
                return
            crowd = max(self._arrivals.values(), key=len)
        slowest = min(crowd, key=lambda one: one.pace(now))
        is_young = now - slowest.began < options.look_seconds
        if not is_young or self.count >= options.at_once_max * BURST:
            self._end(slowest, "it was the slowest of too many at once")

    def _leave(self, arrival: _Arrival) -> None:
        own = self._arrivals.get(arrival.address, {})
        if arrival not in own:
            return  # it was ended
        del own[arrival]
        self.count -= 1
        if not own:
            del self._arrivals[arrival.address]

    def _end(self, arrival: _Arrival, why: str) -> None:
        self._leave(arrival)
        arrival.why = why
        arrival.task.cancel()
        self.ended += 1

    def _all(self) -> list[_Arrival]:
        return [arrival for own in self._arrivals.values() for arrival in own]

    def _wait(self) -> None:
        seconds = min(self._options.look_seconds, self._options.seconds_max)
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """End what is too slow, and look again while there are any."""
        self._timer = None
        now, options = self._clock.seconds(), self._options
        for arrival in self._all():
            if now - arrival.began >= options.seconds_max:
                self._end(arrival, f"it was not complete after {options.seconds_max:g} s")
            elif arrival.pace(now) < options.pace_bytes_min:
                self._end(arrival, f"it had less than {options.pace_bytes_min:g} bytes a second")
        if self.count:
            self._wait()


class BodyReader:
    """Reads bodies of authenticated callers and of all others, each within limits of their own."""

    def __init__(self, seconds_max: float, clock: Clock) -> None:
        self._known = Bodies(BodyOptions(seconds_max=seconds_max), clock)
        self._open = Bodies(
            BodyOptions(OPEN_BODIES_AT_ONCE_MAX, OPEN_BODIES_PER_ADDRESS_MAX, seconds_max), clock
        )

    @property
    def count(self) -> int:
        """How many bodies are being read."""
        return self._known.count + self._open.count

    @property
    def ended(self) -> int:
        """How many bodies were given up, since the start."""
        return self._known.ended + self._open.ended

    async def read(
        self, request: Request, receive: Receive, limit: int, *, is_known: bool
    ) -> bytes:
        """The whole body; `is_known` if the caller is authenticated."""
        bodies = self._known if is_known else self._open
        return await bodies.read(request, receive, limit)

    def stop(self) -> None:
        """Give up all bodies, because the server stops."""
        self._known.stop()
        self._open.stop()

    def close(self) -> None:
        """Watch none any more."""
        self._known.close()
        self._open.close()


async def _read(request: Request, receive: Receive, limit: int, arrival: _Arrival) -> bytes:
    """The whole body. Of one that is too large some more is read, and thrown away: a client
    that is still sending when the connection ends would never see our answer."""
    length = request.headers.get("content-length", "")
    too_large = length.isdecimal() and whole_number(length, limit) is None
    body: bytes | bytearray = b""
    total = 0
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("the request is not complete", why="the client went away")
        chunk = message.get("body", b"")
        total += len(chunk)
        arrival.received = total
        if too_large or total > limit:
            too_large = True
            body = b""
        elif total == len(chunk):
            body = chunk  # nearly always all of it
        else:  # not a list: an object for each of very many small pieces weighs more than the piece
            body = bytearray(body) if isinstance(body, bytes) else body
            body += chunk
        if not message.get("more_body", False) or total > 2 * limit:
            break
    if too_large:
        raise refusals.too_large(limit)
    return bytes(body)
