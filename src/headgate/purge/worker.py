"""A child process that deletes the files of tables, or reads what tables refer to."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, cast

import msgspec

from headgate.clock import SystemClock
from headgate.limits import PLANNING_READS_AHEAD, PURGE_CPU_SECONDS_MAX
from headgate.planning.files import open_files
from headgate.purge.deleter import Progress, Task
from headgate.purge.deleting import Files, Step, Tell, Tools
from headgate.purge.fence import open_fence
from headgate.purge.manifest_reader import content
from headgate.purge.removal import Hands, Removal
from headgate.purge.sizing import has_files, sizes
from headgate.purge.surveying import SurveyedFiles, shared_by
from headgate.purge.surveying import survey as look
from headgate.purge.surveyor import Outside, Referrer, Surveyed
from headgate.storage.deletions import Check
from headgate.workers.allowance import Allowance
from headgate.workers.priority import step_back
from headgate.workers.serving import Job, live

SIGN_OF_LIFE_SECONDS = 1.0
WAITING_MAX = 4  # progress that nobody has read yet: nothing more is deleted meanwhile


def delete(
    factory: bytes,
    others: bytes,
    asked: bytes,
    step: bytes,
    fence: bytes,
    hands: Hands | None = None,
) -> Iterator[bytes]:
    """One step of a task: progress, encoded. Without other hands it is done in this process.

    `others` opens the files of tables that refer to those of this one.
    """
    task = msgspec.msgpack.decode(asked, type=Task)
    files = cast("Files", open_files(factory))
    others_files = cast("Files", open_files(others)) if task.referrers else files
    clock = SystemClock()
    with open_fence(Path(os.fsdecode(fence)), clock) as opened:

        def work(tell: Tell, check: Check) -> None:
            def check_both() -> None:
                check()
                opened.check()

            if hands is None:  # others have machines, or cores, of their own
                step_back()
            check_both()
            own = partial(Removal, content=partial(content, factory))
            tools = Tools(files, others_files, clock, check_both, tell)
            Step(step.decode(), task, tools, hands or own).run()

        for progress in told(Progress(step.decode()), work):
            yield msgspec.msgpack.encode(progress)


def told(first: Progress, work: Callable[[Tell, Check], None]) -> Iterator[Progress]:
    """What work tells that is done on another thread, with signs of life while it tells nothing.

    `first` is the sign before it tells anything. Whoever stops listening stops the work: its next
    `check` raises.
    """
    waiting: Queue[Progress | Exception | None] = Queue(WAITING_MAX)
    over = Event()

    def check() -> None:
        if over.is_set():
            raise NobodyListensError

    def tell(news: Progress | Exception | None) -> None:
        while True:
            check()
            try:
                return waiting.put(news, timeout=SIGN_OF_LIFE_SECONDS)
            except Full:
                continue

    def main() -> None:
        try:
            work(tell, check)
            tell(None)
        except NobodyListensError:
            return
        except Exception as error:  # noqa: BLE001  raised where it is listened to
            tell(error)

    thread = Thread(target=main, name="purge")
    thread.start()
    try:
        yield from _heard(first, waiting)
    finally:
        over.set()
        thread.join()


class NobodyListensError(Exception):
    """The parent is gone, or does not want to hear more."""


def _heard(last: Progress, waiting: "Queue[Progress | Exception | None]") -> Iterator[Progress]:
    while True:
        try:
            news = waiting.get(timeout=SIGN_OF_LIFE_SECONDS)
        except Empty:
            yield last
            continue
        if news is None:
            return
        if isinstance(news, Exception):
            raise news
        yield news
        last = msgspec.structs.replace(news, failed=[], outside=[], away="", passed_over=[])


def survey(factory: bytes, asked: bytes, seconds: bytes) -> Iterator[bytes]:
    """What each of some tables refers to outside of its places, in their order; each is read for so
    many seconds at most."""
    files = cast("SurveyedFiles", open_files(factory))
    tables = msgspec.msgpack.decode(asked, type=list[Surveyed])
    most, clock = msgspec.msgpack.decode(seconds, type=float), SystemClock()

    def timed(table: Surveyed) -> Outside:
        began = clock.seconds()
        found = look(table, files, most)
        return msgspec.structs.replace(found, seconds=clock.seconds() - began)

    threads = ThreadPoolExecutor(PLANNING_READS_AHEAD, initializer=step_back)
    try:
        for found in [threads.submit(timed, table) for table in tables]:
            yield from _alive(found)
            yield msgspec.msgpack.encode(found.result())
    finally:
        threads.shutdown(wait=True, cancel_futures=True)


def shared(factory: bytes, asked: bytes, paths: bytes) -> Iterator[bytes]:
    """Those of some files that some tables refer to."""
    files = cast("Files", open_files(factory))
    referrers = msgspec.msgpack.decode(asked, type=list[Referrer])
    wanted = msgspec.msgpack.decode(paths, type=list[str])
    with ThreadPoolExecutor(1, initializer=step_back) as thread:
        found = thread.submit(shared_by, referrers, files, wanted)
        yield from _alive(found)
        yield msgspec.msgpack.encode(found.result())


def _alive(work: Future[Any]) -> Iterator[bytes]:
    """Signs of life until some work is done."""
    while not wait([work], SIGN_OF_LIFE_SECONDS).done:
        yield b""


def count(factory: bytes, location: bytes) -> Iterator[bytes]:
    """How many files a table has."""
    yield msgspec.msgpack.encode(sizes(location.decode(), open_files(factory)))


def is_large(factory: bytes, location: bytes, least: bytes) -> Iterator[bytes]:
    """Whether a table has so many files."""
    yield b"1" if has_files(location.decode(), int(least), open_files(factory)) else b""


JOBS: dict[bytes, Job] = {
    b"delete": delete,
    b"survey": survey,
    b"shared": shared,
    b"count": count,
    b"is-large": is_large,
}


if __name__ == "__main__":
    live(JOBS, allowance=Allowance(cpu_seconds=PURGE_CPU_SECONDS_MAX))
