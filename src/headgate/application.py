"""A server process as a whole: from settings to an application that answers requests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec

from headgate import __version__
from headgate.access.rules import Rule
from headgate.authentication import Authentication, open_authentication, shown_methods
from headgate.background import (
    Background,
    cut_logs,
    open_background,
    open_enquiries,
    open_maintenance,
)
from headgate.catalog import outsiders
from headgate.catalog.calls import Call, CatalogName
from headgate.catalog.catalogs import bootstrap
from headgate.catalog.changes import ChangeLog
from headgate.catalog.guards import Guard
from headgate.catalog.lake import Lake
from headgate.catalog.large_metadata import WORKER as METADATA
from headgate.catalog.linked_places import check_links
from headgate.catalog.polling import Validation, per_request
from headgate.catalog.reports import Reports
from headgate.catalog.separator_changes import settle_separator
from headgate.clock import SystemClock
from headgate.errors import Forbidden
from headgate.extension_settings import event_bus
from headgate.http.audit_log import AuditLog
from headgate.http.authentication.revocation import RevocationServices, revocation_surface
from headgate.http.cache_measures import cache_samples
from headgate.http.front import Front
from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.gravitino.routes import ROOT_ROUTES
from headgate.http.gravitino.routes import ROUTES as GRAVITINO_ROUTES
from headgate.http.gravitino.service import Gravitino
from headgate.http.iceberg.routes import ROUTES as ICEBERG_ROUTES
from headgate.http.iceberg.service import Service
from headgate.http.kernel_measures import kernel_samples, lake_samples, polling_samples
from headgate.http.management.changes import ChangeServices, change_surface
from headgate.http.management.database_file import file_check
from headgate.http.management.file_references import ReferenceServices, reference_surface
from headgate.http.management.job_work import WorkServices, work_surface
from headgate.http.management.jobs import JobServices, job_surface
from headgate.http.management.maintenance import MaintenanceServices, maintenance_surface
from headgate.http.management.realm_exports import ExportServices, export_surface
from headgate.http.management.reports import ReportServices, report_surface
from headgate.http.management.routes import management_surface
from headgate.http.management.services import Management, kernel_check
from headgate.http.measures import Measures
from headgate.http.openapi import openapi_document
from headgate.http.problems import ICEBERG
from headgate.http.purge_measures import PurgeMeasures
from headgate.http.request import Request, Response
from headgate.http.router import Route, Surface
from headgate.http.shared_measures import SharedMeasures
from headgate.http.sweep_measures import sweep_samples
from headgate.kernel.cache import Cache
from headgate.kernel.kernel import Kernel
from headgate.planning.planner import WORKER as PLANNING
from headgate.planning.planner import Planner
from headgate.purge.inspecting import Inspector
from headgate.purge.steering import Steering
from headgate.server_settings import (
    audit_file,
    bootstrap_catalog,
    catalog_places,
    check_writable,
    front_options,
    guard_options,
    lake_options,
    polling,
    pool_options,
    real_location,
    shown_configs,
    storage_options,
    uuids,
)
from headgate.settings.audit import AUDIT_SAMPLING
from headgate.settings.authorization import AUTHORIZATION_ENABLED
from headgate.settings.catalogs import (
    ANSWERS_CACHE_BYTES,
    BOOTSTRAP,
    BOOTSTRAP_CATALOG,
    BOOTSTRAP_METALAKE,
    SCHEMA_SEPARATOR,
)
from headgate.settings.purge_spark import SPARK_KEYS
from headgate.settings.server import HTTP_PUBLIC_URL, READ_ONLY
from headgate.settings.setting import Settings
from headgate.storage.gateway import StorageGateway
from headgate.storage.worker_files import WorkerFiles
from headgate.wiring import chance, database_file, entropy, open_kernel, server_name
from headgate.workers.pool import WorkerPool

ICEBERG_PREFIX, GRAVITINO_PREFIX = "/iceberg", "/api"
DOCUMENTS = (
    (f"{ICEBERG_PREFIX}/v1/openapi.json", "Iceberg REST catalog"),
    (f"{GRAVITINO_PREFIX}/openapi.json", "Gravitino REST"),
)
"""Where the documents of the protocols are, and what they are called."""


def load_application(settings: Settings, shared: Path | None) -> Front:
    """The application of one process; `shared` is where all processes of a server meet."""
    clock = SystemClock()
    measures = Measures()

    @asynccontextmanager
    async def opening() -> AsyncIterator[Sequence[Surface]]:
        async with AsyncExitStack() as stack:
            kernel = await stack.enter_async_context(
                open_kernel(settings, writable=not settings[READ_ONLY], counted=True)
            )
            measures.add_source(lambda: kernel_samples(kernel))
            numbers = SharedMeasures(measures, shared, clock)
            await stack.enter_async_context(numbers.kept())
            if settings[BOOTSTRAP] and not settings[READ_ONLY]:
                await _bootstrap(settings, kernel)
            await settle_separator(
                kernel, settings[SCHEMA_SEPARATOR], writable=not settings[READ_ONLY]
            )
            authentication = await open_authentication(settings, kernel, stack)
            audit = _audit(settings, measures, stack)
            validation = _validation(settings, kernel, measures, stack)
            service, background = await _iceberg(
                settings, kernel, authentication, audit, validation, stack
            )
            measures.add_source(lambda: lake_samples(service.lake))
            _cut_logs(settings, kernel, measures, stack)
            measures.add_source(lambda: cache_samples("answers", service.answers.statistics()))
            check = _check(settings, kernel)
            gravitino = _gravitino(settings, service, authentication, check)
            protocols = [
                Surface(ICEBERG_PREFIX, _routes(settings, ICEBERG_ROUTES), service, ICEBERG),
                Surface(
                    GRAVITINO_PREFIX, _routes(settings, GRAVITINO_ROUTES), gravitino, GRAVITINO
                ),
            ]
            reports = report_surface(
                ReportServices(service.lake, service.reports, service.authenticate)
            )
            revocation = revocation_surface(RevocationServices(kernel, authentication.tokens))
            revocation = revocation._replace(routes=_routes(settings, revocation.routes))
            changes = change_surface(
                ChangeServices(service.lake, ChangeLog(kernel), service.authenticate)
            )
            inspector = Inspector(kernel, background and background.queue)
            jobs = _jobs(settings, service, inspector, background)
            work = _work(settings, service, inspector, background)
            sweeps = _sweeps(settings, service, measures, stack)
            references = _references(settings, service, background, stack)
            exports = _exports(settings, service)
            others = [reports, revocation, changes, jobs, work, references, sweeps, exports]
            purges = PurgeMeasures(inspector, clock, background and background.stages.counters)
            measures.add_source(purges.samples)
            services = Management(
                check, numbers, _admission(service), _shown(settings), purges.refresh
            )
            own = _management(services, protocols, others)
            surfaces = [*protocols, *own, Surface("", ROOT_ROUTES, gravitino, GRAVITINO)]
            challenges = authentication.authenticator.challenges
            yield [one._replace(dialect=one.dialect.challenging(challenges)) for one in surfaces]

    return Front(opening, clock, measures, seed=entropy(), options=front_options(settings))


async def _bootstrap(settings: Settings, kernel: Kernel) -> None:
    """Give a fresh store its first catalog, if its files can lie where they are to."""
    metalake, first = settings[BOOTSTRAP_METALAKE], bootstrap_catalog(settings)

    async def check() -> None:
        check_writable(first.warehouse)
        await check_links(kernel, metalake, first, real_location)

    await bootstrap(kernel, metalake, first, check)


def _audit(settings: Settings, measures: Measures, stack: AsyncExitStack) -> AuditLog | None:
    """What records decisions, if they are to be recorded."""
    file = audit_file(settings)
    if file is None:
        return None
    audit = stack.enter_context(AuditLog(file, settings[AUDIT_SAMPLING], chance()))
    measures.add_source(audit.samples)
    return audit


def _validation(
    settings: Settings, kernel: Kernel, measures: Measures, stack: AsyncExitStack
) -> Validation:
    """How requests learn what is new; what polls for them ends with the stack."""
    polls = polling(settings, kernel)
    if polls is None:
        return per_request(kernel)
    measures.add_source(lambda: polling_samples(polls))
    task = asyncio.create_task(polls.poll_for_ever())
    stack.callback(task.cancel)
    return polls.validation


def _cut_logs(
    settings: Settings, kernel: Kernel, measures: Measures, stack: AsyncExitStack
) -> None:
    """Cut old commits now and then, until the stack ends, and count them."""
    rounds = None if settings[READ_ONLY] else cut_logs(settings, kernel, stack)
    if rounds is not None:
        measures.add_source(lambda: {"headgate_log_commits_cut_total": rounds.commits_cut})


async def _iceberg(
    settings: Settings,
    kernel: Kernel,
    authentication: Authentication,
    audit: AuditLog | None,
    validation: Validation,
    stack: AsyncExitStack,
) -> tuple[Service, Background | None]:
    """What the handlers of Iceberg's protocol work with, and what works beside them; closed with
    the stack."""
    storage = storage_options(settings)
    pool = WorkerPool(PLANNING, pool_options(settings))
    workshop = WorkerPool(METADATA)
    stack.push_async_callback(pool.close)
    stack.push_async_callback(workshop.close)
    gateway = StorageGateway(storage, kernel.clock)
    stack.callback(gateway.close)
    planner = Planner(pool, partial(WorkerFiles, storage))
    events = event_bus(settings, server_name())
    background = None
    if not settings[READ_ONLY]:
        background = await open_background(settings, kernel, gateway, events, stack)
        background.start()
    lake = Lake(
        kernel,
        gateway,
        planner,
        workshop,
        uuids(),
        lake_options(settings),
        guard=Guard(kernel, guard_options(settings), authentication.confirming),
        audit=audit,
        validation=validation,
        events=events,
        purging=background.service if background else None,
    )
    reports = Reports(lake, stored=not settings[READ_ONLY])
    stack.push_async_callback(reports.close)
    service = Service(
        lake=lake,
        reports=reports,
        tokens=authentication.endpoint,
        authenticate=authentication.authenticator.caller,
        answers=Cache(settings[ANSWERS_CACHE_BYTES]),
        metalake=settings[BOOTSTRAP_METALAKE],
        catalog=settings[BOOTSTRAP_CATALOG],
        is_writable=not settings[READ_ONLY],
    )
    return service, background


def _jobs(
    settings: Settings, service: Service, inspector: Inspector, background: Background | None
) -> Surface:
    """Purge jobs, for operators."""
    lake, steering = service.lake, Steering(service.lake.kernel, inspector)
    wake = background.workers.wake if background else lambda _live: None
    surface = job_surface(JobServices(lake, inspector, steering, service.authenticate, wake))
    return surface._replace(routes=_routes(settings, surface.routes))


def _work(
    settings: Settings, service: Service, inspector: Inspector, background: Background | None
) -> Surface:
    """The same for programs that do them: a server that only reads lets them change nothing."""
    if background is None:
        surface = work_surface(None)
        return surface._replace(routes=[_refusing(one) for one in surface.routes if one.writes])
    storage, admit = storage_options(settings), _admission(service)
    outwork, sizer, clock = background.outwork, background.sizer, background.stages.kernel.clock
    keys = settings[AUTHORIZATION_ENABLED] or settings[SPARK_KEYS]
    return work_surface(WorkServices(inspector, outwork, sizer, storage, keys, clock, admit))


def _references(
    settings: Settings, service: Service, background: Background | None, stack: AsyncExitStack
) -> Surface:
    """Which files tables of other catalogs need, for those who look for orphans."""
    enquiries = open_enquiries(settings, service.lake.kernel, background, stack)
    return reference_surface(ReferenceServices(service.lake, enquiries, service.authenticate))


def _sweeps(
    settings: Settings, service: Service, measures: Measures, stack: AsyncExitStack
) -> Surface:
    """Sweeps of the store, for operators; a server that only reads makes none."""
    kernel = service.lake.kernel
    maintenance = None if settings[READ_ONLY] else open_maintenance(settings, kernel, stack)
    if maintenance is not None:
        measures.add_source(lambda: sweep_samples(maintenance.totals))
    services = MaintenanceServices(service.lake, service.authenticate, maintenance)
    surface = maintenance_surface(services)
    return surface._replace(routes=_routes(settings, surface.routes))


def _exports(settings: Settings, service: Service) -> Surface:
    """Metalakes that come and go, for operators."""
    surface = export_surface(ExportServices(service.lake.kernel, _admission(service)))
    return surface._replace(routes=_routes(settings, surface.routes))


def _gravitino(
    settings: Settings,
    iceberg: Service,
    authentication: Authentication,
    check: Callable[[], Awaitable[object]],
) -> Gravitino:
    """What the handlers of Gravitino's protocol work with."""
    return Gravitino(
        lake=iceberg.lake,
        authenticator=authentication.authenticator,
        check=check,
        places=catalog_places(settings),
        public_url=settings[HTTP_PUBLIC_URL],
        configs=shown_configs(settings) | shown_methods(settings),
        has_authorization=settings[AUTHORIZATION_ENABLED],
        passwords=authentication.passwords if authentication.has_passwords else None,
        reports=iceberg.reports,
    )


def _routes(settings: Settings, routes: Sequence[Route]) -> Sequence[Route]:
    """These routes; on a server that only reads, those that write refuse to."""
    return tuple(map(_refusing, routes)) if settings[READ_ONLY] else routes


def _refusing(route: Route) -> Route:
    """The same route on a server that only reads."""
    return msgspec.structs.replace(route, handler=_refuse) if route.writes else route


async def _refuse(_service: object, _request: Request) -> Response:
    raise Forbidden(
        "Not allowed: this server only reads",
        why="it was started with --read-only",
        fix="Ask another server of the same store",
    )


def _check(settings: Settings, kernel: Kernel) -> Callable[[], Awaitable[object]]:
    """Does what every request needs."""
    file = database_file(settings)
    look = file_check(file, writable=not settings[READ_ONLY]) if file else None
    return kernel_check(kernel, look)


def _admission(service: Service) -> Callable[[Request, Rule], Awaitable[None]]:
    """Refuses callers whom a rule does not permit what is of no metalake."""

    async def admit(request: Request, rule: Rule) -> None:
        caller = await service.authenticate(request)
        request.principal = caller.name
        call = Call(CatalogName("", ""), caller, request=request.id)
        await outsiders.require(service.lake, call, rule)

    return admit


def _shown(settings: Settings) -> list[dict[str, str]]:
    """The settings in force, secrets masked."""
    return [
        {"name": value.setting.name, "value": value.shown, "source": value.source}
        for value in settings
    ]


def _management(
    services: Management, protocols: Sequence[Surface], others: Sequence[Surface]
) -> list[Surface]:
    """Headgate's own surfaces, with the documents of all."""
    documents = {
        path: msgspec.json.encode(openapi_document(surface, title=title, version=__version__))
        for surface, (path, title) in zip(protocols, DOCUMENTS, strict=True)
    }
    surface = management_surface(services._replace(documents=documents))
    routes = [route for one in (surface, *others) for route in one.routes]
    whole = surface._replace(routes=routes)
    text = openapi_document(whole, title="Headgate management", version=__version__)
    path = "/management/v1/openapi.json"
    own_services = services._replace(documents={**documents, path: msgspec.json.encode(text)})
    return [management_surface(own_services), *others]
