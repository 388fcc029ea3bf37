"""The wall clock of a child process in the hands of a test, by libfaketime."""

import os
from pathlib import Path

LIBRARIES = (
    "/usr/lib/*/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
)
SLEEPS = """import select
import time

time.sleep = lambda seconds: select.select([], [], [], seconds)
"""
"""Python reads this when it starts: libfaketime breaks sleeping until a time of the stopwatch."""


class FakeTime:
    """A wall clock that is off by some seconds; stopwatches are as they are.

    All that a process needs to have it is in `variables`, its environment. It can be set while the
    process runs.
    """

    def __init__(self, folder: Path, seconds: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sitecustomize.py").write_text(SLEEPS)
        self._file = folder / "offset"
        self.variables = {
            "LD_PRELOAD": str(find_library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.getenv("PYTHONPATH")])),
        }
        self.set(seconds)

    def set(self, seconds: int) -> None:
        """Let the clock be off by this much, from its next reading on."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}s")
        new.replace(self._file)  # at no time is there half a number


def find_library() -> Path:
    """Where libfaketime is."""
    found = [path for pattern in LIBRARIES for path in Path("/").glob(pattern[1:])]
    if not found:
        raise RuntimeError(
            "libfaketime was not found: install it (Debian: apt-get install libfaketime)"
        )
    return found[0]
