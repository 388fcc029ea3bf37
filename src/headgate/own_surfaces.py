"""Headgate's own surfaces, put together: what is below `/management`, and revocation of tokens."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple

import msgspec

from headgate import __version__
from headgate.access.rules import Rule
from headgate.authentication import Authentication
from headgate.background import Background, open_enquiries, open_maintenance
from headgate.catalog import outsiders
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.changes import ChangeLog
from headgate.http.authentication.revocation import RevocationServices, revocation_surface
from headgate.http.iceberg.service import Service
from headgate.http.management.changes import ChangeServices, change_surface
from headgate.http.management.file_references import ReferenceServices, reference_surface
from headgate.http.management.job_work import WorkServices, work_surface
from headgate.http.management.jobs import JobServices, job_surface
from headgate.http.management.maintenance import MaintenanceServices, maintenance_surface
from headgate.http.management.realm_exports import ExportServices, export_surface
from headgate.http.management.reports import ReportServices, report_surface
from headgate.http.management.routes import management_surface
from headgate.http.management.services import Management
from headgate.http.measures import Measures
from headgate.http.openapi import openapi_document
from headgate.http.purge_measures import PurgeMeasures
from headgate.http.read_only import refusing_writes
from headgate.http.request import Request
from headgate.http.router import Surface
from headgate.http.shared_measures import SharedMeasures
from headgate.http.sweep_measures import sweep_samples
from headgate.import_settings import requested_checks
from headgate.purge.inspecting import Inspector
from headgate.purge.steering import Steering
from headgate.server_settings import storage_options
from headgate.settings.authorization import AUTHORIZATION_ENABLED
from headgate.settings.purge_spark import SPARK_KEYS
from headgate.settings.server import READ_ONLY
from headgate.settings.setting import Settings


class Opened(NamedTuple):
    """What a server process has opened, all of which its own surfaces show or steer."""

    settings: Settings
    service: Service
    authentication: Authentication
    background: Background | None
    """Nothing on a server that only reads."""
    check: Callable[[], Awaitable[object]]
    """Does what every request needs."""
    measures: Measures
    """Of this process."""
    numbers: SharedMeasures
    """Of all processes of the server."""
    stack: AsyncExitStack


def own_surfaces(opened: Opened, documents: Mapping[str, bytes]) -> list[Surface]:
    """All of them; the first also serves these OpenAPI documents, and one of its own."""
    service, background = opened.service, opened.background
    inspector = Inspector(service.lake.kernel, background and background.queue)
    purges = PurgeMeasures(
        inspector, service.lake.kernel.clock, background and background.stages.counters
    )
    opened.measures.add_source(purges.samples)
    management = Management(
        opened.check,
        opened.numbers,
        _admission(service),
        _shown(opened.settings),
        purges.refresh,
        documents,
    )
    others = [
        _reports(service),
        _revocation(opened),
        _changes(service),
        _jobs(opened, inspector),
        _work(opened, inspector),
        _references(opened),
        _sweeps(opened),
        _exports(opened),
    ]
    return [_described(management, others), *others]


def _described(management: Management, others: Sequence[Surface]) -> Surface:
    """The server itself, with a document of all surfaces of ours."""
    surface = management_surface(management)
    routes = [route for one in (surface, *others) for route in one.routes]
    text = openapi_document(
        surface._replace(routes=routes), title="Headgate management", version=__version__
    )
    path = "/management/v1/openapi.json"
    documents = {**management.documents, path: msgspec.json.encode(text)}
    return management_surface(management._replace(documents=documents))


def _reports(service: Service) -> Surface:
    """What engines reported."""
    return report_surface(ReportServices(service.lake, service.reports))


def _revocation(opened: Opened) -> Surface:
    """Tokens that are to end before their time."""
    kernel, tokens = opened.service.lake.kernel, opened.authentication.tokens
    return _writing(opened, revocation_surface(RevocationServices(kernel, tokens)))


def _changes(service: Service) -> Surface:
    """What was committed."""
    log = ChangeLog(service.lake.kernel)
    return change_surface(ChangeServices(service.lake, log))


def _jobs(opened: Opened, inspector: Inspector) -> Surface:
    """Purge jobs, for operators."""
    service, background = opened.service, opened.background
    lake, steering = service.lake, Steering(service.lake.kernel, inspector)
    wake = background.workers.wake if background else lambda _live: None
    services = JobServices(lake, inspector, steering, wake)
    return _writing(opened, job_surface(services))


def _work(opened: Opened, inspector: Inspector) -> Surface:
    """The same for programs that do them: a server that only reads lets them change nothing."""
    settings, background = opened.settings, opened.background
    if background is None:
        surface = work_surface(None)
        writing = [one for one in surface.routes if one.writes]
        return surface._replace(routes=refusing_writes(writing))
    storage, admit = storage_options(settings), _admission(opened.service)
    outwork, sizer, clock = background.outwork, background.sizer, background.stages.kernel.clock
    keys = settings[AUTHORIZATION_ENABLED] or settings[SPARK_KEYS]
    return work_surface(WorkServices(inspector, outwork, sizer, storage, keys, clock, admit))


def _references(opened: Opened) -> Surface:
    """Which files tables of other catalogs need, for those who look for orphans."""
    lake = opened.service.lake
    enquiries = open_enquiries(opened.settings, lake.kernel, opened.background, opened.stack)
    return reference_surface(ReferenceServices(lake, enquiries))


def _sweeps(opened: Opened) -> Surface:
    """Sweeps of the store, for operators; a server that only reads makes none."""
    settings, lake, maintenance = opened.settings, opened.service.lake, None
    if not settings[READ_ONLY]:
        swept = maintenance = open_maintenance(settings, lake.kernel, opened.stack)
        opened.measures.add_source(lambda: sweep_samples(swept.totals))
    services = MaintenanceServices(lake, maintenance)
    return _writing(opened, maintenance_surface(services))


def _exports(opened: Opened) -> Surface:
    """Metalakes that come and go, for operators."""
    lake = opened.service.lake
    checks = requested_checks(opened.settings, lake.storage)
    services = ExportServices(lake.kernel, _admission(opened.service), checks)
    return _writing(opened, export_surface(services))


def _writing(opened: Opened, surface: Surface) -> Surface:
    """A surface with routes that write: not on a server that only reads."""
    if not opened.settings[READ_ONLY]:
        return surface
    return surface._replace(routes=refusing_writes(surface.routes))


def _admission(service: Service) -> Callable[[Request, Rule], Awaitable[None]]:
    """Refuses callers whom a rule does not permit what is of no metalake."""

    async def admit(request: Request, rule: Rule) -> None:
        call = Call(CatalogName("", ""), request.caller, request=request.id)
        await outsiders.require(service.lake, call, rule)

    return admit


def _shown(settings: Settings) -> list[dict[str, str]]:
    """The settings in force, secrets masked."""
    return [
        {"name": value.setting.name, "value": value.shown, "source": value.source}
        for value in settings
    ]
