"""Whether tables of other catalogs need some files, for callers who cannot wait until it is known:
to read the tables of all catalogs for the first time takes as long as it takes."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from headgate.errors import Overloaded, StorageAwaited, StorageUnavailable
from headgate.kernel.records import PointerKey
from headgate.limits import ENQUIRIES_MAX, ENQUIRIES_PER_PRINCIPAL_MAX, ENQUIRY_SECONDS
from headgate.purge.referrers import Referrers

STALE_MAX = 20
"""That tables may change in a row while they are read."""


class _Question(NamedTuple):
    own: PointerKey
    paths: tuple[str, ...]
    principal: str
    """No principal waits for the question of another one: that one may have to wait for its turn.
    """


class Enquiries:
    """Goes on with a question when nobody waits any more: what it finds out is remembered, so
    whoever asks again is answered sooner. Answers are not kept, as they may be different then."""

    def __init__(self, referrers: Referrers) -> None:
        self._referrers = referrers
        self._under_way: dict[_Question, asyncio.Task[list[str]]] = {}

    async def elsewhere(
        self, own: PointerKey, paths: Sequence[str], principal: str
    ) -> list[str] | None:
        """Those of these files of a catalog, given by its head, that tables of others refer to;
        None if that takes longer than one can wait. Overloaded if too many questions are under way,
        or too many of this principal."""
        task = self._task(_Question(own, tuple(paths), principal))
        done, _ = await asyncio.wait([task], timeout=ENQUIRY_SECONDS)
        return task.result() if done else None

    async def close(self) -> None:
        """Answer nobody any more."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _task(self, question: _Question) -> asyncio.Task[list[str]]:
        known = self._under_way.get(question)
        if known is not None:
            return known
        if len(self._under_way) >= ENQUIRIES_MAX:
            raise _too_many(f"{ENQUIRIES_MAX} are answered at a time")
        own = sum(one.principal == question.principal for one in self._under_way)
        if own >= ENQUIRIES_PER_PRINCIPAL_MAX:
            raise _too_many(f"{ENQUIRIES_PER_PRINCIPAL_MAX} of one user are answered at a time")
        task = asyncio.create_task(self._answer(*question))
        self._under_way[question] = task
        task.add_done_callback(lambda task: self._ended(question, task))
        return task

    def _ended(self, question: _Question, task: asyncio.Task[list[str]]) -> None:
        del self._under_way[question]
        if not task.cancelled():
            task.exception()  # whoever waits is told; if nobody does, it is not to be logged

    async def _answer(self, own: PointerKey, paths: tuple[str, ...], principal: str) -> list[str]:
        for number in range(STALE_MAX):
            is_lenient = number == STALE_MAX - 1  # nobody stops others by changing without end
            try:
                shared = await self._referrers.elsewhere(
                    own, paths, principal, is_lenient=is_lenient
                )
            except StorageAwaited as error:
                raise _not_known("a storage does not answer in which tables lie") from error
            if not shared.is_stale:
                return shared.paths
        raise _not_known(f"their tables changed {STALE_MAX} times while they were read")


def _too_many(why: str) -> Overloaded:
    what = "Too many questions about files of catalogs are under way"
    return Overloaded(what, why=why, fix="Ask again later")


def _not_known(why: str) -> StorageUnavailable:
    what = "It is not known which files other catalogs need"
    return StorageUnavailable(what, why=why, fix="Ask again")
