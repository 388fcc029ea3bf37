"""Threads that write files."""

import asyncio
import threading
from collections.abc import AsyncIterator
from functools import partial

import pytest

from headgate.storage.file_writers import FileWriters


@pytest.fixture
async def writers() -> AsyncIterator[FileWriters]:
    writers = FileWriters()
    yield writers
    writers.close()


async def test_each_caller_gets_its_own_answer(writers: FileWriters) -> None:
    """Also those whose work waits together, and fails."""
    done: list[int] = []

    def work(number: int) -> None:
        if number % 3 == 0:
            raise OSError(number, "failed")
        done.append(number)

    answers = await asyncio.gather(
        *(writers.run(partial(work, number)) for number in range(50)), return_exceptions=True
    )

    failed = [number for number, answer in enumerate(answers) if isinstance(answer, OSError)]
    assert failed == [number for number in range(50) if number % 3 == 0]
    assert sorted(done) == [number for number in range(50) if number % 3]


async def test_the_event_loop_is_free_meanwhile(writers: FileWriters) -> None:
    """Work that takes long holds up neither the loop nor all other work."""
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        go_on.wait(10)

    slow = asyncio.create_task(writers.run(wait))
    assert await asyncio.to_thread(begun.wait, 10)
    await writers.run(lambda: None)

    assert not slow.done()
    go_on.set()
    await slow


async def test_a_caller_that_leaves_stops_nothing(writers: FileWriters) -> None:
    """What it asked for is done, and others are answered."""
    go_on, done = threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(10)
        done.set()

    leaving = asyncio.create_task(writers.run(work))
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    go_on.set()

    await writers.run(lambda: None)
    assert await asyncio.to_thread(done.wait, 10)


async def test_closing_ends_the_threads_after_their_work() -> None:
    """Nothing that was asked for is left undone."""
    writers = FileWriters()
    count = 30
    done: list[int] = []
    tasks = [asyncio.create_task(writers.run(lambda: done.append(1))) for _ in range(count)]
    await asyncio.sleep(0)
    writers.close()
    await asyncio.gather(*tasks)

    assert len(done) == count
    for thread in writers._threads:
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()
