"""The bodies of Iceberg's requests and answers, as far as they are not spliced from metadata."""

from typing import Any, Literal

import msgspec


class Payload(msgspec.Struct, frozen=True, rename="kebab"):
    """A JSON object whose names have dashes."""


class CatalogConfig(Payload, frozen=True):
    """What a client learns first."""

    defaults: dict[str, str]
    overrides: dict[str, str]
    endpoints: list[str]
    idempotency_key_lifetime: str


class CreateNamespace(Payload, frozen=True):
    """A namespace that a client wants."""

    namespace: list[str]
    properties: dict[str, str] | None = None


class NamespaceAnswer(Payload, frozen=True):
    """A namespace and its properties."""

    namespace: list[str]
    properties: dict[str, str]


class NamespaceList(Payload, frozen=True):
    """Children of a namespace."""

    namespaces: list[list[str]]
    next_page_token: str | None = None


class UpdateProperties(Payload, frozen=True):
    """Changes of a namespace's properties."""

    removals: list[str] = []
    updates: dict[str, str] = {}


class PropertiesAnswer(Payload, frozen=True):
    """What became of the changes."""

    updated: list[str]
    removed: list[str]
    missing: list[str]


class TableIdentifier(Payload, frozen=True):
    """A table, view or function by its names."""

    namespace: list[str]
    name: str


class IdentifierList(Payload, frozen=True):
    """Tables or views of a namespace."""

    identifiers: list[TableIdentifier]
    next_page_token: str | None = None


class FunctionList(Payload, frozen=True):
    """Functions of a namespace."""

    identifiers: list[list[str]]
    next_page_token: str | None = None


class Rename(Payload, frozen=True):
    """A table or view that is to be called otherwise."""

    source: TableIdentifier
    destination: TableIdentifier


class RegisterTable(Payload, frozen=True):
    """A table that lies in storage."""

    name: str
    metadata_location: str
    overwrite: bool = False


class RegisterView(Payload, frozen=True):
    """A view that lies in storage."""

    name: str
    metadata_location: str


class CommitTable(Payload, frozen=True):
    """Changes of a table, and what it must be like for them."""

    updates: msgspec.Raw
    requirements: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"[]"))
    identifier: TableIdentifier | None = None


class CommitTransaction(Payload, frozen=True):
    """Changes of several tables, all or none."""

    table_changes: list[CommitTable]


class CreateTableHead(Payload, frozen=True):
    """The little that is read of a large request for a table."""

    name: str
    location: str | None = None
    stage_create: bool = False


class CommitView(Payload, frozen=True):
    """Changes of a view, and what it must be like for them."""

    updates: list[dict[str, Any]]
    requirements: list[dict[str, Any]] = []
    identifier: TableIdentifier | None = None


class LargeCommitView(Payload, frozen=True):
    """The same, not read."""

    updates: msgspec.Raw
    requirements: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"[]"))


class CreateViewHead(Payload, frozen=True):
    """The little that is read of a large request for a view."""

    name: str
    location: str | None = None


class CreateView(Payload, frozen=True):
    """A view that a client wants."""

    name: str
    schema: dict[str, Any]
    view_version: dict[str, Any]
    properties: dict[str, str] = {}
    location: str | None = None


class LoadTableResult(Payload, frozen=True):
    """A table, for documents; the real answer is spliced."""

    metadata: dict[str, Any]
    metadata_location: str | None = None
    config: dict[str, str] = {}
    storage_credentials: list[dict[str, Any]] = []


class LoadViewResult(Payload, frozen=True):
    """A view, for documents; the real answer is spliced."""

    metadata: dict[str, Any]
    metadata_location: str
    config: dict[str, str] = {}


class LoadFunctionResult(Payload, frozen=True):
    """A function, for documents; the real answer is spliced."""

    metadata: dict[str, Any]
    metadata_location: str | None = None


class CredentialsAnswer(Payload, frozen=True):
    """Credentials for a table."""

    storage_credentials: list[dict[str, Any]]


class SignBody(Payload, frozen=True):
    """A request to an object store that is to be signed."""

    region: str
    uri: str
    method: str
    headers: dict[str, list[str]]
    properties: dict[str, str] | None = None
    body: str | None = None
    provider: str = "s3"


class SignAnswer(Payload, frozen=True):
    """The signed request."""

    uri: str
    headers: dict[str, list[str]]


class ScanTasks(Payload, frozen=True):
    """Files of a scan, for documents."""

    plan_tasks: list[str] = []
    file_scan_tasks: list[dict[str, Any]] = []
    delete_files: list[dict[str, Any]] = []


class ScanPlan(ScanTasks, frozen=True, kw_only=True):
    """A plan, for documents; it is always completed."""

    status: Literal["completed"]
    plan_id: str | None = None
    storage_credentials: list[dict[str, Any]] = []


class FetchTasks(Payload, frozen=True):
    """A task of a scan plan whose files are asked for."""

    plan_task: str


class PlanScan(Payload, frozen=True):
    """A scan that is to be planned; see the specification for the filter."""

    snapshot_id: int | None = None
    start_snapshot_id: int | None = None
    end_snapshot_id: int | None = None
    select: list[str] | None = None
    filter: Any = None
    case_sensitive: bool = True
    use_snapshot_schema: bool = False
    stats_fields: list[str] | None = None
    min_rows_requested: int | None = None


class Report(Payload, frozen=True):
    """A metrics report; its other fields are kept as they are."""

    report_type: str
