"""Purge jobs, for programs that do them: to claim one, to tell how far it is, to know its size.

Only service admins may: whoever deletes files is handed the keys to all stores of the server.
"""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from headgate.access.rules import WORK_ON_JOBS, Rule
from headgate.clock import Clock
from headgate.errors import BadRequest, Conflict, FileMissing, Forbidden, JobNotFound
from headgate.http.management.jobs import PATH
from headgate.http.problems import PLAIN
from headgate.http.request import Request, Response, decode, json_response
from headgate.http.router import Route, Surface
from headgate.purge.inspecting import Inspector, job_id
from headgate.purge.orders import Claimed, Order, Report
from headgate.purge.outwork import Outwork
from headgate.purge.sizer import Sizer
from headgate.purge.sizing import Sizes
from headgate.storage.options import StorageOptions
from headgate.storage.s3_keys import with_present_keys


class WorkServices(NamedTuple):
    """What the handlers work with."""

    inspector: Inspector
    outwork: Outwork
    sizer: Sizer
    storage: StorageOptions
    hands_out_keys: bool
    """Whether who may work on jobs may also have the keys of the stores."""
    clock: Clock
    admit: Callable[[Request, Rule], Awaitable[None]]
    """Refuses who may not."""


class ClaimedJob(Claimed, frozen=True, kw_only=True, rename="kebab"):
    """The same, and how its files are reached."""

    storage: StorageOptions


async def claim_job(services: WorkServices, request: Request) -> Response:
    """Give a job to the caller."""
    await services.admit(request, WORK_ON_JOBS)
    if services.storage.has_secrets and not services.hands_out_keys:
        raise _kept_keys()
    found = await services.inspector.find(job_id(request.params["id"]))
    if found.has_ended:
        raise Conflict(
            f"Job {found.live.id} cannot be claimed",
            why=f"it has ended and is {found.state}",
            fix="Nothing is left to be done",
        )
    storage = with_present_keys(services.storage, services.clock)
    claimed = await services.outwork.claim(found.live)
    told = msgspec.structs.asdict(claimed)
    return json_response(200, ClaimedJob(**told, storage=storage))


async def report_job(services: WorkServices, request: Request) -> Response:
    """Hear how far a job is, and say what is to be done."""
    report = decode(request, Report)
    await services.admit(request, WORK_ON_JOBS)
    return json_response(200, await services.outwork.tell(job_id(request.params["id"]), report))


async def size_job(services: WorkServices, request: Request) -> Response:
    """Count the files of a job."""
    await services.admit(request, WORK_ON_JOBS)
    live = (await services.inspector.find(job_id(request.params["id"]))).live
    return json_response(200, await services.sizer.sizes(live.job.metadata_location, live.roots))


def _kept_keys() -> Forbidden:
    """Where rights are not checked, anybody would have the keys."""
    return Forbidden(
        "The keys of the object stores are not handed out",
        why="this server does not check rights, so it would hand them to anybody",
        fix="Turn on authorization.enabled, or set purger.spark.hand-out-keys, "
        "or let the server itself purge with purger=spark",
    )


_ABOUT = ("management",)
_FAILS = (BadRequest, Forbidden, JobNotFound)

ROUTES = (
    Route(
        "POST",
        f"{PATH}/{{id}}/claim",
        claim_job,
        "claimJob",
        "Take a purge that is due, to do it in another program",
        _ABOUT,
        response=ClaimedJob,
        errors=(*_FAILS, Conflict),
        rule=WORK_ON_JOBS,
        writes=True,
    ),
    Route(
        "POST",
        f"{PATH}/{{id}}/report",
        report_job,
        "reportJob",
        "Tell how far a claimed purge is, and hear what is to be done",
        _ABOUT,
        request=Report,
        response=Order,
        errors=(*_FAILS, Conflict),
        rule=WORK_ON_JOBS,
        writes=True,
    ),
    Route(
        "GET",
        f"{PATH}/{{id}}/files",
        size_job,
        "sizeJob",
        "How many files a purge is about",
        _ABOUT,
        response=Sizes,
        errors=(*_FAILS, FileMissing),
        rule=WORK_ON_JOBS,
    ),
)


def work_surface(services: WorkServices | None) -> Surface:
    """The routes of this surface; without services for a server that refuses all of them."""
    return Surface("", ROUTES, services, PLAIN)
