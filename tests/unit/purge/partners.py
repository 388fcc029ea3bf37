"""Purgers of third parties for tests: some work, some break in each way there is."""

import asyncio
import threading
from collections.abc import Mapping

from headgate.purge.purgers import Answer, PurgerContext, PurgeRequest


class Plain:
    """Works in a thread, and remembers what it is told."""

    name = "plain"

    def __init__(self) -> None:
        self.properties: Mapping[str, str] = {}
        self.requests: list[PurgeRequest] = []
        self.read: list[bytes] = []
        self.threads: list[int] = []
        self.is_closed = False

    def initialize(self, properties: Mapping[str, str], context: PurgerContext) -> Answer:
        self.properties = properties
        self.context = context
        self.threads.append(threading.get_ident())
        return None

    def purge_table(self, request: PurgeRequest) -> Answer:
        self.requests.append(request)
        self.threads.append(threading.get_ident())
        self.read.append(self.context.wait(request.metadata()))
        return None

    def close(self) -> Answer:
        self.is_closed = True
        return None


class Coroutines(Plain):
    """Works on the event loop."""

    name = "coroutines"

    async def initialize(self, properties: Mapping[str, str], context: PurgerContext) -> None:
        super().initialize(properties, context)

    async def purge_table(self, request: PurgeRequest) -> None:
        self.requests.append(request)
        self.threads.append(threading.get_ident())
        self.read.append(await self.context.files(request).read(request.metadata_location))

    async def close(self) -> None:
        super().close()


class Promising(Plain):
    """A plain method that answers with something to wait for."""

    name = "promising"

    def purge_table(self, request: PurgeRequest) -> Answer:
        return self._later(request)

    async def _later(self, request: PurgeRequest) -> None:
        self.requests.append(request)


class Failing(Plain):
    """Raises what it is told to."""

    name = "failing"
    error: BaseException = RuntimeError("no\nway")

    def purge_table(self, request: PurgeRequest) -> Answer:
        raise self.error

    def close(self) -> None:
        super().close()
        raise self.error


class FailingOnTheLoop(Failing):
    """The same as a coroutine."""

    name = "failing-on-the-loop"

    async def purge_table(self, request: PurgeRequest) -> None:
        raise self.error


class Cancelling(Plain):
    """Ends the task that it runs in."""

    name = "cancelling"

    async def purge_table(self, request: PurgeRequest) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)


class Stuck(Plain):
    """Comes to no end until it is told to."""

    name = "stuck"

    def __init__(self) -> None:
        super().__init__()
        self.began, self.go_on = threading.Event(), threading.Event()

    def purge_table(self, request: PurgeRequest) -> None:
        self.began.set()
        self.go_on.wait()
        self.requests.append(request)


class Waiting(Plain):
    """A coroutine that waits as if it were in a thread."""

    name = "waiting"

    async def purge_table(self, request: PurgeRequest) -> None:
        self.context.wait(asyncio.sleep(0))


class NotInitialized(Plain):
    """Its properties are never good enough."""

    name = "not-initialized"

    def initialize(self, properties: Mapping[str, str], context: PurgerContext) -> None:
        raise ValueError("file is\nmissing")


class NotMade(Plain):
    """Wants an argument that nobody has."""

    name = "not-made"

    def __init__(self, file: str) -> None:
        raise NotImplementedError(file)


class WithoutMethods:
    """Has a name, and can nothing."""

    name = "without-methods"
    close = "a text"

    def initialize(self, properties: Mapping[str, str], context: PurgerContext) -> None: ...


class Nameless(Plain):
    """Says of itself what cannot be a name."""

    name = "No Name"


class Pretender(Plain):
    """Takes the name of another."""

    name = "async"


NO_CLASS = 5
