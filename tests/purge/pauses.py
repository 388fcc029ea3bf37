"""Children that are held up in the middle of their work."""

import asyncio
import itertools
import threading


class Pause:
    """Holds a child up before a file, until it is let go."""

    def __init__(self, after: int) -> None:
        self._files = itertools.count()
        self._after = after
        self._began, self._over = threading.Event(), threading.Event()

    def __call__(self) -> None:
        if next(self._files) == self._after:
            self._began.set()
            self._over.wait()

    async def began(self) -> None:
        await asyncio.to_thread(self._began.wait)

    def end(self) -> None:
        self._over.set()
