"""Processes that share one store and its purges, killed in each way that processes die."""

import os
import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from headgate.testing.headgate_server import HeadgateServer
from headgate.testing.reference_server import free_port
from tests.purge.headgate_worker import HeadgateWorker

HASTY = {
    "lease-timeout-ms": 1_500,
    "poll-interval-ms": 100,
    "backoff-base-ms": 50,
    "backoff-max-ms": 400,
    "worker-threads": 2,
}
"""Of the settings `purger.async.*`: nobody waits for minutes here."""
BACK_MAX_SECONDS = 0.6


class Death(StrEnum):
    """How something dies."""

    POWER = "with all its processes"
    ALONE = "and leaves its processes behind"
    CHILD = "only a process that works for it"


def slow_children(log: Path, seconds: float) -> dict[str, str]:
    """Variables that make children take this long for each file, and log what they delete."""
    return {
        "PYTHONPATH": str(Path(__file__).parent / "slow_children"),
        "UNLINK_LOG": str(log),
        "UNLINK_PAUSE_SECONDS": str(seconds),
    }


def hasty(**changes: int) -> list[str]:
    """Options of a server that purges in a hurry."""
    terms = HASTY | {name.replace("_", "-"): value for name, value in changes.items()}
    return [
        word for name, value in terms.items() for word in ("--set", f"purger.async.{name}={value}")
    ]


class Cluster:
    """A server that clients know, another one, and a process that only works, on one store."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.deaths: Counter[Death] = Counter()
        self._orphans: list[int] = []
        shared = ("--data", str(folder / "data"), *options)
        self.front = HeadgateServer(folder / "front", *shared, port=free_port())
        self._others = [
            HeadgateServer(folder / "other", *shared),
            HeadgateWorker(folder / "worker", *shared),
        ]
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self.front)
        with ThreadPoolExecutor() as pool:
            for node in [pool.submit(self._stack.enter_context, node) for node in self._others]:
                node.result()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for group in self._orphans:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        self._stack.__exit__(kind, error, traceback)

    def strike(self, chance: random.Random) -> None:
        """Something dies, and comes back before long."""
        node, death = chance.choice([self.front, *self._others]), chance.choice(list(Death))
        if death is Death.CHILD and (children := psutil.Process(node.pid).children()):
            with suppress(psutil.NoSuchProcess):
                chance.choice(children).kill()
        elif death is Death.ALONE:
            self._orphans.append(node.kill_alone())
        else:
            death = Death.POWER
            node.kill()
        self.deaths[death] += 1
        if death is not Death.CHILD:
            time.sleep(chance.uniform(0, BACK_MAX_SECONDS))
            node.start()

    def has_orphans(self) -> bool:
        """Whether a process is left that lost its server."""
        return any(map(_is_alive, self._orphans))


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
