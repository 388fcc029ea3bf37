"""Bodies: how many are read at once, and how slow they may be."""

import asyncio
import tracemalloc
from collections.abc import Awaitable
from typing import Any

import pytest

from headgate.errors import RequestTimedOut
from headgate.http.bodies import Bodies, BodyOptions, BodyReader
from headgate.http.request import Message, Request
from headgate.limits import BODY_CREDIT_BYTES, OPEN_BODIES_PER_ADDRESS_MAX
from headgate.testing.manual_clock import ManualClock

Reading = asyncio.Task[bytes]


class Sender:
    """A client that sends its body when it is told to."""

    def __init__(self, address: str = "192.0.2.1") -> None:
        self.request = Request("POST", "/", headers={"content-length": "9"}, address=address)
        self._pieces: asyncio.Queue[Message] = asyncio.Queue()

    async def receive(self) -> Message:
        return await self._pieces.get()

    def send(self, piece: bytes, *, more: bool = True) -> None:
        self._pieces.put_nowait({"type": "http.request", "body": piece, "more_body": more})

    def begin(self, bodies: Bodies) -> Reading:
        return asyncio.create_task(bodies.read(self.request, self.receive, 1 << 30))


async def begun(bodies: Bodies, *senders: Sender) -> list[Reading]:
    """All of these have begun to send."""
    tasks = [sender.begin(bodies) for sender in senders]
    await asyncio.sleep(0)
    return tasks


async def outcome(reading: Awaitable[bytes]) -> Any:
    try:
        return await reading
    except RequestTimedOut as error:
        return error.why


async def test_the_slowest_of_an_address_makes_room_for_its_next() -> None:
    """A body that comes at once gets through, however many slow ones there are."""
    clock = ManualClock()
    bodies = Bodies(BodyOptions(per_address_max=2), clock)
    slow, quick, late = Sender(), Sender(), Sender()
    readings = await begun(bodies, slow, quick)
    quick.send(b"x" * BODY_CREDIT_BYTES)
    await asyncio.sleep(0)
    clock.advance(1000)
    readings += await begun(bodies, late)
    quick.send(b"", more=False)
    late.send(b"abc", more=False)

    told = [await outcome(reading) for reading in readings]
    assert told[0] == "it was the slowest of too many at once"
    assert [len(one) for one in told[1:]] == [BODY_CREDIT_BYTES, 3]
    assert (bodies.count, bodies.ended) == (0, 1)
    bodies.close()


async def test_the_address_with_the_most_bodies_makes_room_for_others() -> None:
    """An address that sends one body is not hindered by another that sends many."""
    clock = ManualClock()
    bodies = Bodies(BodyOptions(at_once_max=3, per_address_max=3), clock)
    alone = Sender("192.0.2.9")
    first = await begun(bodies, alone)
    clock.advance(1000)
    many = await begun(bodies, *(Sender() for _ in range(8)))
    alone.send(b"abc", more=False)

    assert await outcome(first[0]) == b"abc"
    # All of them are young: they may take as much room again.
    assert [reading.done() for reading in many] == [True] * 3 + [False] * 5
    for reading in many:
        reading.cancel()
    await asyncio.gather(*many, return_exceptions=True)
    assert bodies.count == 0
    bodies.close()


@pytest.mark.parametrize(
    ("seconds", "received", "why"),
    [
        (5, 0, "it had less than 16384 bytes a second"),
        (5, 9, "it had less than 16384 bytes a second"),
        (10, 10 << 20, "it was not complete after 10 s"),
    ],
)
async def test_a_body_that_is_too_slow_is_given_up(seconds: float, received: int, why: str) -> None:
    """Its deadline is for the whole of it, and it has a lowest pace on the way."""
    clock, sender = ManualClock(), Sender()
    bodies = Bodies(BodyOptions(look_seconds=0.001), clock)
    [reading] = await begun(bodies, sender)
    sender.send(b"x" * received)
    await asyncio.sleep(0)
    clock.advance(seconds * 1000)

    assert await outcome(reading) == why
    bodies.close()


async def test_a_burst_of_one_address_is_read_whole() -> None:
    """Bodies that have just begun are not slow: a crowd behind one address is no attack."""
    bodies = Bodies(BodyOptions(at_once_max=64, per_address_max=4), ManualClock())
    senders = [Sender() for _ in range(100)]
    readings = await begun(bodies, *senders)
    for sender in senders:
        sender.send(b"abc", more=False)

    assert [await outcome(reading) for reading in readings] == [b"abc"] * 100
    assert bodies.ended == 0
    bodies.close()


async def test_who_is_not_authenticated_hinders_nobody_who_is() -> None:
    """Each kind has limits of its own."""
    clock = ManualClock()
    reader = BodyReader(10, clock)
    known = Sender()
    reading = asyncio.create_task(reader.read(known.request, known.receive, 10, is_known=True))
    others = [Sender() for _ in range(OPEN_BODIES_PER_ADDRESS_MAX + 5)]
    tasks = []
    for number, one in enumerate(others):
        if number == OPEN_BODIES_PER_ADDRESS_MAX:
            clock.advance(1000)  # those before are slow by now
        asking = reader.read(one.request, one.receive, 10, is_known=False)
        tasks.append(asyncio.create_task(asking))
        await asyncio.sleep(0)
    count, ended = reader.count, reader.ended
    known.send(b"abc", more=False)

    assert (count, ended) == (1 + OPEN_BODIES_PER_ADDRESS_MAX, 5)
    assert await reading == b"abc"
    reader.stop()
    told = [await outcome(task) for task in tasks]
    assert told.count("the server is shutting down") == OPEN_BODIES_PER_ADDRESS_MAX
    reader.close()


async def test_a_cancellation_from_outside_stays_one() -> None:
    """Only what the limits end becomes a refusal."""
    bodies = Bodies(BodyOptions(), ManualClock())
    [reading] = await begun(bodies, Sender())
    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
    assert bodies.count == 0
    bodies.close()


async def test_a_body_in_very_many_pieces_takes_the_memory_of_its_bytes() -> None:
    """An object for each of them would take twenty times as much."""
    pieces = 50_000
    numbers = iter(range(pieces))

    async def receive() -> Message:
        number = next(numbers)
        body = number.to_bytes(2, "big")
        return {"type": "http.request", "body": body, "more_body": number < pieces - 1}

    bodies = Bodies(BodyOptions(), ManualClock())
    request = Request("POST", "/", headers={"transfer-encoding": "chunked"})
    tracemalloc.start()
    try:
        body = await bodies.read(request, receive, 1 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        bodies.close()

    assert body == b"".join(number.to_bytes(2, "big") for number in range(pieces))
    assert peak < 5 * len(body)
