"""What the attempts of one batch work with: on the event loop, or for a large one in a thread.

A thread shares nothing with the event loop that either of them changes: it only looks into the
cache, decodes roots for itself, and is given ids that the event loop has made.
"""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future

from headgate.ids import Ids
from headgate.kernel.assemble import Assembled, assemble
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView, PageShelf
from headgate.kernel.store import Store
from headgate.limits import COMMIT_TIMEOUT_SECONDS

LOANED_IDS = 256


class Workbench:
    """Makes drafts for the tries of one batch, and assembles them."""

    def __init__(self, store: Store, ids: Ids, realm: str, *, in_thread: bool) -> None:
        self.shelf = PageShelf(store, realm, in_thread=in_thread)  # kept over all tries: progress
        self._types = store.types
        self._ids = ids
        self._in_thread = in_thread

    def draft(self, base: HeadView, now_ms: int) -> Draft:
        """A draft on this head."""
        if not self._in_thread:
            return Draft(base, self.shelf, self._ids, self._types, now_ms)
        ids = LoanedIds(self._ids)
        return Draft(base.for_thread(), self.shelf, ids, self._types, now_ms)

    async def assemble(self, draft: Draft) -> Assembled:
        """The objects to store for this draft."""
        if not self._in_thread:
            return assemble(draft, self._types, self._ids)
        ids = LoanedIds(self._ids)  # made now: the head is not to be older than it has to
        return await asyncio.to_thread(assemble, draft, self._types, ids)


class LoanedIds:
    """Ids for one thread, made by the event loop some at a time: generators and clocks are used by
    one thread only. They increase, as those of the generator do."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._loop = asyncio.get_running_loop()
        self._home = threading.get_ident()
        self._made: deque[int] = deque()

    def next(self) -> int:
        """A new id."""
        if not self._made:
            self._borrow()
        return self._made.popleft()

    def pair(self) -> tuple[int, int]:
        """Two new ids that were made together: with no other id of this node between them."""
        if len(self._made) == 1:
            self._made.clear()
        return self.next(), self.next()

    def _borrow(self) -> None:
        """Have some made; an error of the generator is raised here."""
        made: Future[list[int]] = Future()
        if threading.get_ident() == self._home:
            self._make(made)
        else:
            self._loop.call_soon_threadsafe(self._make, made)
        self._made.extend(made.result(COMMIT_TIMEOUT_SECONDS))

    def _make(self, made: "Future[list[int]]") -> None:
        try:
            made.set_result([self._ids.next() for _ in range(LOANED_IDS)])
        except BaseException as error:  # noqa: BLE001  raised where the ids are needed
            made.set_exception(error)
