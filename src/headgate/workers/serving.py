"""The life of a worker process: reads jobs from its standard input until the server closes it, or
is gone."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import BinaryIO

import msgspec

from headgate.errors import HeadgateError
from headgate.workers.allowance import Allowance
from headgate.workers.frames import END, FAILED, ITEM, Failure, read_request, write_answer

NICE = 5  # where cores are few, the server's answers come first

STANDARD = Allowance()

Job = Callable[..., Iterator[bytes]]


def live(
    jobs: Mapping[bytes, Job],
    is_over: Callable[[], bool] = lambda: False,
    allowance: Allowance | None = STANDARD,
) -> None:
    """Do jobs for the server that started this process, until it is over. Without an allowance
    nothing is limited: what such a process starts itself needs more."""
    if allowance:
        allowance.begin()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    os.nice(NICE)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    renew = allowance.renew if allowance else _do_nothing
    serve(jobs, sys.stdin.buffer, answers, is_over, renew)


def _do_nothing() -> None:
    pass


def serve(
    jobs: Mapping[bytes, Job],
    requests: BinaryIO,
    answers: BinaryIO,
    is_over: Callable[[], bool] = lambda: False,
    renew: Callable[[], None] = _do_nothing,
) -> None:
    """Answer requests until there are no more, or nobody reads the answers, or it is over. What
    comes next has its time anew (`renew`) whenever there is something new to answer."""
    with suppress(BrokenPipeError):
        while not is_over() and _serve_one(jobs, requests, answers, renew):
            pass  # nothing of a request is left in memory when the next one is read


def _serve_one(
    jobs: Mapping[bytes, Job], requests: BinaryIO, answers: BinaryIO, renew: Callable[[], None]
) -> bool:
    """Answer the next request; False if there is none."""
    request = read_request(requests)
    if request is None:
        return False
    job, *arguments = request
    last = None
    renew()
    try:
        for item in jobs[job](*arguments):
            write_answer(answers, ITEM, item)
            if item != last:  # a sign of life is the same as before, and no progress
                renew()
            last = item
        write_answer(answers, END)
    except Exception as error:  # noqa: BLE001  every failure is answered
        write_answer(answers, FAILED, msgspec.msgpack.encode(failure(error)))
    return True


def failure(error: Exception) -> Failure:
    """An error in a form that crosses the pipe."""
    if isinstance(error, HeadgateError):
        return Failure(type(error).__name__, error.what, error.why, error.fix)
    if isinstance(error, MemoryError):
        return Failure(
            "TooLarge",
            "The request cannot be answered",
            "what it is about takes more memory than one request may have",
            "Ask for less; if it is about a table, rewrite its manifests or expire snapshots",
        )
    if isinstance(error, RecursionError):
        return Failure("BadRequest", "The request is nested too deeply")
    return Failure("", "".join(traceback.format_exception(error)))
