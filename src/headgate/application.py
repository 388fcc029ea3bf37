"""A server process as a whole: from settings to an application that answers requests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import partial
from pathlib import Path

import msgspec

from headgate import __version__
from headgate.authentication import Authentication, log_key, open_authentication, shown_methods
from headgate.background import (
    Background,
    cut_logs,
    free_left_locations,
    open_background,
    write_checkpoints,
)
from headgate.catalog.catalogs import bootstrap, check_all_locations
from headgate.catalog.guards import Guard
from headgate.catalog.lake import Lake
from headgate.catalog.large_metadata import WORKER as METADATA
from headgate.catalog.left_places import looking_into
from headgate.catalog.linked_places import check_links
from headgate.catalog.polling import Validation, per_request
from headgate.catalog.reports import Reports
from headgate.catalog.separator_changes import check_separator_fits, settle_separator
from headgate.clock import SystemClock
from headgate.extension_settings import event_bus
from headgate.first_start import check_first_start
from headgate.http.audit_log import AuditLog
from headgate.http.cache_measures import cache_samples
from headgate.http.front import Front
from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.gravitino.routes import ROOT_ROUTES
from headgate.http.gravitino.routes import ROUTES as GRAVITINO_ROUTES
from headgate.http.gravitino.service import Gravitino
from headgate.http.iceberg.routes import ROUTES as ICEBERG_ROUTES
from headgate.http.iceberg.service import Service
from headgate.http.kernel_measures import kernel_samples, lake_samples, polling_samples
from headgate.http.management.database_file import file_check
from headgate.http.management.services import kernel_check
from headgate.http.measures import Measures
from headgate.http.openapi import openapi_document
from headgate.http.problems import ICEBERG
from headgate.http.read_only import refusing_writes
from headgate.http.router import Surface
from headgate.http.shared_measures import SharedMeasures
from headgate.kernel.cache import Cache
from headgate.kernel.kernel import Kernel
from headgate.own_surfaces import Opened, own_surfaces
from headgate.planning.planner import WORKER as PLANNING
from headgate.planning.planner import Planner
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
from headgate.settings.own_files import check_apart
from headgate.settings.server import HTTP_PUBLIC_URL, READ_ONLY
from headgate.settings.setting import Settings
from headgate.storage.gateway import StorageGateway
from headgate.storage.worker_files import WorkerFiles
from headgate.wiring import chance, database_file, entropy, server_name, serving_kernel
from headgate.workers.pool import PoolOptions, WorkerPool

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
        await check_first_start(settings)
        async with AsyncExitStack() as stack:
            kernel = await stack.enter_async_context(
                serving_kernel(settings, clock, writable=not settings[READ_ONLY])
            )
            measures.add_source(lambda: kernel_samples(kernel))
            await check_all_locations(kernel, partial(check_apart, settings))
            numbers = SharedMeasures(measures, shared, clock)
            await stack.enter_async_context(numbers.kept())
            separator = settings[SCHEMA_SEPARATOR]
            await kernel.share_separator(partial(check_separator_fits, kernel, separator))
            if settings[BOOTSTRAP] and not settings[READ_ONLY]:
                await _bootstrap(settings, kernel)
            await settle_separator(kernel, separator, writable=not settings[READ_ONLY])
            audit = _audit(settings, measures, stack)
            authentication = await open_authentication(settings, kernel, stack, audit)
            validation = _validation(settings, kernel, measures, stack)
            service, background = await _iceberg(
                settings, kernel, authentication, audit, validation, stack
            )
            measures.add_source(lambda: lake_samples(service.lake))
            _keep_logs(settings, kernel, measures, stack)
            measures.add_source(lambda: cache_samples("answers", service.answers.statistics()))
            check = _check(settings, kernel)
            gravitino = _gravitino(settings, service, authentication, check)
            protocols = _protocols(settings, service, gravitino)
            opened = Opened(
                settings, service, authentication, background, check, measures, numbers, stack
            )
            own = own_surfaces(opened, _documents(protocols))
            surfaces = [*protocols, *own, Surface("", ROOT_ROUTES, gravitino, GRAVITINO)]
            yield [authentication.guarding(one) for one in surfaces]

    return Front(opening, clock, measures, seed=entropy(), options=front_options(settings))


async def _bootstrap(settings: Settings, kernel: Kernel) -> None:
    """Give a fresh store its first catalog, if its files can lie where they are to."""
    metalake, first = settings[BOOTSTRAP_METALAKE], bootstrap_catalog(settings)
    await check_first_start(settings, kernel)

    async def check() -> None:
        check_writable(first.warehouse)
        await check_links(kernel, metalake, first, real_location)

    with closing(StorageGateway(storage_options(settings), kernel.clock)) as storage:
        await bootstrap(kernel, metalake, first, check, looking_into(storage))


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


def _keep_logs(
    settings: Settings, kernel: Kernel, measures: Measures, stack: AsyncExitStack
) -> None:
    """Cut old commits now and then, until the stack ends, and count them; write checkpoints."""
    if settings[READ_ONLY]:
        return
    rounds = cut_logs(settings, kernel, stack)
    if rounds is not None:
        measures.add_source(lambda: {"headgate_log_commits_cut_total": rounds.commits_cut})
    write_checkpoints(settings, kernel, partial(log_key, settings), stack)


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
    workshop = WorkerPool(METADATA, PoolOptions(is_shared=True))
    stack.push_async_callback(pool.close)
    stack.push_async_callback(workshop.close)
    gateway = StorageGateway(storage, kernel.clock)
    stack.callback(gateway.close)
    planner = Planner(pool, partial(WorkerFiles, storage))
    events = event_bus(settings, server_name())
    background = None
    if not settings[READ_ONLY]:
        background = await open_background(settings, kernel, gateway, events, stack)
        free_left_locations(kernel, gateway, stack)
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
        answers=Cache(settings[ANSWERS_CACHE_BYTES]),
        metalake=settings[BOOTSTRAP_METALAKE],
        catalog=settings[BOOTSTRAP_CATALOG],
        is_writable=not settings[READ_ONLY],
    )
    return service, background


def _gravitino(
    settings: Settings,
    iceberg: Service,
    authentication: Authentication,
    check: Callable[[], Awaitable[object]],
) -> Gravitino:
    """What the handlers of Gravitino's protocol work with."""
    return Gravitino(
        lake=iceberg.lake,
        check=check,
        places=catalog_places(settings),
        public_url=settings[HTTP_PUBLIC_URL],
        configs=shown_configs(settings) | shown_methods(settings),
        has_authorization=settings[AUTHORIZATION_ENABLED],
        passwords=authentication.passwords if authentication.has_passwords else None,
        reports=iceberg.reports,
    )


def _protocols(settings: Settings, iceberg: Service, gravitino: Gravitino) -> list[Surface]:
    """What others have specified."""
    surfaces = [
        Surface(ICEBERG_PREFIX, ICEBERG_ROUTES, iceberg, ICEBERG),
        Surface(GRAVITINO_PREFIX, GRAVITINO_ROUTES, gravitino, GRAVITINO),
    ]
    if not settings[READ_ONLY]:
        return surfaces
    return [one._replace(routes=refusing_writes(one.routes)) for one in surfaces]


def _documents(protocols: Sequence[Surface]) -> dict[str, bytes]:
    """Their OpenAPI documents by path."""
    return {
        path: msgspec.json.encode(openapi_document(surface, title=title, version=__version__))
        for surface, (path, title) in zip(protocols, DOCUMENTS, strict=True)
    }


def _check(settings: Settings, kernel: Kernel) -> Callable[[], Awaitable[object]]:
    """Does what every request needs."""
    file = database_file(settings)
    look = file_check(file, writable=not settings[READ_ONLY]) if file else None
    return kernel_check(kernel, look)
