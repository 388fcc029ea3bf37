"""Whole servers: with the answers they give again, and with all of their surfaces."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from headgate.access.privileges import Privilege as Right
from headgate.catalog.principals import USER
from tests.authorization.clerk import Clerk
from tests.authorization.gravitino_operations import GRAVITINO, target
from tests.authorization.guarded import ADMIN
from tests.authorization.iceberg_operations import ICEBERG
from tests.authorization.operations import begin
from tests.authorization.sites import Mode, Place, Site, fronts, processes
from tests.conftest import FULL

TABLE = "/iceberg/v1/default.main/namespaces/a:b/tables/t"
MANAGEMENT = {
    "/management/v1/settings": (200, 403),
    "/management/v1/changes": (200, 403),
    "/management/v1/changes?metalake=default": (200, 403),
    "/management/v1/metalakes/default/catalogs/main/namespaces/a:b/tables/t/reports": (200, 403),
}
"""What the admin is answered, and what a user without rights."""
PUBLIC = ("/", "/health", "/health/live", "/health/ready", "/metrics", "/api/version", "/configs")


async def furnish(site: Site) -> None:
    """Nested schemas, a table and a view; Ann may read, Eve may nothing."""
    async with site.insider() as node:
        clerk = Clerk(node)
        await begin(clerk)
        await target(clerk)
        await clerk.add(USER, "ann", "eve")
        await clerk.create_role("r")
        await clerk.assign(USER, "ann", "r")
        await clerk.grant("r", (), Right.USE_CATALOG | Right.USE_SCHEMA | Right.SELECT_TABLE)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """One server, without a port."""
    async with fronts(Mode(), Place(tmp_path), 1) as site:
        await furnish(site)
        yield site


async def revoke(site: Site) -> None:
    """Ann loses her role, through the server."""
    path = "/api/metalakes/default/permissions/users/ann/revoke"
    await site.must(0, "PUT", path, {"roleNames": ["r"]})


async def test_an_answer_that_stands_falls_with_a_revoke(site: Site) -> None:
    """It was given again and again, also as "not modified"."""
    answers = [await site.send(0, "GET", TABLE, user="ann") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200] * 4
    tag = answers[0].headers["etag"]
    for _ in range(3):
        same = await site.send(0, "GET", TABLE, user="ann", if_none_match=tag)
        assert same.status_code == 304
    await revoke(site)
    assert (await site.send(0, "GET", TABLE, user="ann")).status_code == 403
    same = await site.send(0, "GET", TABLE, user="ann", if_none_match=tag)
    assert same.status_code == 403


async def test_an_answer_that_stands_is_for_one_caller_and_the_roles_it_uses(site: Site) -> None:
    """Whoever asks next is asked who it is."""
    for _ in range(3):
        assert (await site.send(0, "GET", TABLE, user="ann")).status_code == 200
    assert (await site.send(0, "GET", TABLE, user="eve")).status_code == 403
    assert (await site.send(0, "GET", TABLE, user="stranger")).status_code == 403
    for roles, status in (("NONE", 403), ("r", 200), ("ALL", 200), ("other", 403), (",", 400)):
        heard = await site.send(0, "GET", TABLE, user="ann", x_gravitino_active_roles=roles)
        assert heard.status_code == status, roles


async def test_the_management_of_a_server_is_for_its_admins(site: Site) -> None:
    """What the log and the settings say is not for everybody; whether it is well is."""
    for path, statuses in MANAGEMENT.items():
        for user, status in zip((ADMIN, "eve"), statuses, strict=True):
            heard = await site.send(0, "GET", path, user=user)
            assert heard.status_code == status, (path, user, heard.text)
        assert (await site.send(0, "GET", path, user="stranger")).status_code == 403, path
    for path in PUBLIC:
        assert (await site.nodes[0].get(path)).status_code == 200, path


@pytest.mark.parametrize("serving", [fronts, processes] if FULL else [fronts])
async def test_every_operation_is_refused_to_who_may_nothing(
    tmp_path: Path, serving: Callable[[Mode, Place, int], AbstractAsyncContextManager[Site]]
) -> None:
    """Through all of a server, in both protocols; the admin is not refused."""
    async with serving(Mode(), Place(tmp_path), 1) as site:
        await furnish(site)
        each = [*ICEBERG.items(), *GRAVITINO.items()]
        for number, (name, operation) in enumerate(each):
            if operation.before or operation.sees or name.endswith("metalake"):
                continue
            for user in ("eve", "stranger"):
                heard = await site.send(
                    0, operation.method, operation.url, operation.body(number), user=user
                )
                is_member = user == "eve" and name == "loadMetalake"
                assert heard.status_code == (200 if is_member else 403), (name, heard.text)
            heard = await site.send(0, operation.method, operation.url, operation.body(number))
            assert heard.status_code in {404, *operation.done}, (name, heard.text)


async def test_refusals_and_changes_are_in_the_audit_file(tmp_path: Path) -> None:
    """Each once, with the id of its request; when the server has ended all are written."""
    async with fronts(Mode(), Place(tmp_path), 1) as site:
        await furnish(site)
        refused = [await site.send(0, "GET", TABLE, user="eve") for _ in range(3)]
        await revoke(site)
        refused.append(await site.send(0, "GET", TABLE, user="ann"))
    lines = (tmp_path / "data" / "audit.log").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    ids = [answer.headers["x-request-id"] for answer in refused]
    found = {record["request"]: record for record in records if not record["allowed"]}
    assert list(found) == ids
    assert [record["principal"] for record in found.values()] == ["eve", "eve", "eve", "ann"]
    assert {record["action"] for record in found.values()} == {"loadTable"}
    [change] = [record for record in records if record["action"] == "assignRoles"]
    assert change["principal"] == ADMIN
    assert change["allowed"]


async def test_a_view_is_read_by_who_may_and_by_nobody_else(site: Site) -> None:
    """Also through Gravitino's protocol, where others forget to look."""
    paths = [
        "/iceberg/v1/default.main/namespaces/a:b/views/v",
        "/api/metalakes/default/catalogs/main/schemas/a:b/views/v",
    ]
    for path in paths:
        assert (await site.send(0, "GET", path, user="ann")).status_code == 403
    async with site.insider() as node:
        clerk = Clerk(node)
        await clerk.create_role("sees")
        clerk.expect("ann")
        await clerk.assign(USER, "ann", "sees")
        await clerk.grant("sees", (), Right.SELECT_VIEW)
    for path in paths:
        assert (await site.send(0, "GET", path, user="ann")).status_code == 200
