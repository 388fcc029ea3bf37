"""The reference pages about HTTP: endpoints, limits and metrics, from the server's own tables."""

from collections.abc import Iterator
from http import HTTPStatus
from itertools import chain
from typing import TypeVar

from headgate import limits
from headgate.application import DOCUMENTS as PROTOCOL_DOCUMENTS
from headgate.application import GRAVITINO_PREFIX, ICEBERG_PREFIX
from headgate.http.authentication.revocation import ROUTES as REVOCATION_ROUTES
from headgate.http.front import UNMATCHED
from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.gravitino.routes import ROOT_ROUTES
from headgate.http.gravitino.routes import ROUTES as GRAVITINO_ROUTES
from headgate.http.iceberg.config import LIFETIME
from headgate.http.iceberg.routes import ROUTES as ICEBERG_ROUTES
from headgate.http.management.changes import ROUTES as CHANGE_ROUTES
from headgate.http.management.file_references import ROUTES as REFERENCE_ROUTES
from headgate.http.management.job_work import ROUTES as JOB_WORK_ROUTES
from headgate.http.management.jobs import ROUTES as JOB_ROUTES
from headgate.http.management.maintenance import ROUTES as MAINTENANCE_ROUTES
from headgate.http.management.realm_exports import ROUTES as EXPORT_ROUTES
from headgate.http.management.reports import ROUTES as REPORT_ROUTES
from headgate.http.management.routes import ROUTES as MANAGEMENT_ROUTES
from headgate.http.measures import CACHES, FAMILIES
from headgate.http.openapi import EVERYWHERE
from headgate.http.problems import ICEBERG, PLAIN, RETRY_AFTER_SECONDS, Dialect
from headgate.http.router import Route
from headgate.settings import server
from headgate.settings.setting import Setting
from headgate.storage.options import S3Options

T = TypeVar("T")

DOCUMENTS = (*(path for path, _ in PROTOCOL_DOCUMENTS), "/management/v1/openapi.json")
MINUTES = limits.OPERATION_LIFETIME_MS // 60_000


def endpoints_page() -> Iterator[str]:
    """Every route of every surface."""
    yield from (
        "# Endpoints",
        "",
        "All protocols are on one port.",
        "The same is served as OpenAPI 3.1 documents, made from the same tables: "
        + ", ".join(f"`{path}`" for path in DOCUMENTS)
        + ".",
        "",
        (
            "`{prefix}` is `METALAKE.CATALOG` as `getConfig` hands it out; "
            "`CATALOG` alone means one of the default metalake."
        ),
        (
            "Any endpoint can also answer with these errors, so they are not repeated below: "
            f"{_everywhere(ICEBERG)}."
        ),
        "`HEAD` is answered wherever `GET` is, and a slash at the end of a path is ignored.",
        "",
        "## Iceberg REST",
        "",
        f"All paths of the Iceberg REST specification, below `{ICEBERG_PREFIX}`.",
        (
            "A path that is none of these answers 400, not 404: "
            "clients would take a 404 for a missing table."
        ),
    )
    for route in ICEBERG_ROUTES:
        yield from _endpoint(route, ICEBERG_PREFIX, ICEBERG)
    yield from (
        "",
        "## Gravitino REST",
        "",
        f"The control plane, below `{GRAVITINO_PREFIX}`.",
        'A success is 200 with `"code": 0`, also of what creates something.',
        (
            'An error is `{"code", "type", "message"}`; a path that is none of these answers '
            "404 with the code 1006, as what is not supported."
        ),
    )
    for route in GRAVITINO_ROUTES:
        yield from _endpoint(route, GRAVITINO_PREFIX, GRAVITINO)
    for route in ROOT_ROUTES:
        yield from _endpoint(route, "", GRAVITINO)
    yield from ("", "## Probes and management", "", "Headgate's own paths.")
    own = (
        MANAGEMENT_ROUTES,
        REPORT_ROUTES,
        REVOCATION_ROUTES,
        CHANGE_ROUTES,
        JOB_ROUTES,
        JOB_WORK_ROUTES,
        REFERENCE_ROUTES,
        MAINTENANCE_ROUTES,
        EXPORT_ROUTES,
    )
    for route in chain.from_iterable(own):
        yield from _endpoint(route, "", PLAIN)


def _endpoint(route: Route, prefix: str, dialect: Dialect) -> Iterator[str]:
    about = route.summary or (route.handler.__doc__ or "").strip().splitlines()[0]
    yield from ("", f"### `{route.operation}`", "")
    yield from (f"`{route.method} {prefix}{route.template}`", "", about.removesuffix(".") + ".", "")
    for parameter in route.parameters:
        kind = "Header" if parameter.place == "header" else "Parameter"
        yield f"- {kind} `{parameter.name}`: {parameter.description}"
    statuses = (route.status, *route.other_statuses)
    yield "- Answers: " + ", ".join(f"{one} {HTTPStatus(one).phrase}" for one in statuses)
    problems = dict.fromkeys(dialect.problem_of(error) for error in route.errors)
    if problems:
        yield "- Errors: " + ", ".join(f"{one.status} `{one.type}`" for one in sorted(problems))
    if route.writes:
        yield "- Refused by a server that was started with `--read-only`"


def _everywhere(dialect: Dialect) -> str:
    found = sorted(dict.fromkeys(dialect.problem_of(error) for error in EVERYWHERE))
    return ", ".join(f"{one.status} `{one.type}`" for one in found)


def limits_page() -> Iterator[str]:
    """The bounds that a client can meet."""
    yield from (
        "# Limits",
        "",
        "What is over a limit is refused with a message that names the limit.",
        "Those with a setting can be changed; see [settings](settings.md).",
        "",
        "| what | limit | setting |",
        "|---|---|---|",
        *(f"| {what} | {amount} | {_named(setting)} |" for what, amount, setting in _LIMITS),
    )


def _named(setting: str) -> str:
    return f"`{setting}`" if setting else "none"


def default_of(setting: Setting[T]) -> T:
    """The value of a setting that nobody sets."""
    assert not callable(setting.default)
    return setting.default


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count % size == 0:
            return f"{count // size} {unit}"
    return f"{count:,} bytes"


_BODY, _MANY, _LONG = server.HTTP_BODY_BYTES, server.HTTP_REQUESTS_MAX, server.HTTP_REQUEST_SECONDS
_LONG_BODIES = ", ".join(
    f"`{route.operation}`"
    for route in ICEBERG_ROUTES
    if route.body_bytes_max > limits.SHORT_BODY_BYTES_MAX
)
_LIMITS = (
    ("one level of a namespace, or the name of a table or view", _bytes(limits.NAME_BYTES_MAX), ""),
    ("levels of a namespace", str(limits.NAMESPACE_LEVELS_MAX), ""),
    ("a location", _bytes(limits.LOCATION_BYTES_MAX), ""),
    ("body of a request", _bytes(limits.SHORT_BODY_BYTES_MAX), _BODY.name),
    (f"body of {_LONG_BODIES}", _bytes(default_of(_BODY)), _BODY.name),
    ("body of a request for a token", _bytes(limits.FORM_BYTES_MAX), ""),
    ("parameters in a query", str(limits.QUERY_PARAMETERS_MAX), ""),
    ("requests at a time, per process", str(default_of(_MANY)), _MANY.name),
    ("time for the headers of a request to arrive", f"{limits.HEADER_SECONDS} s", ""),
    ("time for a body to arrive", f"{limits.BODY_SECONDS_MAX:g} s", ""),
    (
        f"pace of a body, after its first {_bytes(limits.BODY_CREDIT_BYTES)}",
        f"{_bytes(limits.BODY_PACE_BYTES_MIN)} a second",
        "",
    ),
    ("bodies that are read at a time, of one address", str(limits.BODIES_PER_ADDRESS_MAX), ""),
    (
        "the same before a caller is authenticated",
        str(limits.OPEN_BODIES_PER_ADDRESS_MAX),
        "",
    ),
    (
        "passwords that wait to be verified, of one address",
        str(limits.PASSWORDS_PER_ADDRESS_MAX),
        "",
    ),
    ("time of a request", f"{default_of(_LONG):g} s", _LONG.name),
    ("time of a commit", f"{limits.COMMIT_TIMEOUT_SECONDS:g} s", "commit.timeout-seconds"),
    ("entries of a page, if a client names no size", f"{limits.PAGE_ENTRIES:,}", ""),
    ("entries of a page", f"{limits.PAGE_ENTRIES_MAX:,}", ""),
    ("updates in one commit of a table", f"{limits.TABLE_UPDATES_MAX:,}", ""),
    ("updates in one commit of a view", f"{limits.VIEW_UPDATES_MAX:,}", ""),
    ("a metadata file", _bytes(limits.METADATA_FILE_BYTES_MAX), ""),
    ("a metrics report", _bytes(limits.REPORT_BYTES_MAX), ""),
    ("metrics reports that are kept of a table", str(limits.REPORTS_PER_TABLE_MAX), ""),
    (f"life of an idempotency key (advertised as `{LIFETIME}`)", f"{MINUTES} min", ""),
    ("life of a token", f"{limits.TOKEN_SECONDS // 60} min", ""),
    (
        "life of temporary S3 keys",
        f"{S3Options().duration_seconds // 60} min",
        "s3.credential-seconds",
    ),
    ("`Retry-After` of a 429 or 503", f"{RETRY_AFTER_SECONDS} s", ""),
)


def metrics_page() -> Iterator[str]:
    """Every family of numbers."""
    yield from (
        "# Metrics",
        "",
        "`GET /metrics` answers in the text format of Prometheus, version 0.0.4.",
        "A server with several processes answers with the sums over all of them.",
        (
            "Requests are labelled with `method`, `route` (a template, never a name of yours; "
            f"`{UNMATCHED}` for paths that nobody knows) and `status`."
        ),
        "Caches are labelled with `cache`, which is one of:",
        "",
        *(f"- `{name}`: {what}" for name, what in CACHES.items()),
        "",
        "| name | kind | meaning |",
        "|---|---|---|",
        *(f"| `{name}` | {family.type} | {family.help} |" for name, family in FAMILIES.items()),
    )
