"""What a worker process may use, set in processes of their own."""

import resource
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from headgate.errors import TooLarge, WorkerEnded
from headgate.workers.allowance import Allowance
from headgate.workers.pool import WorkerPool

WORKER = """
import os, resource, sys
from headgate.workers.allowance import Allowance
from headgate.workers.serving import live

def kinds(): yield " ".join(str(resource.getrlimit(kind)[0]) for kind in (
    resource.RLIMIT_DATA, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)).encode()
def take(n): yield str(len(bytearray(int(n)))).encode()
def hang():
    while True:
        end = sum(os.times()[:2]) + 0.1
        while sum(os.times()[:2]) < end: pass
        yield b""
def pid(): yield str(os.getpid()).encode()

jobs = {job.__name__.encode(): job for job in (kinds, take, hang, pid)}
live(jobs, allowance=Allowance(memory_bytes=1 << 29, cpu_seconds=1, open_files=99))
"""
TOO_MUCH = str(1 << 30).encode()


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool((sys.executable, "-c", WORKER))
    yield pool
    await pool.close()


async def test_a_worker_is_limited_from_its_start(pool: WorkerPool) -> None:
    """Data, open files, and no core dump."""
    assert await pool.run("kinds") == f"{1 << 29} 99 0".encode()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to it")
async def test_a_job_that_takes_too_much_memory_is_refused_and_the_next_one_answered(
    pool: WorkerPool,
) -> None:
    """The process goes on: it is one allocation that fails."""
    before = await pool.run("pid")

    with pytest.raises(TooLarge, match="more memory than one request may have"):
        await pool.run("take", TOO_MUCH)

    assert await pool.run("take", b"1000") == b"1000"
    assert await pool.run("pid") == before


async def test_a_job_that_takes_too_long_ends_its_process_and_the_next_one_is_answered(
    pool: WorkerPool,
) -> None:
    """Signs of life are no progress."""
    before = await pool.run("pid")

    with pytest.raises(WorkerEnded):
        await pool.run_all("hang")

    assert await pool.run("pid") != before
    assert pool.processes == 1


@pytest.mark.parametrize("error", [OSError, ValueError])
def test_a_system_that_refuses_a_limit_starts_all_the_same(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """MacOS has the calls, and not all that they can set."""
    asked: list[int] = []

    def refuse(kind: int, _limits: tuple[int, int]) -> None:
        asked.append(kind)
        raise error

    monkeypatch.setattr(resource, "setrlimit", refuse)
    Allowance(open_files=1).begin()
    Allowance().renew()

    assert {resource.RLIMIT_DATA, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU} <= set(asked)


def test_limits_of_an_operator_that_are_lower_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that are set for the whole server."""
    asked: dict[int, int] = {}
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10, 20))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, both: asked.update({kind: both[0]}))

    Allowance(cpu_seconds=1 << 30).begin()
    Allowance(cpu_seconds=1 << 30).renew()

    assert asked == {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: 20}


@pytest.mark.parametrize(
    "module",
    [
        "headgate.planning.worker",
        "headgate.catalog.metadata_worker",
        "headgate.catalog.password_worker",
        "headgate.purge.worker",
        "headgate.purge.manifest_worker",
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="only there others see its limits")
def test_every_child_is_limited(module: str) -> None:
    """Each of them reads what others wrote, or is told it by them."""
    command = [sys.executable, "-P", "-m", module]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        # An unknown job: what is answered shows that it lives, and is limited by then.
        child.stdin.write(b"\x00\x00\x00\x01" + b"\x00" * 7 + b"\x01?")
        child.stdin.flush()
        assert child.stdout.read(1) == b"f"
        limits = [
            resource.prlimit(child.pid, kind)[0]
            for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_CORE)
        ]
        child.kill()

    standard = Allowance()
    assert limits[0] == standard.memory_bytes
    assert limits[1] > standard.cpu_seconds  # since it began with this job
    assert limits[2] == 0
