"""Sweeps of the store, for operators: what they did, how far one is, and another one at once."""

from typing import NamedTuple

import msgspec

from headgate.access.rules import MANAGE_MAINTENANCE, READ_MAINTENANCE, Rule
from headgate.catalog import outsiders
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.lake import Lake
from headgate.errors import BadRequest, Conflict, Forbidden, RealmNotFound
from headgate.http.problems import PLAIN
from headgate.http.request import Request, Response, decode, json_response
from headgate.http.router import Route, Surface
from headgate.maintenance.extent import Wanted
from headgate.maintenance.lease import RunLease
from headgate.maintenance.service import Maintenance
from headgate.maintenance.views import RunView, Status, all_runs, status, view_of

PATH = "/management/v1/maintenance"


class MaintenanceServices(NamedTuple):
    """What the handlers work with."""

    lake: Lake
    maintenance: Maintenance | None
    """None where nothing is written."""


class RunList(msgspec.Struct, frozen=True):
    """Runs, the newest first."""

    runs: list[RunView]


class RunRequest(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """What is to be swept; everything if no metalake is named."""

    sweep: tuple[str, ...] = ()
    """Only these metalakes, by names or ids."""
    purge: tuple[str, ...] = ()
    """Only the data of these metalakes, which are PURGING already."""
    dry_run: bool = False
    """Only count what would be deleted."""


async def show_status(services: MaintenanceServices, request: Request) -> Response:
    """What goes on, and what was last."""
    await _admit(services, request, READ_MAINTENANCE)
    return json_response(200, await status(services.lake.kernel))


async def list_runs(services: MaintenanceServices, request: Request) -> Response:
    """The runs that are remembered."""
    await _admit(services, request, READ_MAINTENANCE)
    return json_response(200, RunList(await all_runs(services.lake.kernel)))


async def start_run(services: MaintenanceServices, request: Request) -> Response:
    """Begin a run. It goes on after the answer."""
    wanted = decode(request, RunRequest) if request.body else RunRequest()
    await _admit(services, request, MANAGE_MAINTENANCE)
    maintenance = services.maintenance
    assert maintenance is not None, "a server that only reads refuses it before"
    named = Wanted(frozenset(wanted.sweep), frozenset(wanted.purge))
    id, run = await maintenance.start(named, request.principal, is_dry=wanted.dry_run)
    return json_response(202, view_of(id, run, RunLease(id, "")))


async def _admit(services: MaintenanceServices, request: Request, rule: Rule) -> None:
    """Refuse the caller unless this rule permits it."""
    call = Call(CatalogName("", ""), request.caller, request=request.id)
    await outsiders.require(services.lake, call, rule)


_ABOUT = ("management",)

ROUTES = (
    Route(
        "GET",
        PATH,
        show_status,
        "showMaintenance",
        "The sweep of the store that is under way, and the last one before",
        _ABOUT,
        response=Status,
        errors=(Forbidden,),
        rule=READ_MAINTENANCE,
    ),
    Route(
        "GET",
        f"{PATH}/runs",
        list_runs,
        "listMaintenanceRuns",
        "Sweeps of the store, the newest first",
        _ABOUT,
        response=RunList,
        errors=(Forbidden,),
        rule=READ_MAINTENANCE,
    ),
    Route(
        "POST",
        f"{PATH}/runs",
        start_run,
        "startMaintenanceRun",
        "Begin a sweep of the store, which goes on by itself",
        _ABOUT,
        request=RunRequest,
        response=RunView,
        status=202,
        errors=(BadRequest, Forbidden, RealmNotFound, Conflict),
        rule=MANAGE_MAINTENANCE,
        writes=True,
    ),
)


def maintenance_surface(services: MaintenanceServices) -> Surface:
    """The routes of this surface."""
    return Surface("", ROUTES, services, PLAIN)
