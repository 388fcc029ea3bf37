"""What the catalog asks of the world outside: files, credentials, processes, plans, an audit."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from headgate.access.auditing import Decision
from headgate.workers.turns import Tenant

Roots = tuple[str, ...]


class Files(Protocol):
    """The files of one catalog, by location as clients write it: `s3://bucket/key`, `file:/path`.

    A location outside of what this catalog may touch is refused before anything is opened.
    """

    async def read(self, location: str) -> bytes:
        """The content of a file; `FileMissing` if there is none."""
        ...

    async def write(self, location: str, data: bytes | Sequence[bytes]) -> None:
        """Make a new file that survives a crash; an existing one is never overwritten."""
        ...

    async def missing(self, location: str) -> bool:
        """True if there is certainly no such file."""
        ...

    def missing_now(self, location: str) -> bool | None:
        """The same if it can be told without waiting, else None."""
        ...

    async def prepare(self, location: str) -> None:
        """Make the folders that a client will write to, where folders have to be made."""
        ...

    async def delete(self, locations: Sequence[str]) -> list[tuple[str, str]]:
        """Delete files; absent ones are fine. What could not be deleted, and why."""
        ...

    async def is_empty(self, location: str) -> bool:
        """Whether there is certainly no file below; False if not even its folder is there, where
        there are folders: its disk may be away."""
        ...

    async def remove_folders(self, location: str) -> None:
        """Remove the empty folders here and below, where there are folders; a root stays."""
        ...


class StorageCredential(NamedTuple):
    """Settings that let a client open all files below a prefix, for a time."""

    prefix: str
    config: dict[str, str]

    def __repr__(self) -> str:
        return f"StorageCredential({self.prefix!r}, {{{', '.join(self.config)}: ***}})"


class Storage(Protocol):
    """All stores this server may use."""

    def files(self, roots: Roots) -> Files:
        """The files below these roots."""
        ...

    def client_config(self, location: str) -> dict[str, str]:
        """What a client needs to find the store of a location; no secrets."""
        ...

    async def credentials(self, location: str, *, write: bool) -> list[StorageCredential]:
        """Credentials for exactly what lies below a location; empty if none can be given."""
        ...

    def credential_generation(self, location: str) -> str:
        """Differs whenever other credentials would be given."""
        ...

    def credential_seconds(self, location: str) -> int:
        """The longest life of credentials for a location; 0 if none are given."""
        ...

    def sign(self, request: "SignRequest", locations: Sequence[str], *, write: bool) -> "Signed":
        """Sign a request to a store; `Forbidden` if it reaches beyond these locations."""
        ...


class SignRequest(NamedTuple):
    """A request that a client wants to send to an object store itself."""

    method: str
    url: str
    region: str
    headers: dict[str, list[str]]
    body: str | None = None


class Signed(NamedTuple):
    """The same request, signed."""

    url: str
    headers: dict[str, list[str]]
    cacheable: bool


class Workers(Protocol):
    """Processes for work that takes too long for the event loop."""

    async def run_all(self, job: str, *arguments: bytes) -> list[bytes]:
        """All answers of a job; see `password_worker` for what it is and says."""
        ...


class MetadataWorkers(Protocol):
    """Processes that work on large metadata, for tenants that take turns."""

    async def run_all(self, job: str, *arguments: bytes, tenant: Tenant) -> list[bytes]:
        """All answers of a job; see `metadata_worker` for what it is and says."""
        ...


class Planner(Protocol):
    """Work on manifests, done in other processes: it takes too long for the event loop.

    `roots` is where the catalog's files lie. Tenants take turns.
    """

    async def plan(self, metadata: bytes, request: bytes, roots: Roots, tenant: Tenant) -> bytes:
        """The answer to a request to plan a scan, as JSON."""
        ...

    async def fetch_plan(
        self, metadata: bytes, plan_id: str, roots: Roots, tenant: Tenant
    ) -> bytes:
        """The result of an earlier plan; `PlanNotFound` if it never was."""
        ...

    def check_plan(self, plan_id: str) -> None:
        """Refuse what is no id of a plan with `PlanNotFound`."""
        ...

    async def fetch_tasks(
        self, metadata: bytes, plan_task: str, roots: Roots, tenant: Tenant
    ) -> bytes:
        """The files of one task of a plan; `PlanTaskNotFound` if there is none."""
        ...


class Audit(Protocol):
    """Keeps who asked for what, and whether it was allowed."""

    def decided(self, decision: Decision) -> None:
        """Record this, or a sample of its like. It neither waits nor fails."""
        ...
