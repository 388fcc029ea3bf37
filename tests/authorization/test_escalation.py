"""Ways around rights that must not be there: files, copies of answers, and other operations."""

from typing import Any
from uuid import uuid4

import pytest

from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege as Right
from headgate.catalog.ports import Signed, SignRequest, StorageCredential
from headgate.catalog.principals import USER
from headgate.model.locations import is_within
from headgate.workers.turns import Tenant
from tests.authorization.clerk import Clerk
from tests.authorization.guarded import GuardedNode, GuardedWorld, Heard
from tests.unit.catalog.lakes import (
    CATALOG,
    append,
    commit,
    new_table,
    set_properties,
    staged_commit,
)

LAKE = "/api/metalakes/default"
MINE, THEIRS = (CATALOG, "mine"), (CATALOG, "theirs")
OURS_TABLE, THEIRS_TABLE = "namespaces/mine/tables/t", "namespaces/theirs/tables/t"
VENDED = {"x-iceberg-access-delegation": "vended-credentials"}
SIGNED = {"region": "r", "uri": "https://b.s3.amazonaws.com/x", "method": "GET", "headers": {}}


class Vendor:
    """Hands out credentials, and remembers for what."""

    def __init__(self) -> None:
        self.vended: list[tuple[str, bool]] = []

    async def credentials(self, location: str, *, write: bool) -> list[StorageCredential]:
        self.vended.append((location, write))
        return [StorageCredential(location, {"s3.access-key-id": "k"})]

    def sign(self, request: SignRequest, locations: object, *, write: bool) -> Signed:
        self.vended.append((request.url, write))
        return Signed(request.url, {}, cacheable=False)

    def taken(self) -> list[bool]:
        """Whether each that was handed out since may be used to write."""
        flags = [write for _, write in self.vended]
        self.vended.clear()
        return flags


@pytest.fixture
def vendor(node: GuardedNode, monkeypatch: pytest.MonkeyPatch) -> Vendor:
    """In the place of the object store's."""
    vendor = Vendor()
    monkeypatch.setattr(node.storage, "credentials", vendor.credentials)
    monkeypatch.setattr(node.storage, "sign", vendor.sign)
    return vendor


@pytest.fixture
async def clerk(node: GuardedNode) -> Clerk:
    """Two schemas, each with a table; Ann may use both, and do all she likes in one of them."""
    clerk = Clerk(node)
    for schema in ("mine", "theirs"):
        await clerk.create_schema(schema)
        await clerk.create(T.TABLE, schema, "t")
    await clerk.add(USER, "ann")
    await clerk.create_role("r")
    await clerk.assign(USER, "ann", "r")
    await clerk.grant("r", (), Right.USE_CATALOG | Right.USE_SCHEMA)
    await clerk.own(MINE, USER, "ann")
    return clerk


async def ask(clerk: Clerk, method: str, path: str, body: object = None, **more: Any) -> Heard:
    return await clerk.node.ask(method, path, body, user="ann", **more)


async def metadata(clerk: Clerk, path: str) -> Any:
    return (await clerk.node.must("GET", path))["metadata"]


async def test_credentials_let_a_caller_do_no_more_than_it_may(
    clerk: Clerk, vendor: Vendor
) -> None:
    """Who may only read gets such as only read, wherever they are handed out; others get none."""

    async def given() -> list[list[bool]]:
        found = []
        for method, path, body in (
            ("GET", THEIRS_TABLE, None),
            ("GET", f"{THEIRS_TABLE}/credentials", None),
            ("POST", f"{THEIRS_TABLE}/sign", SIGNED),
            ("POST", f"{THEIRS_TABLE}/plan", {}),
        ):
            await ask(clerk, method, path, body, headers=VENDED)
            found.append(vendor.taken())
        return found

    assert await given() == [[], [], [], []]
    await clerk.grant("r", THEIRS, Right.SELECT_TABLE)
    assert await given() == [[False], [False], [False], [False]]
    await clerk.grant("r", THEIRS, Right.MODIFY_TABLE)
    assert await given() == [[True], [True], [True], [False]]
    await clerk.create_role("no")
    await clerk.assign(USER, "ann", "no")
    await clerk.grant("no", (), Right.MODIFY_TABLE, deny=True)
    assert await given() == [[False], [False], [False], [False]]


async def test_one_who_may_write_and_one_who_may_not_have_different_etags(
    clerk: Clerk, vendor: Vendor
) -> None:
    """So nobody keeps credentials that were for writing because the answer seems to be the same."""
    await clerk.grant("r", THEIRS, Right.MODIFY_TABLE)
    writing = await ask(clerk, "GET", THEIRS_TABLE, headers=VENDED)
    await clerk.revoke("r", THEIRS, Right.MODIFY_TABLE)
    await clerk.grant("r", THEIRS, Right.SELECT_TABLE)
    tag = {"if-none-match": writing.headers["etag"]}
    reading = await ask(clerk, "GET", THEIRS_TABLE, headers={**VENDED, **tag})
    assert reading.status == 200
    assert vendor.taken() == [True, False]


async def test_staging_a_table_elsewhere_hands_out_nothing(
    world: GuardedWorld, clerk: Clerk, vendor: Vendor
) -> None:
    """Not where another table lies, above it or in it, not outside, not by a way around."""
    theirs = (await metadata(clerk, THEIRS_TABLE))["location"]
    before = await world.state()
    for location in (
        theirs,
        f"{theirs}/data",
        f"{theirs}/",
        theirs.rpartition("/")[0],
        f"{theirs}/../{theirs.rpartition('/')[2]}",
        f"{world.warehouse}2/t",
        f"file://{world.warehouse}/../x",
        "file:///etc",
        "s3://elsewhere/t",
    ):
        new = new_table("new", stage_create=True, location=location)
        heard = await ask(clerk, "POST", "namespaces/mine/tables", new, headers=VENDED)
        assert 400 <= heard.status < 500, (location, heard)
    assert vendor.vended == []
    assert await world.state() == before


async def test_whose_a_location_is_is_told_to_those_who_may_know_it(clerk: Clerk) -> None:
    """Others only hear that it is taken."""
    location = (await metadata(clerk, THEIRS_TABLE))["location"]
    new = {**new_table("new"), "location": location}

    elsewhere = await ask(clerk, "POST", "namespaces/mine/tables", new)
    await clerk.grant("r", THEIRS, Right.CREATE_TABLE)
    hidden = await ask(clerk, "POST", "namespaces/theirs/tables", new)
    await clerk.grant("r", THEIRS, Right.SELECT_TABLE)
    known = await ask(clerk, "POST", "namespaces/theirs/tables", new)
    answers = (elsewhere, hidden, known)
    assert [heard.status for heard in answers] == [403, 409, 409]
    assert ["theirs.t lies" in str(heard.json) for heard in answers] == [False, False, True]


async def test_changing_only_where_metadata_goes_is_looked_at_too(
    world: GuardedWorld, clerk: Clerk
) -> None:
    """No property of a table leads its files to where another one's are."""
    theirs = (await metadata(clerk, THEIRS_TABLE))["location"]
    before = await world.state()
    for name in ("write.metadata.path", "write.data.path", "write.object-storage.path"):
        for place in (theirs, f"{theirs}/metadata", "file:///etc"):
            change = {"action": "set-properties", "updates": {name: place}}
            heard = await ask(clerk, "POST", OURS_TABLE, commit([change]))
            assert 400 <= heard.status < 500, (name, place, heard)
    moved = {"action": "set-location", "location": theirs}
    assert 400 <= (await ask(clerk, "POST", OURS_TABLE, commit([moved]))).status < 500
    assert await world.state() == before


async def test_a_repeated_request_is_refused_after_a_revoke(clerk: Clerk) -> None:
    """Its key is known, and what it did stays done; it is not told again."""
    await clerk.grant("r", THEIRS, Right.CREATE_TABLE)
    key, new = uuid4(), new_table("new")
    for _ in range(2):
        heard = await ask(clerk, "POST", "namespaces/theirs/tables", new, key=key)
        assert heard.status == 200
    await clerk.revoke("r", THEIRS, Right.CREATE_TABLE)
    again = await ask(clerk, "POST", "namespaces/theirs/tables", new, key=key)
    assert again.status == 403
    other = await clerk.node.ask("POST", "namespaces/theirs/tables", new, key=key, user="eve")
    assert other.status == 403


async def test_a_request_of_somebody_else_is_not_repeated(clerk: Clerk) -> None:
    """Not even by one who might send the same, and knows the key: the outcome is not its own."""
    await clerk.add(USER, "bob")
    await clerk.assign(USER, "bob", "r")
    await clerk.grant("r", THEIRS, Right.CREATE_TABLE)
    key, new = uuid4(), new_table("new")
    await ask(clerk, "POST", "namespaces/theirs/tables", new, key=key)

    other = await clerk.node.ask("POST", "namespaces/theirs/tables", new, key=key, user="bob")
    assert other.status == 409
    assert other.json["error"]["type"] == "AlreadyExistsException"
    again = await ask(clerk, "POST", "namespaces/theirs/tables", new, key=key)
    assert again.status == 200


async def test_an_etag_tells_nothing_after_a_revoke(clerk: Clerk) -> None:
    """Not even that the table is as it was."""
    await clerk.grant("r", THEIRS, Right.SELECT_TABLE)
    tag = {"if-none-match": (await ask(clerk, "GET", THEIRS_TABLE)).headers["etag"]}
    assert (await ask(clerk, "GET", THEIRS_TABLE, headers=tag)).status == 304
    await clerk.revoke("r", THEIRS, Right.SELECT_TABLE)
    for sent in (tag, {"if-none-match": "*"}):
        assert (await ask(clerk, "GET", THEIRS_TABLE, headers=sent)).status == 403


async def test_a_page_token_is_worth_nothing_after_a_revoke(clerk: Clerk) -> None:
    """The rest of a list shows what may be seen now, and nothing to who may not list."""
    for name in ("u", "v", "w"):
        await clerk.create(T.TABLE, "theirs", name)
    await clerk.grant("r", THEIRS, Right.SELECT_TABLE)
    path = "namespaces/theirs/tables"
    first = await ask(clerk, "GET", f"{path}?pageSize=1")
    token = first.json["next-page-token"]
    await clerk.revoke("r", THEIRS, Right.SELECT_TABLE)
    await clerk.grant("r", (*THEIRS, "v"), Right.SELECT_TABLE)
    rest = await ask(clerk, "GET", f"{path}?pageToken={token}")
    assert [one["name"] for one in rest.json["identifiers"]] == ["v"]
    await clerk.revoke("r", (), Right.USE_SCHEMA)
    assert (await ask(clerk, "GET", f"{path}?pageToken={token}")).status == 403


async def test_other_operations_do_not_reach_tables_that_one_may_not_change(
    world: GuardedWorld, clerk: Clerk
) -> None:
    """Neither renaming nor registering nor transactions; and nothing of them is done in part."""
    await clerk.grant("r", THEIRS, Right.SELECT_TABLE)
    file = (await clerk.node.must("GET", THEIRS_TABLE))["metadata-location"]
    mine, theirs = ({"namespace": [schema], "name": "t"} for schema in ("mine", "theirs"))
    set_one = {"requirements": [], "updates": [set_properties(k="v")]}
    staged = staged_commit(await metadata(clerk, OURS_TABLE))
    new = {"namespace": ["theirs"], "name": "new"}
    before = await world.state()
    requests: list[tuple[str, object, int]] = [
        ("tables/rename", {"source": theirs, "destination": {**mine, "name": "x"}}, 403),
        ("tables/rename", {"source": theirs, "destination": {**theirs, "name": "x"}}, 403),
        ("tables/rename", {"source": mine, "destination": {**theirs, "name": "x"}}, 403),
        ("tables/rename", {"source": theirs, "destination": mine}, 403),
        ("views/rename", {"source": theirs, "destination": {**mine, "name": "x"}}, 403),
        ("namespaces/mine/register", {"name": "x", "metadata-location": file}, 403),
        (
            "namespaces/theirs/register",
            {"name": "t", "metadata-location": file, "overwrite": True},
            403,
        ),
        (
            "namespaces/mine/register",
            {"name": "t", "metadata-location": file, "overwrite": True},
            403,
        ),
        (
            "transactions/commit",
            {"table-changes": [{**set_one, "identifier": one} for one in (mine, theirs)]},
            403,
        ),
        (
            "transactions/commit",
            {"table-changes": [{**set_one, "identifier": mine}, {**staged, "identifier": new}]},
            403,
        ),
        ("namespaces/theirs/tables/new", staged, 403),
        (THEIRS_TABLE, staged, 403),
        ("namespaces/theirs/register-view", {"name": "x", "metadata-location": file}, 403),
        (f"{THEIRS_TABLE}/unregister", None, 403),
    ]
    for path, body, status in requests:
        heard = await ask(clerk, "POST", path, body)
        assert heard.status == status, (path, body, heard)
    assert await world.state() == before


async def test_snapshots_of_others_are_not_read_through_a_table_of_ones_own(
    clerk: Clerk, vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metadata can name files of another table: no plan reads there, and no key fits there."""
    theirs = (await metadata(clerk, THEIRS_TABLE))["location"]
    updates = append(await metadata(clerk, OURS_TABLE), 1)
    updates[0]["snapshot"]["manifest-list"] = f"{theirs}/metadata/snap-1.avro"
    assert (await ask(clerk, "POST", OURS_TABLE, commit(updates))).status == 200
    read: list[str] = []

    async def plan(
        _metadata: bytes, _request: bytes, roots: tuple[str, ...], _tenant: Tenant
    ) -> bytes:
        read.extend(roots)
        return b'{"status":"completed"}'

    for name in ("plan", "fetch_plan", "fetch_tasks"):
        monkeypatch.setattr(clerk.node.lake.planner, name, plan)
    await ask(clerk, "GET", OURS_TABLE, headers=VENDED)
    await ask(clerk, "POST", f"{OURS_TABLE}/plan", {}, headers=VENDED)
    await ask(clerk, "GET", f"{OURS_TABLE}/plan/p", headers=VENDED)
    await ask(clerk, "POST", f"{OURS_TABLE}/tasks", {"plan-task": "x"}, headers=VENDED)
    reached = [*read, *(location for location, _ in vendor.vended)]
    assert len(reached) == 6
    assert not any(is_within(theirs, place) for place in reached)


async def test_the_right_to_create_roles_gives_no_rights(clerk: Clerk) -> None:
    """Its owner gives a role no rights that it could not grant, gives it to nobody, and changes
    no other one."""
    await clerk.grant("r", (), Right.CREATE_ROLE)
    right = {"name": "select_table", "condition": "allow"}
    on = {"fullName": "main.theirs", "type": "SCHEMA", "privileges": [right]}
    made = await ask(clerk, "POST", f"{LAKE}/roles", {"name": "x", "securableObjects": [on]})
    assert made.status == 403
    made = await ask(clerk, "POST", f"{LAKE}/roles", {"name": "x", "securableObjects": []})
    assert made.status == 200
    roles, rights = {"roleNames": ["x"]}, {"privileges": [right]}
    for path, body in (
        ("users/ann/grant", roles),
        ("roles/r/schema/main.theirs/grant", rights),
        ("roles/x/schema/main.theirs/grant", rights),
        ("roles/r", {"overrides": [on]}),
        ("roles/x", {"overrides": [on]}),
    ):
        heard = await ask(clerk, "PUT", f"{LAKE}/permissions/{path}", body)
        assert heard.status == 403, (path, heard)
    assert (await ask(clerk, "GET", THEIRS_TABLE)).status == 403


async def test_managing_grants_in_one_place_reaches_no_other(clerk: Clerk) -> None:
    """Rights are given on that schema and below it; not beside it, above it, or as an owner."""
    await clerk.grant("r", THEIRS, Right.MANAGE_GRANTS)
    body = {"privileges": [{"name": "select_table", "condition": "allow"}]}
    where = {
        "metalake/default": 403,
        "catalog/main": 403,
        "schema/main.theirs": 200,
        "table/main.theirs.t": 200,
    }
    for place, status in where.items():
        heard = await ask(clerk, "PUT", f"{LAKE}/permissions/roles/r/{place}/grant", body)
        assert heard.status == status, (place, heard)
    me = {"name": "ann", "type": "USER"}
    for place in ("catalog/main", "schema/main.theirs", "table/main.theirs.t", "metalake/default"):
        assert (await ask(clerk, "PUT", f"{LAKE}/owners/{place}", me)).status == 403, place
    roles = {"roleNames": ["r"]}
    assert (await ask(clerk, "PUT", f"{LAKE}/permissions/users/ann/grant", roles)).status == 403
