"""The signals of a process that drives Spark."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class _Signals:
    """What they lead to."""

    def __init__(self) -> None:
        self.act: Callable[[], None] | None = None
        self.is_held = False
        self.waiting = 0
        """The one that came while they were held."""

    def hear(self, number: int, _frame: FrameType | None) -> None:
        if self.is_held:
            self.waiting = number
        elif self.act is not None:
            self.act()


_signals = _Signals()


def listen(act: Callable[[], None], *numbers: int) -> None:
    """Let these signals lead to that, but not in the middle of what is undivided."""
    _signals.act = act
    for number in numbers:
        signal.signal(number, _signals.hear)


def listen_again() -> None:
    """PySpark takes SIGINT for itself, and then speaks to Spark in the middle of an answer."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) == _signals.hear:
        signal.signal(signal.SIGINT, _signals.hear)


@contextmanager
def undivided() -> Iterator[None]:
    """No signal comes in between: it is heard in the end, by the main thread as ever."""
    _signals.is_held = True
    try:
        yield
    finally:
        _signals.is_held = False
        if _signals.waiting:
            number, _signals.waiting = _signals.waiting, 0
            signal.raise_signal(number)
