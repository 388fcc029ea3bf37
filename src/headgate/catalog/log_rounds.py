"""Old commits are cut from the logs of all pointers: any node does it, a little every hour.

A commit is cut when the one that followed it is older than the retention. So the current commit
never is, nor one that was current a day ago: whoever has read a pointer, or looks for a commit
whose answer was lost, finds what it needs. The oldest are deleted first, twenty at a time, and the
next twenty when these are gone: a round that is broken off leaves a log that begins later, and the
next round goes on with it. Pages and other objects are not touched. No fence is needed: what is cut
lies before a commit that a pointer led to, and pointers never move back.
"""

import logging
from array import array
from collections.abc import Callable, Collection

from headgate.errors import HeadgateError, Unavailable
from headgate.ids import time_ms
from headgate.kernel.head import Head
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import expect
from headgate.kernel.records import EMPTY, PointerKey
from headgate.limits import LOG_MARKS, LOG_PAUSE_SECONDS, LOG_ROUND_SECONDS

DAY_MS = 24 * 60 * 60 * 1000
_PARTS = 1_000

logger = logging.getLogger(__name__)


class Marks:
    """Commits of one pointer with some time between them, from which a walk back may begin.

    Without them each round would walk through all that is kept.
    """

    def __init__(self, apart_ms: int) -> None:
        self._apart_ms = apart_ms
        self._ids = array("Q")  # oldest first
        self.begin: int = EMPTY
        """The commit that the log begins with since the last round."""

    def start(self, current: int, before_ms: int) -> int:
        """The oldest known commit that is not older than this; the current one if none is known."""
        self._ids = array("Q", (id for id in self._ids if time_ms(id) >= before_ms))
        if not self._ids or time_ms(current) - time_ms(self._ids[-1]) >= self._apart_ms:
            self._ids.append(current)
        return self._ids[0]

    def pass_by(self, id: int) -> None:
        """Note a commit on the way back."""
        if time_ms(self._ids[0]) - time_ms(id) >= self._apart_ms:
            self._ids.insert(0, id)


class LogRounds:
    """Cuts the logs of all realms."""

    def __init__(self, kernel: Kernel, retention_days: int) -> None:
        self._kernel = kernel
        self._retention_ms = retention_days * DAY_MS
        self._marks: dict[PointerKey, Marks] = {}
        self.commits_cut = 0

    async def make_for_ever(self, entropy: Callable[[], int]) -> None:
        """Cut now and then; servers that start together do not do it together."""
        share = entropy() % _PARTS / _PARTS
        while True:
            await self._kernel.clock.sleep(LOG_ROUND_SECONDS * share)
            try:
                await self.make_one()
            except Exception as error:  # whatever it is, it is tried again
                unexpected = not isinstance(error, HeadgateError)
                logger.warning("cutting old commits failed: %s", error, exc_info=unexpected)
            share = 1.0

    async def make_one(self) -> None:
        """Cut what is too old by now."""
        if not self._retention_ms:
            return
        now_ms = time_ms(self._kernel.ids.next())  # no id is made by a clock that is not trusted
        before_ms = now_ms - self._retention_ms
        keys = await self._kernel.log.pointers()
        apart_ms = self._retention_ms // LOG_MARKS
        self._marks = {key: self._marks.get(key) or Marks(apart_ms) for key in keys}
        for key in keys:
            try:
                await self._cut(key, self._marks[key], before_ms)
            except Unavailable:
                raise  # so are the others
            except HeadgateError as error:
                logger.warning("old commits of %s are not cut: %s", key, error)

    async def _cut(self, key: PointerKey, marks: Marks, before_ms: int) -> None:
        [current] = await self._kernel.pointers.read([key])
        if not current:
            return  # its realm was purged a moment ago
        begin = await self._new_begin(key, marks, current, before_ms)
        if begin not in {EMPTY, marks.begin}:
            await self._cut_before(key.realm, begin)
            marks.begin = begin

    async def _new_begin(self, key: PointerKey, marks: Marks, current: int, before_ms: int) -> int:
        """The newest commit that is older than this; EMPTY if none is."""
        id = marks.start(current, before_ms)
        if time_ms(id) < before_ms:
            return id
        while head := (await self._heads(key.realm, [id])).get(id):
            for older in head.tail:
                if time_ms(older) < before_ms:
                    return older
            if not head.tail:
                break
            id = head.tail[-1]
            marks.pass_by(id)
        return EMPTY

    async def _cut_before(self, realm: str, begin: int) -> None:
        """Delete all commits before this one, the oldest first."""
        steps, id = array("Q"), begin  # one in twenty commits: the others are in its tail
        while head := (await self._heads(realm, [id])).get(id):
            steps.append(id)
            if not head.tail:
                break
            id = head.tail[-1]
        for step in reversed(steps):
            found = await self._heads(realm, [step])
            if step in found:  # else another node was faster
                await self._delete(realm, found[step].tail[::-1])

    async def _delete(self, realm: str, ids: Collection[int]) -> None:
        """Delete commits, and what did not fit into them: only they lead there."""
        heads = await self._heads(realm, ids)
        kept = [id for id in ids if id in heads]
        spilled = [heads[id].spilled for id in kept if heads[id].spilled]
        for gone in (kept, spilled):  # commits first: one that is there is whole
            if gone:
                await self._kernel.store.delete(realm, gone)
        self.commits_cut += len(kept)

    async def _heads(self, realm: str, ids: Collection[int]) -> dict[int, Head]:
        """These commits, if they are kept; slowly, and not at the cost of what others need."""
        store = self._kernel.store
        unknown = [id for id in ids if store.find(realm, id) is None]
        found = await store.fetch(realm, ids)
        store.forget(realm, unknown)
        await self._kernel.clock.sleep(LOG_PAUSE_SECONDS)
        return {id: expect(value, Head, id) for id, value in found.items()}
