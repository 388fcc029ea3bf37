"""What drops know of purging: on which terms, and to whom a job is handed."""

import asyncio

from headgate.catalog.purging import LiveJob, PurgeTerms
from headgate.errors import HeadgateError, PurgeUnfinished
from headgate.purge.job_states import State
from headgate.purge.workers import Workers

ASYNC = "async"
AT_LEISURE = frozenset({ASYNC, "spark"})
"""Purgers that nobody waits for."""


class PurgeService:
    """Hands jobs to the workers of this process."""

    def __init__(self, workers: Workers, terms: PurgeTerms) -> None:
        self.terms = terms
        self._workers = workers

    async def hand_over(self, live: LiveJob) -> None:
        """Begin with a job. Most purgers are waited for: `PurgeUnfinished` if they fail.

        Then the table is dropped all the same, and the job is tried again like any other.
        """
        if live.job.not_before_ms:
            return  # nobody may begin with it yet
        if live.job.purger in AT_LEISURE:
            self._workers.wake(live)
            return
        try:
            row = await asyncio.shield(self._workers.run_now(live))
        except HeadgateError as error:
            raise _unfinished(live, str(error)) from error
        if row is None:
            raise _unfinished(live, "another server works on it")
        if row.state != State.SUCCEEDED:
            raise _unfinished(live, row.error)

    def wake(self) -> None:
        """Look for jobs that are due."""
        self._workers.wake()


def _unfinished(live: LiveJob, why: str) -> PurgeUnfinished:
    return PurgeUnfinished(
        f"Table {live.job.table} is dropped, but not all of its files are deleted",
        why=why,
        fix=f"They will be, as job {live.id}: `headgate jobs show {live.id}` tells how far it is",
    )
