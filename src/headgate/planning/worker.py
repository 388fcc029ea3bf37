"""A worker process: reads jobs from its standard input until the server closes it, or is gone."""

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import BinaryIO

import msgspec

from headgate.errors import HeadgateError
from headgate.planning.files import OpenFiles
from headgate.planning.frames import END, FAILED, ITEM, Failure, read_request, write_answer
from headgate.planning.reachable import reachable
from headgate.planning.scan import fetch_plan, fetch_tasks, plan

RECURSION_MAX = 20_000  # filters are trees, and clients write long ones lopsided
OPEN_FILES_MAX = 16
NICE = 5  # where cores are few, the server's answers come first

Job = Callable[..., Iterator[bytes]]

JOBS: dict[bytes, Job] = {
    b"plan": plan,
    b"fetch-plan": fetch_plan,
    b"fetch-tasks": fetch_tasks,
    b"reachable": reachable,
}


def main() -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    sys.setrecursionlimit(RECURSION_MAX)
    os.nice(NICE)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    serve(sys.stdin.buffer, answers)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    while (request := read_request(requests)) is not None:
        job, files, *arguments = request
        try:
            for item in JOBS[job](open_files(files), *arguments):
                write_answer(answers, ITEM, item)
            write_answer(answers, END)
        except BrokenPipeError:
            return
        except Exception as error:  # noqa: BLE001  every failure is answered
            write_answer(answers, FAILED, msgspec.msgpack.encode(failure(error)))


def failure(error: Exception) -> Failure:
    """An error in a form that crosses the pipe."""
    if isinstance(error, HeadgateError):
        return Failure(type(error).__name__, error.what, error.why, error.fix)
    if isinstance(error, RecursionError):
        return Failure("BadRequest", "The filter is nested too deeply")
    return Failure("", "".join(traceback.format_exception(error)))


@lru_cache(OPEN_FILES_MAX)
def open_files(factory: bytes) -> OpenFiles:
    """The same store for the same settings, so that its connections are used again."""
    files: OpenFiles = pickle.loads(factory)()  # noqa: S301  the server's own words
    return files


if __name__ == "__main__":
    main()
