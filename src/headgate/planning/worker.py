"""A worker process that reads manifests."""

import sys
from collections.abc import Callable, Iterator

from headgate.limits import FILTER_RECURSION_MAX
from headgate.planning.files import open_files
from headgate.planning.scan import fetch_plan, fetch_tasks, plan
from headgate.workers.serving import Job, live


def on_files(work: Callable[..., Iterator[bytes]]) -> Job:
    """A job whose first argument says how files are opened."""
    return lambda files, *arguments: work(open_files(files), *arguments)


JOBS: dict[bytes, Job] = {
    b"plan": on_files(plan),
    b"fetch-plan": on_files(fetch_plan),
    b"fetch-tasks": on_files(fetch_tasks),
}


if __name__ == "__main__":
    sys.setrecursionlimit(FILTER_RECURSION_MAX)
    live(JOBS)
