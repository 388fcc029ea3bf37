"""Two tenants of one server: a victim, and attackers who have something of their own."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import httpx

from tests.authorization.guarded import ADMIN
from tests.authorization.sites import Site
from tests.non_interference.stores import Store, write_snapshot
from tests.unit.catalog.lakes import commit, new_table, new_view, set_properties

CANARY = "canary-8c1f"
"""Stands in everything of the victim that no request of an attacker names."""
POLLS_MAX = 3_000
POLL_SECONDS = 0.02


class Tenant(NamedTuple):
    """A user, and the schema in which it may create tables."""

    user: str | None
    metalake: str
    catalog: str
    schema: str

    @property
    def url(self) -> str:
        """Its schema, in Iceberg's protocol."""
        return f"/iceberg/v1/{self.metalake}.{self.catalog}/namespaces/{self.schema}"


ATTACKERS = (
    Tenant("x-schema", "default", "main", "annex"),
    Tenant("x-catalog", "default", "xcatalog", "annex"),
    Tenant("x-metalake", "xlake", "xcatalog", "annex"),
    Tenant(None, "default", "main", "annex"),
)
"""A user with one schema, the owner of a catalog, the owner of a metalake, nobody at all."""
OWNERS = ATTACKERS[:3]
"""Those who can have a table of their own."""

VICTIM = "victim"
SCHEMA = "vault"
VICTIM_ITSELF = Tenant(VICTIM, "default", "main", SCHEMA)
SCHEMA_URL = f"/iceberg/v1/default.main/namespaces/{SCHEMA}"
NAMES = {
    "prefix": "default.main",
    "namespace": SCHEMA,
    "schema": SCHEMA,
    "table": "ledger",
    "view": "summary",
    "metalake": "default",
    "catalog": "main",
    "user": VICTIM,
    "group": "victims",
    "role": "vault_role",
    "name": "ledger",
    "type": "table",
    "fullName": f"main.{SCHEMA}.ledger",
}
"""What is in paths, of the victim."""


class Tenants:
    """The victim's lake, and what became of it."""

    def __init__(self, site: Site, store: Store, folder: Path) -> None:
        self.site = site
        self.store = store
        self.folder = folder
        self.ledger: dict[str, Any] = {}
        """The victim's table, as it was loaded at first."""
        self.former: dict[str, Any] = {}
        """A table of the victim that was dropped without a purge."""
        self.job = ""
        """The id of a purge of the victim."""
        self.loose = ""
        """A file in the victim's schema that no table refers to."""

    async def ask(
        self, method: str, path: str, body: object = None, user: str | None = ADMIN
    ) -> httpx.Response:
        """One request; `None` sends no credentials."""
        if user is None:
            return await self.site.nodes[0].request(method, path, json=body)
        return await self.site.send(0, method, path, body, user=user)

    async def must(
        self, method: str, path: str, body: object = None, user: str | None = ADMIN
    ) -> Any:
        """The body of an answer that is a success."""
        answer = await self.ask(method, path, body, user)
        assert answer.is_success, (method, path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    async def furnish(self) -> None:
        """Make the victim, what it has, and the attackers."""
        await self._principals()
        await self._victim()
        self.loose = f"{self.folder_of_victim}/{CANARY}.txt"
        self.store.write(self.loose, CANARY.encode())

    async def _principals(self) -> None:
        lake = "/api/metalakes/default"
        for user in (VICTIM, "x-schema", "x-catalog"):
            await self.must("POST", f"{lake}/users", {"name": user})
        await self.must("POST", f"{lake}/groups", {"name": "victims"})
        for schema, user in ((SCHEMA, VICTIM), ("annex", "x-schema")):
            await self.must("POST", "/iceberg/v1/default.main/namespaces", {"namespace": [schema]})
            await self._role(schema, user)
        await self._catalog("default", ADMIN, "x-catalog")
        await self.must("POST", "/api/metalakes", {"name": "xlake"})
        await self.must("POST", "/api/metalakes/xlake/users", {"name": "x-metalake"})
        owner = {"name": "x-metalake", "type": "USER"}
        await self.must("PUT", "/api/metalakes/xlake/owners/metalake/xlake", owner)
        await self._catalog("xlake", "x-metalake", "x-metalake")

    async def _role(self, schema: str, user: str) -> None:
        """A role with all that somebody needs to live in one schema."""
        lake = "/api/metalakes/default"

        def securable(name: str, type: str, *rights: str) -> dict[str, Any]:
            allowed = [{"name": right, "condition": "ALLOW"} for right in rights]
            return {"fullName": name, "type": type, "privileges": allowed}

        role = {
            "name": f"{schema}_role",
            "securableObjects": [
                securable("main", "CATALOG", "USE_CATALOG"),
                securable(
                    f"main.{schema}",
                    "SCHEMA",
                    *("USE_SCHEMA", "CREATE_TABLE", "CREATE_VIEW"),
                ),
            ],
        }
        await self.must("POST", f"{lake}/roles", role)
        granted = {"roleNames": [f"{schema}_role"]}
        await self.must("PUT", f"{lake}/permissions/users/{user}/grant", granted)

    async def _catalog(self, metalake: str, maker: str, owner: str) -> None:
        new = {"name": "xcatalog", "type": "RELATIONAL", "provider": "lakehouse-iceberg"}
        await self.must("POST", f"/api/metalakes/{metalake}/catalogs", new, maker)
        path = f"/api/metalakes/{metalake}/owners/catalog/xcatalog"
        await self.must("PUT", path, {"name": owner, "type": "USER"}, maker)
        url = f"/iceberg/v1/{metalake}.xcatalog/namespaces"
        await self.must("POST", url, {"namespace": ["annex"]}, owner)

    async def _victim(self) -> None:
        tables = f"{SCHEMA_URL}/tables"
        self.former = await self.must("POST", tables, new_table("former"), VICTIM)
        await self.must("DELETE", f"{tables}/former", user=VICTIM)
        await self.must("POST", tables, new_table("purged"), VICTIM)
        made = await self.must("POST", tables, new_table("ledger"), VICTIM)
        location = made["metadata"]["location"]
        data = f"{location}/data/{CANARY}.parquet"
        self.store.write(data, CANARY.encode())
        updates = [set_properties(secret=CANARY), *self.snapshot(f"{location}/metadata", 1, data)]
        await self.must("POST", f"{tables}/ledger", commit(updates), VICTIM)
        self.ledger = await self.must("GET", f"{tables}/ledger", user=VICTIM)
        self.job = (await self.purge(VICTIM_ITSELF, "purged"))["id"]
        view = new_view("summary", properties={"secret": CANARY})
        await self.must("POST", f"{SCHEMA_URL}/views", view, VICTIM)

    async def state(self) -> dict[str, Any]:
        """All that the victim has, as it sees it itself, and its files."""
        seen: dict[str, Any] = {}
        lake = "/api/metalakes/default"
        for path in (
            SCHEMA_URL,
            f"{SCHEMA_URL}/tables",
            f"{SCHEMA_URL}/tables/ledger",
            f"{SCHEMA_URL}/views",
            f"{SCHEMA_URL}/views/summary",
        ):
            seen[path] = (await self.ask("GET", path, user=VICTIM)).json()
        for path in (
            f"{lake}/users/{VICTIM}",
            f"{lake}/roles/vault_role",
            f"{lake}/groups/victims",
            f"{lake}/owners/table/main.{SCHEMA}.ledger",
            f"{lake}/owners/schema/main.{SCHEMA}",
            f"{lake}/owners/catalog/main",
            f"{lake}/catalogs/main",
            lake,
        ):
            seen[path] = (await self.ask("GET", path)).json()
        return seen | {"files": self.files()}

    @property
    def folder_of_victim(self) -> str:
        """Where the tables of its schema lie."""
        return str(self.ledger["metadata"]["location"]).rpartition("/")[0]

    def files(self) -> dict[str, str]:
        """The digest of each file of the victim."""
        return self.store.files(self.folder_of_victim)

    def snapshot(self, folder: str, id: int, path: str) -> list[dict[str, Any]]:
        """Write manifests that name this data file; the updates that make them a snapshot."""
        return snapshot_by(write_snapshot(self.store, folder, id, [path]), id)

    async def create(self, attacker: Tenant, **more: Any) -> tuple[str, dict[str, Any]]:
        """A table of an attacker's own: its name and what was answered."""
        name = f"t{uuid4().hex[:8]}"
        body = new_table(name, **more)
        made = await self.must("POST", f"{attacker.url}/tables", body, attacker.user)
        return name, made

    async def purge(self, attacker: Tenant, name: str) -> dict[str, Any]:
        """Drop a table with its files; its job after the first attempt."""
        url = f"{attacker.url}/tables/{name}?purgeRequested=true"
        await self.must("DELETE", url, user=attacker.user)
        path = f"/management/v1/jobs?metalake={attacker.metalake}"
        for _ in range(POLLS_MAX):
            jobs = (await self.must("GET", path, user=attacker.user))["jobs"]
            [job] = [one for one in jobs if one["table"][-1] == name]
            if job["attempts"] and job["state"] != "RUNNING":
                path = f"/management/v1/jobs/{job['id']}"
                found: dict[str, Any] = await self.must("GET", path, user=attacker.user)
                return found
            await asyncio.sleep(POLL_SECONDS)
        raise AssertionError(f"{name} is not purged: {job}")


def snapshot_by(manifest_list: str, id: int) -> list[dict[str, Any]]:
    """The updates that make this manifest list the current snapshot."""
    snapshot = {
        "snapshot-id": id,
        "sequence-number": 1,
        "timestamp-ms": time.time_ns() // 1_000_000,
        "manifest-list": manifest_list,
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    return [
        {"action": "add-snapshot", "snapshot": snapshot},
        {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": id},
    ]


def text_of(sent: object) -> str:
    """A request body as text."""
    return json.dumps(sent, default=str)
