"""Jobs of a server that a program goes through: what becomes of each, whatever others do."""

from typing import Any, cast

import msgspec
import pytest

from headgate.errors import Conflict, Forbidden, HeadgateError, JobNotFound, StorageUnavailable
from headgate.pipelines import purge
from headgate.pipelines.purge import SMALL, TAKEN, WAITS, PurgeOptions, PurgeSummary
from headgate.pipelines.purge_work import PATH, ClaimedJob
from headgate.pipelines.reporting import Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions
from headgate.purge.job_states import State
from headgate.purge.orders import Order
from headgate.purge.sizing import Sizes
from headgate.storage.options import StorageOptions

DONE = ClaimedJob("token", 60.0, Order(state=State.SUCCEEDED), storage=StorageOptions())
UNREADABLE = StorageUnavailable("no bucket")
ALL = PurgeOptions()


class Jobs:
    """A server with jobs 1, 2 and so on: how many files each has, and what a claim is answered."""

    def __init__(self, *jobs: tuple[int | HeadgateError, ClaimedJob | HeadgateError]) -> None:
        self.claimed: list[str] = []
        self._jobs = {str(number): job for number, job in enumerate(jobs, 1)}

    def get(self, path: str, **query: str) -> Any:
        """A page of one job, a job, or its size."""
        if path == PATH:
            id = query.get("page-token", "1")
            more = str(int(id) + 1) if str(int(id) + 1) in self._jobs else None
            return {"jobs": [self._job(id)], "next-page-token": more}
        id, _, rest = path.removeprefix(f"{PATH}/").partition("/")
        if not rest:
            return self._job(id)
        if id not in self._jobs:
            raise JobNotFound(f"no job {id}")
        files = self._jobs[id][0]
        if isinstance(files, HeadgateError):
            raise files
        return msgspec.to_builtins(Sizes(files))

    def post(self, path: str) -> Any:
        """A claim."""
        id = path.removeprefix(f"{PATH}/").removesuffix("/claim")
        self.claimed.append(id)
        answer = self._jobs[id][1]
        if isinstance(answer, HeadgateError):
            raise answer
        return msgspec.to_builtins(answer)

    def _job(self, id: str) -> dict[str, Any]:
        return {"id": id, "catalog": "main", "table": ["a", f"t{id}"], "state": State.PENDING}


class Idle:
    """A driver that has nothing to do."""

    async def run(self, *_: object) -> bytes:
        return b""

    async def close(self) -> None:
        pass


def states(server: Jobs, options: PurgeOptions = ALL) -> dict[str, str]:
    """What became of each job."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(purge, "driver_pool", lambda _: Idle())
        report = Report(is_quiet=True)
        summary = purge.run(options, cast("Server", server), SparkOptions(), report)
    assert isinstance(summary, PurgeSummary)
    return {one.job: one.state for one in summary.jobs}


def test_all_jobs_of_all_pages_are_done() -> None:
    """One after the other."""
    server = Jobs((3, DONE), (4, DONE), (5, DONE))

    assert states(server) == dict.fromkeys("123", State.SUCCEEDED)
    assert server.claimed == ["1", "2", "3"]


def test_jobs_that_others_did_or_do_keep_nobody_from_the_rest() -> None:
    """A server works on them too: one may be taken, or over, since it was listed."""
    taken, over = Conflict("no", why="somebody has it"), JobNotFound("no job 2")

    assert states(Jobs((3, taken), (3, over), (3, DONE))) == {
        "1": TAKEN,
        "2": TAKEN,
        "3": State.SUCCEEDED,
    }


def test_a_store_that_does_not_answer_keeps_nobody_from_the_rest() -> None:
    """Its job says why when it is done."""
    assert states(Jobs((UNREADABLE, DONE), (3, DONE))) == dict.fromkeys("12", State.SUCCEEDED)


def test_small_tables_and_dry_runs_claim_nothing() -> None:
    """Nor does what cannot be counted, if so many files are asked for."""
    server = Jobs((3, DONE), (UNREADABLE, DONE))

    assert states(server, PurgeOptions(min_files=4)) == {"1": SMALL, "2": SMALL}
    assert states(server, PurgeOptions(dry_run=True)) == {"1": WAITS, "2": WAITS}
    assert server.claimed == []


@pytest.mark.parametrize("dry_run", [False, True])
def test_who_may_not_purge_is_told_so(dry_run: bool) -> None:
    """Others see no jobs, which looks as if none were there."""

    class Refusing(Jobs):
        def get(self, path: str, **query: str) -> Any:
            if path.endswith("/files"):
                raise Forbidden("No right")
            assert not query, "nothing else is asked"

    with pytest.raises(Forbidden, match=r"only service admins may.* Run the pipeline as one of"):
        states(Refusing(), PurgeOptions(dry_run=dry_run))


def test_what_is_no_id_of_a_job_asks_for_nothing_else() -> None:
    """A path in it would lead elsewhere on the server."""
    asked: list[str] = []

    class Elsewhere(Jobs):
        def get(self, path: str, **_: str) -> Any:
            asked.append(path)
            if path == f"{PATH}/0/files":  # to know whether it may
                asked.clear()
            raise JobNotFound("no such job")

    with pytest.raises(JobNotFound):
        states(Elsewhere(), PurgeOptions(job="../../x?y", dry_run=True))
    assert asked == [f"{PATH}/..%2F..%2Fx%3Fy"]
