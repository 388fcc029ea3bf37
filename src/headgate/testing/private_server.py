"""A server of one's own: on a free port, gone afterwards."""

import random
import socket
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

PORTS = range(20_000, 32_000)  # below the ports that the system hands out to clients


class PrivateServer(ABC):
    """Started by `with` and ready then; removed at its end, and if it cannot be started."""

    @abstractmethod
    def start(self) -> None:
        """Start it; ready when this returns."""

    @abstractmethod
    def remove(self) -> None:
        """Stop it, if it runs, and delete all it has."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


def free_port() -> int:
    """A port that nobody listens on."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
