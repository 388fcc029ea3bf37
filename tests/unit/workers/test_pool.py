"""The pool of worker processes, with a worker that does what the tests need."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

import pytest

from headgate.errors import BadRequest, Closed, HeadgateError, Overloaded, Unavailable, WorkerEnded
from headgate.workers.pool import PoolOptions, WorkerPool
from headgate.workers.process import Worker, start

WORKER = """
import os, sys, time, msgspec
from headgate.workers.frames import *

def pid(): yield str(os.getpid()).encode()
def echo(*parts): yield b"|".join(parts)
def count(n):
    for number in range(int(n)): yield str(number).encode()
def large(n): yield b"x" * int(n)
def sleep(seconds): time.sleep(float(seconds)); yield b"awake"
def die(): os._exit(3)
def fail(error): raise_failure(error.decode())
def raise_failure(error):
    raise Failed(Failure(error, "what", "why", "fix"))
class Failed(Exception): pass

while (request := read_request(sys.stdin.buffer)) is not None:
    job, *arguments = request
    try:
        for item in globals()[job.decode()](*arguments):
            write_answer(sys.stdout.buffer, ITEM, item)
        write_answer(sys.stdout.buffer, END)
    except Failed as failed:
        write_answer(sys.stdout.buffer, FAILED, msgspec.msgpack.encode(failed.args[0]))
"""
COMMAND = (sys.executable, "-c", WORKER)

MakePool = Callable[..., WorkerPool]


@pytest.fixture
async def pool_of() -> AsyncIterator[MakePool]:
    pools: list[WorkerPool] = []

    def make(**options: float) -> WorkerPool:
        pools.append(WorkerPool(COMMAND, PoolOptions(**options)))  # type: ignore[arg-type]
        return pools[-1]

    yield make
    for pool in pools:
        await pool.close()


async def is_gone(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        await asyncio.sleep(0.01)
    return False


def children() -> set[str]:
    """The processes that this one started and did not wait for."""
    found: set[str] = set()
    for thread in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            found.update((thread / "children").read_text().split())
    return found


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


async def outcome(work: Awaitable[bytes]) -> bytes | type[BaseException]:
    try:
        return await work
    except HeadgateError as error:
        return type(error)


async def test_no_process_exists_before_the_first_job(pool_of: MakePool) -> None:
    """A server that plans no scans pays nothing."""
    pool = pool_of()

    assert pool.processes == 0
    assert await pool.run("echo", b"a", b"", b"b") == b"a||b"
    assert pool.processes == 1


async def test_jobs_one_after_another_use_one_process(pool_of: MakePool) -> None:
    """A worker is used again, so that its imports are paid once."""
    pool = pool_of(workers=4)

    assert len({await pool.run("pid") for _ in range(5)}) == 1


async def test_jobs_at_once_use_as_many_processes_as_allowed(pool_of: MakePool) -> None:
    """The rest waits for its turn."""
    pool = pool_of(workers=2)

    answers = await asyncio.gather(*(pool.run("sleep", b"0.05") for _ in range(5)))

    assert answers == [b"awake"] * 5
    assert pool.processes == 2


async def test_large_parts_pass_both_ways(pool_of: MakePool) -> None:
    """Metadata and answers of many megabytes go through in pieces."""
    pool = pool_of()
    data = bytes(range(256)) * 40_000

    assert await pool.run("echo", data) == data
    assert len(await pool.run("large", b"5000000")) == 5_000_000


async def test_answers_come_one_by_one(pool_of: MakePool) -> None:
    """A job may have many answers, in their order."""
    pool = pool_of()

    found = [item async for item in pool.stream("count", b"1000")]

    assert found == [str(number).encode() for number in range(1000)]
    assert await pool.run("echo", b"next") == b"next"


async def test_who_stops_listening_ends_the_worker(pool_of: MakePool) -> None:
    """The rest of the answers would be taken for those of the next job."""
    pool = pool_of(workers=1)

    async with aclosing(pool.stream("count", b"100000")) as answers:
        async for _ in answers:
            break

    assert pool.processes == 0
    assert await pool.run("echo", b"next") == b"next"


async def test_errors_of_the_tree_come_back_as_they_are(pool_of: MakePool) -> None:
    """What, why and what to do survive the way, and so does the worker."""
    pool = pool_of()
    before = await pool.run("pid")

    with pytest.raises(BadRequest, match=r"what: why\. fix"):
        await pool.run("fail", b"BadRequest")
    assert await pool.run("pid") == before


@pytest.mark.parametrize("name", [b"", b"copy", b"NoSuchError"])
async def test_other_errors_are_mistakes_of_ours(
    pool_of: MakePool, name: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """They are logged, and the caller learns only that it failed."""
    pool = pool_of()

    with pytest.raises(HeadgateError, match="unexpected error") as caught:
        await pool.run("fail", name)

    assert type(caught.value) is HeadgateError
    assert "what" in caplog.text


async def test_the_death_of_a_worker_fails_its_job_only(pool_of: MakePool) -> None:
    """Others go on, and the next job gets a new process."""
    pool = pool_of(workers=2)

    others, died, _ = await asyncio.gather(
        outcome(pool.run("sleep", b"0.3")), outcome(pool.run("die")), outcome(pool.run("pid"))
    )

    assert (others, died) == (b"awake", WorkerEnded)
    assert await pool.run("echo", b"still here") == b"still here"


async def test_an_idle_worker_that_died_is_not_used(pool_of: MakePool) -> None:
    """The machine may kill a process that does nothing, to get its memory."""
    pool = pool_of()
    pid = int(await pool.run("pid"))
    os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    assert int(await pool.run("pid")) != pid


async def test_a_job_that_is_too_slow_is_ended(pool_of: MakePool) -> None:
    """Its process is killed: nothing else ends a computation for sure."""
    pool = pool_of(deadline_seconds=2.0)
    pid = int(await pool.run("pid"))
    slow = WorkerPool(COMMAND, PoolOptions(deadline_seconds=0.2))

    with pytest.raises(Unavailable, match=r"no answer within 0.2 s"):
        await slow.run("sleep", b"60")

    assert slow.processes == 0
    assert int(await pool.run("pid")) == pid
    await slow.close()


async def test_a_job_whose_caller_gave_up_is_ended(pool_of: MakePool) -> None:
    """A client that went away must not keep a process busy."""
    pool = pool_of(workers=1)
    pid = int(await pool.run("pid"))
    job = asyncio.ensure_future(pool.run("sleep", b"60"))
    await asyncio.sleep(0.05)

    job.cancel()

    with pytest.raises(asyncio.CancelledError):
        await job
    assert await is_gone(pid)
    assert await pool.run("echo", b"next") == b"next"


async def test_a_caller_who_gives_up_waiting_leaves_the_queue(pool_of: MakePool) -> None:
    """Nobody's place is lost, and nobody's process."""
    pool = pool_of(workers=1, waiting_max=1)
    first = asyncio.ensure_future(pool.run("sleep", b"0.3"))
    await asyncio.sleep(0.05)
    second = asyncio.ensure_future(pool.run("echo", b"second"))
    await asyncio.sleep(0.05)
    second.cancel()
    await asyncio.sleep(0)

    assert await pool.run("echo", b"third") == b"third"
    assert await first == b"awake"


async def test_too_many_callers_are_sent_away(pool_of: MakePool) -> None:
    """The queue has an end; who finds it full may come again."""
    pool = pool_of(workers=1, waiting_max=2)

    answers = await asyncio.gather(*(outcome(pool.run("sleep", b"0.1")) for _ in range(5)))

    assert answers == [b"awake"] * 3 + [Overloaded] * 2


async def test_a_job_may_have_a_deadline_of_its_own(pool_of: MakePool) -> None:
    """It takes the place of that of the pool."""
    pool = pool_of()

    with pytest.raises(WorkerEnded, match=r"no answer within 0.2 s"):
        await pool.run("sleep", b"60", deadline_seconds=0.2)

    assert pool.processes == 0


async def test_workers_end_after_an_idle_time(pool_of: MakePool) -> None:
    """At rest the pool is nothing."""
    pool = pool_of(workers=2, idle_seconds=0.1)
    pids = await asyncio.gather(pool.run("pid"), pool.run("pid"))

    await asyncio.wait_for(until(lambda: pool.processes == 0), 5)

    assert [await is_gone(int(pid)) for pid in pids] == [True, True]
    assert await pool.run("echo", b"again") == b"again"


async def test_a_worker_in_use_is_not_idle(pool_of: MakePool) -> None:
    """Its idle time begins anew with each job."""
    pool = pool_of(workers=1, idle_seconds=0.2)
    pid = await pool.run("pid")

    assert await pool.run("sleep", b"0.5") == b"awake"
    assert await pool.run("pid") == pid


async def test_a_closed_pool_has_no_processes(pool_of: MakePool) -> None:
    """Jobs that run are ended, new ones are refused."""
    pool = pool_of()
    pid = int(await pool.run("pid"))
    job = asyncio.ensure_future(outcome(pool.run("sleep", b"60")))
    await asyncio.sleep(0.05)

    await pool.close()

    assert await job is Closed
    assert await is_gone(pid)
    with pytest.raises(Closed):
        await pool.run("echo")


class SlowStart:
    """Starts a worker, and holds it back until it is told to go."""

    def __init__(self) -> None:
        self.is_there, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, command: Sequence[str], *, is_apart: bool) -> Worker:
        worker = await start(command, is_apart=is_apart)
        self.is_there.set()
        await self.go.wait()
        return worker


async def test_a_worker_that_starts_while_the_pool_closes_is_awaited(
    pool_of: MakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process would outlive the server that waits for all of them."""
    slow, pool, before = SlowStart(), pool_of(), children()
    monkeypatch.setattr("headgate.workers.pool.start", slow)
    job = asyncio.ensure_future(outcome(pool.run("pid")))
    await slow.is_there.wait()

    closing = asyncio.ensure_future(pool.close())
    await asyncio.sleep(0)
    slow.go.set()
    await closing

    assert (children(), pool.processes) == (before, 0)
    assert await job is Closed


async def test_a_worker_whose_caller_gave_up_while_it_started_is_ended(
    pool_of: MakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else knows of it."""
    slow, pool, before = SlowStart(), pool_of(), children()
    monkeypatch.setattr("headgate.workers.pool.start", slow)
    job = asyncio.ensure_future(pool.run("pid"))
    await slow.is_there.wait()

    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    slow.go.set()

    await asyncio.wait_for(until(lambda: children() == before), 5)
    assert pool.processes == 0


@pytest.mark.parametrize("connect", ["connect_read_pipe", "connect_write_pipe"])
async def test_a_worker_that_cannot_be_started_leaves_nothing(
    connect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its process, not even a dead one, nor an end of its pipes."""
    loop = asyncio.get_running_loop()

    async def fail(*_: object) -> None:
        raise OSError("no more")

    before = children(), open_files()
    with monkeypatch.context() as patched:
        patched.setattr(loop, connect, fail)
        with pytest.raises(OSError, match="no more"):
            await start(COMMAND)
    await asyncio.sleep(0)  # the loop closes what was connected

    assert (children(), open_files()) == before


@pytest.mark.parametrize(
    ("heard", "exists"), [("open(sys.argv[1], 'x'); os._exit(0)", True), ("pass", False)]
)
async def test_a_worker_may_be_asked_to_end_before_it_is_killed(
    tmp_path: Path, heard: str, exists: bool
) -> None:
    """What it started itself ends then; one that does not listen is killed."""
    mark = tmp_path / "mark"
    program = f"import signal\ndef end(*_): {heard}\nsignal.signal(signal.SIGTERM, end)\n{WORKER}"
    command = (sys.executable, "-c", program, str(mark))
    pool = WorkerPool(command, PoolOptions(1, grace_seconds=10.0 if exists else 0.2))
    worker = int(await pool.run("pid"))
    assert os.getpgid(worker) != os.getpgid(0)

    await pool.close()

    assert await is_gone(worker)
    assert mark.exists() == exists
