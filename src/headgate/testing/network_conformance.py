"""What a backend behind a network has to prove besides: replies that break, vanish or come late.

A backend passes with a one-line subclass and two fixtures: `proxy`, a `CutProxy` in front of its
server, and `faulty`, an opened backend behind it that was given to `prime` and whose calls time out
after `COMMAND_TIMEOUT_SECONDS`.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from headgate.errors import BackendUnavailable, OutcomeUnknown
from headgate.kernel.backend import Backend
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap
from headgate.testing.cut_proxy import CutProxy, Mode

REALM = "realm"
KEY = PointerKey(REALM, "head")
COMMAND_TIMEOUT_SECONDS = 0.8
LATE_SECONDS = 1.2  # after the caller gave up
FAULTS: list[Mode] = ["cut", "hang", "late"]


def row(id: int, *, version: int = 0, value: bytes = b"old") -> Row:
    """One row of the tests' realm."""
    return Row(REALM, id, 0, 1, "thing", version, value)


async def prime(backend: Backend) -> None:
    """Store what the tests start from, with every verb, so that each is prepared."""
    await backend.create_pointers(REALM, [KEY.name])
    await backend.read_pointers([KEY])
    await backend.commit([row(1)], Swap(KEY, EMPTY, 1))
    await backend.fetch(REALM, [1])
    await backend.write([row(1)])
    await backend.insert(row(10, version=1))
    await backend.update(row(10, version=2), 1)
    await backend.insert(row(11, version=1))
    await backend.remove(REALM, 12, 1)
    await backend.delete(REALM, [12])


Act = Callable[[Backend], Awaitable[object]]
WRITES: dict[str, tuple[Act, int, bytes | None]] = {  # what to do, then the row and value to find
    "commit": (lambda b: b.commit([row(2, value=b"new")], Swap(KEY, 1, 2)), 2, b"new"),
    "write": (lambda b: b.write([row(3, value=b"new")]), 3, b"new"),
    "insert": (lambda b: b.insert(row(4, version=1, value=b"new")), 4, b"new"),
    "update": (lambda b: b.update(row(10, version=3, value=b"new"), 2), 10, b"new"),
    "remove": (lambda b: b.remove(REALM, 11, 1), 11, None),
    "delete": (lambda b: b.delete(REALM, [1]), 1, None),
}
READS: dict[str, Act] = {
    "read_pointers": lambda b: b.read_pointers([KEY]),
    "fetch": lambda b: b.fetch(REALM, [1]),
}


class NetworkConformance:
    """Writes without a reply are unknown and were applied; reads without one are unavailable."""

    @pytest.mark.parametrize(
        ("verb", "fault"),
        [
            *itertools.product(["commit", "insert", "update"], FAULTS),
            *itertools.product(["write", "remove", "delete"], ["cut"]),
        ],
    )
    async def test_a_write_without_its_reply_is_unknown_and_was_applied(
        self, verb: str, fault: Mode, proxy: CutProxy, faulty: Backend
    ) -> None:
        """The caller is told to read; reading works at once and shows the write."""
        act, id, value = WRITES[verb]
        proxy.mode = fault

        with pytest.raises(OutcomeUnknown):
            await act(faulty)

        proxy.mode = "pass"
        found = await faulty.fetch(REALM, [id])
        assert [stored.value for stored in found] == ([] if value is None else [value])
        assert await faulty.read_pointers([KEY]) == [2 if verb == "commit" else 1]

    @pytest.mark.parametrize("fault", FAULTS)
    @pytest.mark.parametrize("verb", READS)
    async def test_a_read_without_its_reply_is_unavailable_and_the_next_one_works(
        self, verb: str, fault: Mode, proxy: CutProxy, faulty: Backend
    ) -> None:
        """Nothing is retried behind the caller's back, and nothing stays broken."""
        expected = await READS[verb](faulty)
        proxy.mode = fault

        with pytest.raises(BackendUnavailable):
            await READS[verb](faulty)

        proxy.mode = "pass"
        assert await READS[verb](faulty) == expected

    @pytest.mark.parametrize("end", ["given up", "cancelled"])
    async def test_a_late_reply_never_answers_another_question(
        self, end: str, proxy: CutProxy, faulty: Backend
    ) -> None:
        """Whether its caller gave up or was cancelled, a reply that comes later is dropped."""
        other = PointerKey(REALM, "other")
        await faulty.create_pointers(REALM, ["other"])
        for ask in (faulty.read_pointers([KEY]), faulty.fetch(REALM, [1])):
            proxy.spoiled.clear()
            proxy.mode = "late"
            question = asyncio.ensure_future(ask)
            await proxy.spoiled.wait()
            if end == "cancelled":
                question.cancel()
            await asyncio.wait([question])
            assert question.cancelled() or isinstance(question.exception(), BackendUnavailable)

            until = asyncio.get_running_loop().time() + LATE_SECONDS
            while asyncio.get_running_loop().time() < until:
                assert await faulty.read_pointers([other]) == [EMPTY]
                assert await faulty.fetch(REALM, [10]) == [row(10, version=2)]

    async def test_a_server_that_accepts_and_never_speaks_does_not_hang_its_callers(
        self, proxy: CutProxy, faulty: Backend
    ) -> None:
        """Connecting has its time limit too: each call ends, and all work again afterwards."""
        proxy.mode = "hang"
        with pytest.raises(OutcomeUnknown):
            await faulty.commit([], Swap(KEY, 1, 5))

        async with asyncio.timeout(COMMAND_TIMEOUT_SECONDS * 3):
            with pytest.raises(BackendUnavailable):
                await faulty.commit([], Swap(KEY, 5, 6))  # never sent: there was no connection
            with pytest.raises(BackendUnavailable):
                await faulty.read_pointers([KEY])

        proxy.mode = "pass"
        assert await faulty.read_pointers([KEY]) == [5]
        assert await faulty.commit([], Swap(KEY, 5, 7)) is Outcome.APPLIED

    async def test_closing_does_not_wait_for_a_silent_server(
        self, proxy: CutProxy, faulty: Backend
    ) -> None:
        """`close` ends in bounded time with a statement still under way."""
        proxy.mode = "hang"
        commit = asyncio.create_task(faulty.commit([], Swap(KEY, 1, 5)))
        await proxy.spoiled.wait()

        async with asyncio.timeout(4):
            await faulty.close()

        await asyncio.wait([commit])
        assert isinstance(commit.exception(), OutcomeUnknown)
