"""Purge jobs as programs work on them over HTTP."""

import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headgate.access.rules import WORK_ON_JOBS, Rule
from headgate.errors import Forbidden, HeadgateError
from headgate.http.management.job_work import ROUTES, ClaimedJob, WorkServices, work_surface
from headgate.http.management.jobs import PATH
from headgate.http.request import Request
from headgate.http.router import Match, Router
from headgate.purge.claims import Claims
from headgate.purge.deleter import WORKER, Deleting, Progress
from headgate.purge.inspecting import Inspector
from headgate.purge.job_states import State
from headgate.purge.jobs import JobTerms
from headgate.purge.orders import Order, Report
from headgate.purge.outwork import Outwork
from headgate.purge.queue import Queue
from headgate.purge.running import Runner
from headgate.purge.sizer import Sizer
from headgate.purge.stages import Children, Stages
from headgate.purge.steps import ROOTS
from headgate.storage.options import S3Options, StorageOptions
from headgate.storage.worker_files import WorkerFiles
from headgate.testing.manual_clock import ManualClock
from headgate.workers.pool import WorkerPool
from tests.unit.catalog.lakes import Node
from tests.unit.catalog.walking import Unrelated
from tests.unit.purge.scripted import Purging

SECRET = "hunter2"
STORAGE = StorageOptions(s3=S3Options(secret_access_key=SECRET), local_sync=False)
NOBODY = "nobody"


async def admit(request: Request, rule: Rule) -> None:
    """Refuse one caller."""
    assert rule is WORK_ON_JOBS
    if request.headers.get("authorization") == NOBODY:
        raise Forbidden("Not allowed")


class Program:
    """A program that works on jobs."""

    def __init__(self, services: WorkServices) -> None:
        self.services = services
        self._surface = work_surface(services)
        self._router = Router([self._surface])

    async def ask(
        self, method: str, path: str, body: object = None, user: str = ""
    ) -> tuple[int, bytes]:
        """The status and the body of an answer."""
        match = self._router.match(method, f"{PATH}/{path}")
        assert isinstance(match, Match), path
        raw = b"" if body is None else json.dumps(msgspec.to_builtins(body)).encode()
        headers = {"authorization": user} if user else {}
        request = Request(method, path, match.params, "", headers, raw, id="r-1")
        try:
            await match.authenticate(request)
            answer = await match.route.handler(self._surface.services, request)
        except HeadgateError as error:
            answer = self._surface.dialect.answer(error)
        assert isinstance(answer.body, bytes)
        return answer.status, answer.body


@pytest.fixture
async def purging(node: Node) -> Purging:
    """A node whose own workers do nothing."""
    return Purging(node, JobTerms(worker_threads=0))


@pytest.fixture
async def program(purging: Purging) -> AsyncIterator[Program]:
    node, terms = purging.node, JobTerms()

    children = Children(purging.deleter, Unrelated())
    stages = Stages(node.kernel, Queue(node.kernel), node.storage, children, terms)

    def runner(deleter: Deleting) -> Runner:
        return Runner(stages.with_deleter(deleter), node.events, lambda: 0.5)

    pool = WorkerPool(WORKER)
    outwork = Outwork(Claims(node.kernel, terms, "host:1"), runner, 60.0, lambda: "token")
    sizer = Sizer(pool, partial(WorkerFiles, STORAGE))
    inspector = Inspector(node.kernel)
    yield Program(WorkServices(inspector, outwork, sizer, STORAGE, True, ManualClock(), admit))
    await outwork.close()
    await pool.close()


def decoded(answer: tuple[int, bytes], type: Any) -> Any:
    """The body of a success."""
    status, body = answer
    assert status == 200, body
    return msgspec.json.decode(body, type=type)


async def test_a_job_is_claimed_reported_on_and_ended(purging: Purging, program: Program) -> None:
    """With the claim come the keys to the stores; each answer says what is next."""
    live = await purging.drop()
    claimed = decoded(await program.ask("POST", f"{live.id}/claim"), ClaimedJob)
    leaves = Report(claimed.token, 1, Progress("data", deleted=2), has_ended=True)
    roots = decoded(await program.ask("POST", f"{live.id}/report", leaves), Order)
    last = Report(claimed.token, 2, has_ended=True)
    end = decoded(await program.ask("POST", f"{live.id}/report", last), Order)

    assert claimed.storage == STORAGE
    assert SECRET not in repr(claimed)
    assert claimed.order.task.metadata_location == live.job.metadata_location
    assert roots.task.stage == ROOTS
    assert end == Order(state=State.SUCCEEDED)


@pytest.mark.parametrize("count", [-1, 1 << 64])
async def test_numbers_that_cannot_be_kept_are_refused(
    purging: Purging, program: Program, count: int
) -> None:
    """The job goes on as if nothing had been said."""
    live = await purging.drop()
    claimed = decoded(await program.ask("POST", f"{live.id}/claim"), ClaimedJob)
    wrong = Report(claimed.token, 1, Progress("data", deleted=count))
    status, body = await program.ask("POST", f"{live.id}/report", wrong)
    right = Report(claimed.token, 1, Progress("data", deleted=1))

    assert (status, b"deleted" in body) == (400, True), body
    assert decoded(await program.ask("POST", f"{live.id}/report", right), Order) == Order()


async def test_a_program_gets_the_keys_of_the_moment(
    purging: Purging, program: Program, tmp_path: Path
) -> None:
    """It may be on another machine, where the file is not; without keys it gets no job."""
    live = await purging.drop()
    file = tmp_path / "keys"
    s3 = S3Options(credentials_file=str(file))
    other = Program(program.services._replace(storage=StorageOptions(s3=s3)))
    refused, _ = await other.ask("POST", f"{live.id}/claim")
    file.write_text(f"[default]\naws_access_key_id=id\naws_secret_access_key={SECRET}\n")
    claimed = decoded(await other.ask("POST", f"{live.id}/claim"), ClaimedJob)
    kept = Program(other.services._replace(hands_out_keys=False))

    assert refused == 503
    assert claimed.storage.s3 == S3Options(access_key_id="id", secret_access_key=SECRET)
    assert (await kept.ask("POST", f"{live.id}/claim"))[0] == 403


async def test_keys_stay_where_rights_are_not_checked(purging: Purging, program: Program) -> None:
    """Anybody could claim a job there; without keys there is nothing to keep."""
    live = await purging.drop()
    services = program.services._replace(hands_out_keys=False)
    status, body = await Program(services).ask("POST", f"{live.id}/claim")
    local = services._replace(storage=StorageOptions(local_sync=False))
    claimed = decoded(await Program(local).ask("POST", f"{live.id}/claim"), ClaimedJob)

    assert status == 403
    assert b"purger.spark.hand-out-keys" in body
    assert SECRET.encode() not in body
    assert claimed.order.task.metadata_location == live.job.metadata_location


async def test_a_job_that_has_ended_cannot_be_claimed(purging: Purging, program: Program) -> None:
    """Nor can what somebody else has, or what is not there."""
    live = await purging.drop()
    await program.ask("POST", f"{live.id}/claim")
    taken, _ = await program.ask("POST", f"{live.id}/claim")
    await program.ask("POST", f"{live.id}/report", Report("token", 1, has_ended=True))
    await program.ask("POST", f"{live.id}/report", Report("token", 2, has_ended=True))
    ended, why = await program.ask("POST", f"{live.id}/claim")

    assert (taken, ended) == (409, 409)
    assert b"it has ended and is SUCCEEDED" in why
    assert (await program.ask("POST", "77/claim"))[0] == 404


async def test_the_files_of_a_job_are_counted(purging: Purging, program: Program) -> None:
    """A new table has nothing but its metadata file."""
    live = await purging.drop()
    sizes = decoded(await program.ask("GET", f"{live.id}/files"), dict[str, int])

    assert sizes == {"data": 0, "manifests": 0, "manifest-lists": 0, "other": 1}


@pytest.mark.parametrize(("method", "verb"), [("POST", "claim"), ("GET", "files")])
async def test_only_who_may_works_on_jobs(
    purging: Purging, program: Program, method: str, verb: str
) -> None:
    """All others are handed nothing."""
    live = await purging.drop()
    status, body = await program.ask(method, f"{live.id}/{verb}", user=NOBODY)

    assert status == 403
    assert SECRET.encode() not in body
    assert await purging.row(live) is None


def test_every_route_names_its_rule() -> None:
    """What writes is refused by servers that only read."""
    assert {route.rule for route in ROUTES} == {WORK_ON_JOBS}
    assert [route.writes for route in ROUTES] == [True, True, False]
