"""Every route, aimed at the victim's names by those who have no right to them."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from headgate.http.router import Route
from tests.authorization.test_operations import ROUTES
from tests.non_interference.bodies import bodies
from tests.non_interference.tenants import (
    ATTACKERS,
    CANARY,
    NAMES,
    SCHEMA,
    VICTIM,
    Tenant,
    Tenants,
    text_of,
)

PREFIXES = {"iceberg": "/iceberg", "gravitino": "/api", "management": ""}
AT_THE_ROOT = {"getConfigs", "close"}
"""Routes of Gravitino that are not below /api."""
NEVER_READ = {"getToken", "astray", "readExport", "importRows", "reportJob"}
"""Routes whose requests are refused before they are about anything: one takes a form, one is no
service, and the others ask for what only an export or a claim hands out."""
_RIGHTS = [{"name": "SELECT_TABLE", "condition": "ALLOW"}]
_SECURABLE = {"fullName": f"main.{SCHEMA}.ledger", "type": "TABLE", "privileges": _RIGHTS}
_COLUMNS = [{"name": "id", "type": "long"}]
BODIES: dict[str, Any] = {
    "signRequest": {"region": "r", "uri": "", "method": "GET", "headers": {}, "provider": "s3"},
    "reportMetrics": {"report-type": "scan-report", "table-name": "ledger"},
    "createTable": {"name": "ledger", "columns": _COLUMNS},
    "createView": {
        "name": "summary",
        "columns": _COLUMNS,
        "representations": [{"type": "sql", "dialect": "spark", "sql": "SELECT 1"}],
    },
    "bulkAddUsers": {"users": [{"name": VICTIM}]},
    "createRole": {"name": "vault_role", "securableObjects": [_SECURABLE]},
    "grantPrivilegesToRole": {"privileges": _RIGHTS},
    "revokePrivilegesFromRole": {"privileges": _RIGHTS},
    "overrideRolePrivileges": {"overrides": [_SECURABLE]},
    "setOwner": {"name": VICTIM, "type": "USER"},
    "searchChanges": {"metalake": "default", "kind": "table"},
    "undropTable": {"name": [SCHEMA, "ledger"]},
}
"""Bodies in which some words are fixed, which their types do not tell."""
ALL = [(protocol, route) for protocol, routes in ROUTES.items() for route in routes]


def path_of(protocol: str, route: Route, names: dict[str, str]) -> str:
    """The path of a route with the victim's names in it."""
    prefix = "" if route.operation in AT_THE_ROOT else PREFIXES[protocol]

    def name(found: re.Match[str]) -> str:
        return quote(names.get(found[1], NAMES["table"]), safe=":")

    return prefix + re.sub(r"\{(\w+)\}", name, route.template)


def aimed(tenants: Tenants) -> dict[str, Any]:
    """What is sent in bodies: names and paths of the victim."""
    location = tenants.ledger["metadata"]["location"]
    return {
        "name": "ledger",
        "namespace": [SCHEMA],
        "location": location,
        "metadata-location": tenants.ledger["metadata-location"],
        "statistics-path": tenants.ledger["metadata-location"],
        "manifest-list": tenants.ledger["metadata"]["snapshots"][0]["manifest-list"],
        "uri": location,
        "paths": [tenants.ledger["metadata-location"]],
        "roleNames": ["vault_role"],
        "fullName": f"main.{SCHEMA}.ledger",
        "user": VICTIM,
        "users": [VICTIM],
        "metalake": "default",
        "catalog": "main",
    }


def requests(
    tenants: Tenants, protocol: str, route: Route, attacker: Tenant
) -> Iterator[tuple[str, Any]]:
    """All paths and bodies that this attacker sends to a route.

    Names are the victim's; in a catalog of its own only the body names the victim.
    """
    shapes: list[Any] = [None]
    if route.request is not None:
        shapes = list(bodies(route.request, aimed(tenants)))
        shapes += [BODIES[route.operation]] if route.operation in BODIES else []
    theirs = NAMES | {"id": tenants.job}
    own = theirs | {
        "prefix": f"{attacker.metalake}.{attacker.catalog}",
        "metalake": attacker.metalake,
        "catalog": attacker.catalog,
        "namespace": attacker.schema,
        "schema": attacker.schema,
    }
    for names in (theirs, own):
        for body in shapes:
            yield path_of(protocol, route, names), body


@pytest.mark.parametrize("attacker", ATTACKERS, ids=lambda one: one.user or "nobody")
async def test_no_route_reaches_what_is_the_victims(tenants: Tenants, attacker: Tenant) -> None:
    """Nothing changes, nothing is told, and nothing breaks, whatever is sent."""
    before = await tenants.state()
    unread = set()
    for protocol, route in ALL:
        statuses = set()
        for path, body in requests(tenants, protocol, route, attacker):
            answer = await tenants.ask(route.method, path, body, attacker.user)
            statuses.add(answer.status_code)
            told = _without_sent(answer.text, f"{path} {text_of(body)}")
            assert answer.status_code < 500, (route.operation, path, body, answer.text)
            assert CANARY not in told, (route.operation, path, body, answer.text)
        assert await tenants.state() == before, (route.operation, attacker.user)
        if statuses == {400}:
            unread.add(route.operation)
    assert unread <= NEVER_READ


def _without_sent(told: str, sent: str) -> str:
    """An answer without those of its words that the request itself had."""
    return " ".join(word for word in told.split() if word.strip('",.:') not in sent)
