"""Purge jobs, for operators: what is deleted, how far it is, and what went wrong."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec

from headgate.access.rules import MANAGE_JOBS, READ_JOBS, UNDROP_TABLE, Rule
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.lake import Lake
from headgate.catalog.purging import LiveJob
from headgate.errors import (
    AlreadyExists,
    BadRequest,
    CatalogNotFound,
    Conflict,
    Forbidden,
    JobNotFound,
    MetalakeNotFound,
    NamespaceNotFound,
)
from headgate.http.problems import PLAIN
from headgate.http.request import Request, Response, decode, json_response
from headgate.http.router import Parameter, Route, Surface
from headgate.limits import JOBS
from headgate.model.names import Identifier
from headgate.purge.inspecting import Found, Inspector, Wanted, check_state, job_id
from headgate.purge.job_rights import JobRights
from headgate.purge.job_states import State
from headgate.purge.job_views import JobSummary, JobView
from headgate.purge.steering import Steering

PATH = "/management/v1/jobs"


class JobServices(NamedTuple):
    """What the handlers work with."""

    lake: Lake
    inspector: Inspector
    steering: Steering
    wake: Callable[[LiveJob], None]
    """Tells the workers of this server that a job is due."""


class JobQuery(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """Which jobs are wanted."""

    metalake: str = ""
    catalog: str = ""
    state: str = ""
    limit: int = JOBS
    page_token: str = ""


class JobList(msgspec.Struct, frozen=True, rename="kebab"):
    """Jobs, the newest first."""

    jobs: list[JobSummary]
    next_page_token: str | None
    """To be sent as `page-token` for those behind them; null if there are none."""


class RetryRequest(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """How a purge is to be tried."""

    end_grace: bool = False
    """Also if its grace period is not over; then its table cannot come back."""


class UndropRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Under which name a table is to come back."""

    name: tuple[str, ...] = ()
    """Level by level; that which it had if it is left out."""


class Undropped(msgspec.Struct, frozen=True):
    """A table that is back."""

    metalake: str
    catalog: str
    name: tuple[str, ...]


async def list_jobs(services: JobServices, request: Request) -> Response:
    """The jobs that the query asks for and the caller may see."""
    query = _query(request)
    state = check_state(query.state) if query.state else ""
    after = job_id(query.page_token) if query.page_token else None
    call = _call(request, CatalogName(query.metalake, ""))
    rights = await JobRights.in_all(services.lake, call)
    wanted = Wanted(query.metalake, query.catalog, state)
    page = await services.inspector.page(wanted, query.limit, after, rights.sees)
    return json_response(200, JobList(list(page.jobs), page.next))


async def show_job(services: JobServices, request: Request) -> Response:
    """All of one job."""
    found, _ = await _found(services, request)
    return json_response(200, found.view)


async def retry_job(services: JobServices, request: Request) -> Response:
    """Let a job be tried at once."""
    end_grace = bool(request.body) and decode(request, RetryRequest).end_grace
    found, call = await _found(services, request, MANAGE_JOBS)
    id, steering = found.live.id, services.steering
    tried = await (steering.end_grace(id, call.principal) if end_grace else steering.retry(id))
    services.wake(tried.live)
    return json_response(200, tried.view)


async def cancel_job(services: JobServices, request: Request) -> Response:
    """Give a job up; its files stay."""
    found, call = await _found(services, request, MANAGE_JOBS)
    gone = await services.steering.cancel(found.live.id, call.principal)
    return json_response(200, gone.view)


async def undrop_table(services: JobServices, request: Request) -> Response:
    """Bring a dropped table back."""
    to = _target(request)
    found, call = await _found(services, request, UNDROP_TABLE)
    opened = await services.lake.open(call)
    target = await services.steering.undrop(opened, found, to)
    restored = Undropped(*call.catalog, (*target.namespace, target.name))
    return json_response(200, restored)


def _target(request: Request) -> Identifier | None:
    """The name that a request wants for its table; None if it names none."""
    wanted = decode(request, UndropRequest).name if request.body else ()
    if not wanted:
        return None
    *levels, name = wanted
    if not levels:
        raise BadRequest(
            f"Invalid name of a table: {name[:80]}",
            why="it is in no namespace",
            fix='Send all levels: {"name": ["namespace", "table"]}',
        )
    return Identifier(tuple(levels), name)


async def _found(
    services: JobServices, request: Request, rule: Rule = READ_JOBS
) -> tuple[Found, Call]:
    """The job of a request, if this rule permits it, and the call that it is changed by.

    Who may not see it hears what it would hear if there were none.
    """
    id = job_id(request.params["id"])
    rights = await JobRights.in_all(services.lake, _call(request, CatalogName("", "")))
    found = await services.inspector.find(id, partial(rights.permits, READ_JOBS))
    if rule is not READ_JOBS:
        await rights.require(rule, found.live)
    return found, rights.call_on(found.live)


def _query(request: Request) -> JobQuery:
    named = {name: request.first(name) or "" for name in request.query}
    try:
        query = msgspec.convert(named, JobQuery, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest("Cannot list the jobs", why=str(error), fix="Correct it") from None
    if query.limit < 1:
        raise BadRequest("Cannot list the jobs", why="limit is below 1", fix="Ask for some")
    return query


def _call(request: Request, where: CatalogName) -> Call:
    return Call(where, request.caller, request=request.id)


_ABOUT = ("management",)
_FAILS = (BadRequest, JobNotFound)
_CHANGES = (*_FAILS, Forbidden, Conflict)

ROUTES = (
    Route(
        "GET",
        PATH,
        list_jobs,
        "listJobs",
        "Purge jobs, the newest first; those that the caller may see",
        _ABOUT,
        parameters=(
            Parameter("metalake", description="Only jobs of this metalake"),
            Parameter("catalog", description="Only jobs of catalogs of this name"),
            Parameter("state", description=f"Only jobs in this state: {', '.join(State)}"),
            Parameter("limit", int, description="How many at most"),
            Parameter("page-token", description="`next-page-token` of the answer before"),
        ),
        response=JobList,
        errors=(BadRequest, MetalakeNotFound),
        rule=READ_JOBS,
    ),
    Route(
        "GET",
        f"{PATH}/{{id}}",
        show_job,
        "showJob",
        "A purge job with the files that could not be deleted",
        _ABOUT,
        response=JobView,
        errors=_FAILS,
        rule=READ_JOBS,
    ),
    Route(
        "POST",
        f"{PATH}/{{id}}/retry",
        retry_job,
        "retryJob",
        "Let a purge be tried at once, as if for the first time",
        _ABOUT,
        request=RetryRequest,
        response=JobView,
        errors=_CHANGES,
        rule=MANAGE_JOBS,
        writes=True,
    ),
    Route(
        "POST",
        f"{PATH}/{{id}}/cancel",
        cancel_job,
        "cancelJob",
        "Give a purge up: what is left of its files stays",
        _ABOUT,
        response=JobView,
        errors=_CHANGES,
        rule=MANAGE_JOBS,
        writes=True,
    ),
    Route(
        "POST",
        f"{PATH}/{{id}}/undrop",
        undrop_table,
        "undropTable",
        "Bring a dropped table back, exactly as it was, before anything of it is deleted",
        _ABOUT,
        request=UndropRequest,
        response=Undropped,
        errors=(*_CHANGES, CatalogNotFound, NamespaceNotFound, AlreadyExists),
        rule=UNDROP_TABLE,
        writes=True,
    ),
)


def job_surface(services: JobServices) -> Surface:
    """The routes of this surface."""
    return Surface("", ROUTES, services, PLAIN)
