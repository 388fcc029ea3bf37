"""How far a pipeline is, on standard error: a bar on a terminal, elsewhere a line now and then."""

import contextlib
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO

import msgspec

from headgate.amounts import duration, size
from headgate.clock import Clock, SystemClock
from headgate.pipelines.bounds import REPORT_BAR_SECONDS, REPORT_LINE_SECONDS

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

BAR_CHARS = 24
GUESSED_SHARE_MAX = 0.99  # nobody knows whether that was all
ERASE_LINE = "\r\x1b[K"

Show = Callable[[msgspec.Struct], None]


class Stage:
    """One step of a pipeline, and how far it is. Any thread may tell."""

    def __init__(self, name: str, total: int | None, clock: Clock) -> None:
        self.name = name
        self.total = total
        self.is_guess = False
        """Whether the total is only about right."""
        self.files = self.rows = self.bytes = 0
        self.tasks: tuple[int, int] | None = None
        """Of Spark: how many have ended, of how many."""
        self._clock = clock
        self._began = clock.seconds()
        self._lock = threading.Lock()

    def advance(self, *, files: int = 0, rows: int = 0, bytes: int = 0) -> None:
        """So much more is done."""
        with self._lock:
            self.files += files
            self.rows += rows
            self.bytes += bytes

    def expect(self, total: int, *, is_guess: bool = False) -> None:
        """There will be so many files or rows."""
        self.total, self.is_guess = total, is_guess

    @property
    def seconds(self) -> float:
        """Since it began."""
        return max(self._clock.seconds() - self._began, 0.001)

    def line(self, width: int = 0) -> str:
        """How far it is; with a width a bar is in it, and it is no longer than that."""
        words = [self.name]
        done = self.files or self.rows
        if self.total:
            share = min(done / self.total, GUESSED_SHARE_MAX if self.is_guess else 1.0)
            if width:
                full = int(share * BAR_CHARS)
                words.append(f"[{'#' * full}{'.' * (BAR_CHARS - full)}]")
            words.append(f"{share:4.0%}")
        about = "about " if self.is_guess else ""
        words += self._amounts(of=f" of {about}{self.total:,}" if self.total else "")
        if self.tasks:
            words.append("{:,} of {:,} tasks".format(*self.tasks))
        words.append(duration(int(self.seconds * 1000)))
        text = "  ".join(words)
        return text[: width - 1] if width else text

    def _amounts(self, of: str) -> Iterator[str]:
        if self.files:
            yield f"{self.files:,}{of} files"
        if self.rows:
            yield f"{self.rows:,}{'' if self.files else of} rows"
        if self.bytes:
            yield size(self.bytes)
        if self.files or self.rows:
            unit = "files" if self.files else "rows"
            yield f"{(self.files or self.rows) / self.seconds:,.0f} {unit}/s"


class Report:
    """What one run of a pipeline tells. `is_quiet` leaves nothing but errors and the end."""

    def __init__(
        self,
        *,
        is_quiet: bool = False,
        show: Show | None = None,
        stream: TextIO | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.summary: msgspec.Struct | None = None
        self._is_quiet = is_quiet
        self._show = show
        self._given = stream
        self._clock = clock or SystemClock()

    @contextlib.contextmanager
    def stage(
        self,
        name: str,
        total: int | None = None,
        spark: "SparkSession | None" = None,
        *,
        is_announced: bool = False,
    ) -> Iterator[Stage]:
        """A step; with a session, the tasks that this thread starts on Spark are shown too. One
        that nobody expects is announced: where there is no bar, a line says that it begins."""
        if is_announced and not self._is_drawn:
            self.say(f"{name}…")
        stage = Stage(name, total, self._clock)
        context = _context(spark)
        if context is not None:
            context.setJobGroup(name, name, interruptOnCancel=True)
        ended = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(stage, context, ended), daemon=True)
        if not self._is_quiet:
            ticker.start()
        try:
            yield stage
        except BaseException:
            self._end(stage, ticker, ended, "failed after ")
            raise
        self._end(stage, ticker, ended, "")

    def end(self, summary: msgspec.Struct) -> None:
        """All is done; this is what came of it."""
        self.summary = summary
        if self._show is not None:
            self._show(summary)

    def say(self, line: str) -> None:
        """One line, unless nobody wants to read it."""
        if not self._is_quiet:
            self._write(f"{ERASE_LINE if self._is_drawn else ''}{line}\n")

    @property
    def _stream(self) -> TextIO:
        """Standard error as it is now: after an interruption nobody is told anything more."""
        return self._given or sys.stderr

    @property
    def _is_drawn(self) -> bool:
        return self._stream.isatty()

    def _tick(self, stage: Stage, context: "SparkContext | None", ended: threading.Event) -> None:
        """Until the stage has ended, tell how far it is."""
        seconds = REPORT_BAR_SECONDS if self._is_drawn else REPORT_LINE_SECONDS
        while not ended.wait(seconds):
            if context is not None:
                stage.tasks = tasks(context, stage.name)
            if self._is_drawn:
                width = shutil.get_terminal_size().columns
                self._write(f"{ERASE_LINE}{stage.line(width)}")
            else:
                self._write(f"{stage.line()}\n")

    def _end(
        self, stage: Stage, ticker: threading.Thread, ended: threading.Event, how: str
    ) -> None:
        ended.set()
        if ticker.ident is not None:
            ticker.join()
        stage.tasks = None
        *words, time = stage.line().split("  ")
        self.say("  ".join((*words, f"{how}{time}")))

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            self._stream.write(text)
            self._stream.flush()


QUIET = Report(is_quiet=True)
"""For who wants to hear nothing."""


def _context(spark: "SparkSession | None") -> "SparkContext | None":
    """What can be asked about tasks; Spark Connect has none."""
    if spark is None or type(spark).__module__.startswith("pyspark.sql.connect"):
        return None
    return spark.sparkContext


def tasks(context: "SparkContext", group: str) -> tuple[int, int] | None:
    """How many tasks of a group have ended, of how many; None if there are none yet."""
    ended = all_of = 0
    with contextlib.suppress(Exception):  # Spark may be stopping; this is only to look at
        tracker = context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = {stage for job in jobs if job for stage in job.stageIds}
        for info in map(tracker.getStageInfo, stages):
            if info is not None:
                ended += info.numCompletedTasks
                all_of += info.numTasks
    return (ended, all_of) if all_of else None
