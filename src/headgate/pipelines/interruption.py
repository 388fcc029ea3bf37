"""SIGINT and SIGTERM while a pipeline runs: all of it ends soon, and says nothing meanwhile."""

import atexit
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headgate.pipelines.bounds import INTERRUPTED_SECONDS_MAX
from headgate.pipelines.machine import end_machine
from headgate.pipelines.signals import listen

LINE = "headgate: interrupted\n"
FAILED = 1


class Interruption:
    """One run that may be interrupted."""

    def __init__(self) -> None:
        self.has_come = False
        self.is_over = threading.Event()
        """It was unwound, and whoever called it says what happened."""

    def come(self) -> None:
        """End it. Spark goes first: whoever waits for its answers would wait for long."""
        if self.has_come:  # it ends already, and that does not take long
            return
        self.has_come = True
        atexit.register(_exit)
        be_silent()
        threading.Thread(target=self._end, name="interruption", daemon=True).start()
        raise KeyboardInterrupt

    def _end(self) -> None:
        """End Spark, and also a process that has something else to wait for."""
        end_machine()
        if not self.is_over.wait(INTERRUPTED_SECONDS_MAX):
            end_machine()  # another one, of who did not hear of the interruption
            os.write(2, LINE.encode())
            os._exit(FAILED)


@contextmanager
def interruptible() -> Iterator[None]:
    """Whatever the signals break off ends as KeyboardInterrupt, without its Spark."""
    if threading.current_thread() is not threading.main_thread():
        yield  # nobody else hears signals
        return
    run, stderr = Interruption(), sys.stderr
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    listen(run.come, *before)
    try:
        yield
    except BaseException:
        if run.has_come:  # what it was seen as, where it came, tells nobody anything
            raise KeyboardInterrupt from None
        raise
    finally:
        if run.has_come:  # the process ends; signals that come now change nothing
            end_machine()
            run.is_over.set()
            sys.stderr = stderr
        else:
            for one, handler in before.items():
                signal.signal(one, handler)


def _exit() -> None:
    """With our code: Python ends with another one if the interruption met certain imports."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(FAILED)


def be_silent() -> None:
    """All that is said from now on is about connections to a Spark that is not there any more."""
    logging.disable()
    sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the end
    threading.excepthook = lambda _: None
    sys.unraisablehook = lambda _: None
