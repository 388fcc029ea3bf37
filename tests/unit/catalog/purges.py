"""The purge machinery of a node in tests: all is real but the processes that delete."""

from headgate.catalog.events import EventBus
from headgate.catalog.ports import Storage
from headgate.kernel.kernel import Kernel
from headgate.purge.claims import Claims
from headgate.purge.deleter import Deleting
from headgate.purge.jobs import JobTerms
from headgate.purge.queue import Queue
from headgate.purge.running import Runner
from headgate.purge.stages import Children, Stages
from headgate.purge.workers import Workers
from tests.unit.catalog.walking import Unrelated, Walker, WalkingDeleter

TERMS = JobTerms()
MIDDLE = 0.5  # of what is left to chance


def purge_workers(
    kernel: Kernel,
    storage: Storage,
    planner: Walker,
    events: EventBus,
    terms: JobTerms = TERMS,
    deleter: Deleting | None = None,
) -> Workers:
    """Workers that look for jobs when they are woken."""
    deleter = deleter or WalkingDeleter(planner, storage, kernel.clock)
    stages = Stages(kernel, Queue(kernel), storage, Children(deleter, Unrelated()), terms)
    claims = Claims(kernel, terms, events.server)
    return Workers(Runner(stages, events, lambda: MIDDLE), claims, lambda: MIDDLE)
