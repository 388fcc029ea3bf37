"""Forms of a table, their ETags, and what a client is told that has the table already."""

from typing import Any

import msgspec
import pytest

from headgate.catalog.entities import Kind
from headgate.catalog.ports import StorageCredential
from headgate.catalog.relations import find_relation
from headgate.errors import StorageUnavailable
from headgate.http.iceberg.answers import is_among, table_answer
from headgate.http.iceberg.delegation import Representation
from headgate.model.names import Identifier
from headgate.storage.options import S3Options, StorageOptions
from tests.unit.catalog.lakes import (
    Answer,
    Node,
    World,
    append,
    commit,
    new_table,
    set_properties,
)
from tests.unit.http.iceberg.far_files import WAREHOUSE, far_catalog

TABLE = "namespaces/a/tables/t"
VENDED = {"x-iceberg-access-delegation": "vended-credentials"}
SIGNED = {"x-iceberg-access-delegation": "Remote-Signing"}
BOTH = {"x-iceberg-access-delegation": "vended-credentials, remote-signing"}
STATIC = S3Options(access_key_id="key", secret_access_key="secret", delegation="static")


async def far_node(world: World, s3: S3Options, catalog: str = "far") -> Node:
    """A node with a table on S3."""
    world.storage = StorageOptions(local_sync=False, s3=s3)
    node = await world.node()
    await far_catalog(node, catalog)
    await node.made("namespaces", {"namespace": ["a"]}, catalog=catalog.replace(" ", "%20"))
    await node.made("namespaces/a/tables", new_table("t"), catalog=catalog.replace(" ", "%20"))
    return node


async def far(node: Node, path: str = TABLE, **headers: str) -> Answer:
    return await node.get(path, headers=headers, catalog="far")


def test_forms_have_letters_of_their_own() -> None:
    """An ETag of one form never stands for another."""
    forms = [
        Representation(refs, vended, signed)
        for refs in (False, True)
        for vended in (False, True)
        for signed in (False, True)
    ]

    assert len({form.letter for form in forms}) == 8


@pytest.mark.parametrize(
    ("sent", "among"),
    [
        ('"x"', True),
        ("x", True),
        ('W/"x"', True),
        ('"a", "x"', True),
        ('"a","b"', False),
        ("*", True),
        ("", False),
        ('"xy"', False),
    ],
)
def test_tags_come_in_lists(sent: str, among: bool) -> None:
    """Quoted or not, weak or not, or any."""
    assert is_among('"x"', sent) == among


async def test_who_has_a_table_is_not_sent_it_again(node: Node) -> None:
    """304 without a body as long as the table is the same; then the new one."""
    made = await node.post("namespaces/a/tables", new_table("t"))
    tag = {"if-none-match": made.etag}
    same = await node.get(TABLE, headers=tag)
    listed = await node.get(TABLE, headers={"if-none-match": f'"other", {made.etag}'})
    any = await node.get(TABLE, headers={"if-none-match": "*"})
    committed = await node.post(TABLE, commit([set_properties(k="v")]))
    after = await node.get(TABLE, headers=tag)

    for answer in (same, listed, any):
        assert (answer.status, answer.json, answer.etag) == (304, None, made.etag)
    assert after.status == 200
    assert after.etag == committed.etag != made.etag
    assert (await node.get(TABLE, headers={"if-none-match": committed.etag})).status == 304


async def test_a_dropped_table_is_not_unchanged(node: Node) -> None:
    """Nor is another one of the same name."""
    made = await node.post("namespaces/a/tables", new_table("t"))
    tag = {"if-none-match": made.etag}
    await node.delete(TABLE)
    assert (await node.get(TABLE, headers=tag)).status == 404
    assert (await node.get(TABLE, headers={"if-none-match": "*"})).status == 404
    await node.table()

    assert (await node.get(TABLE, headers=tag)).status == 200


async def test_tags_are_the_same_on_every_node(world: World, node: Node) -> None:
    """A client may ask another one next time."""
    made = await node.post("namespaces/a/tables", new_table("t"))
    other = await world.node()

    assert (await other.get(TABLE)).etag == made.etag
    assert (await other.get(TABLE, headers={"if-none-match": made.etag})).status == 304


async def test_only_snapshots_that_are_named(node: Node) -> None:
    """`refs` leaves out what no branch or tag points at, and has a tag of its own."""
    metadata = (await node.table())["metadata"]
    for id in (1, 2, 3):
        metadata = (await node.made(TABLE, commit(append(metadata, id))))["metadata"]
    tag = {"action": "set-snapshot-ref", "ref-name": "t", "type": "tag", "snapshot-id": 1}
    await node.made(TABLE, commit([tag]))
    whole = await node.get(f"{TABLE}?snapshots=ALL")
    refs = await node.get(f"{TABLE}?snapshots=refs")

    def ids(answer: Answer) -> list[int]:
        return [one["snapshot-id"] for one in answer.json["metadata"]["snapshots"]]

    assert (ids(whole), sorted(ids(refs))) == ([1, 2, 3], [1, 3])
    assert refs.json["metadata"] | {"snapshots": []} == whole.json["metadata"] | {"snapshots": []}
    assert refs.etag != whole.etag
    for query, answer in [("all", whole), ("refs", refs)]:
        path = f"{TABLE}?snapshots={query}"
        assert (await node.get(path, headers={"if-none-match": answer.etag})).status == 304
    crossed = await node.get(TABLE, headers={"if-none-match": refs.etag})
    assert crossed.status == 200


async def test_credentials_only_for_those_who_ask(world: World) -> None:
    """Nothing secret in any other answer; the prefix is the table's own."""
    node = await far_node(world, STATIC)
    plain = await far(node)
    vended = await far(node, **VENDED)
    [credential] = vended.json["storage-credentials"]
    secrets = {"s3.access-key-id", "s3.secret-access-key"}

    assert "storage-credentials" not in plain.json
    assert not secrets & plain.json["config"].keys()
    assert not secrets & vended.json["config"].keys()
    assert credential["prefix"] == plain.json["metadata"]["location"]
    assert secrets <= credential["config"].keys()
    assert plain.etag != vended.etag
    assert (await far(node, **VENDED, **{"if-none-match": vended.etag})).status == 304
    assert (await far(node, **VENDED, **{"if-none-match": plain.etag})).status == 200


async def test_tags_change_with_the_credentials(world: World) -> None:
    """Else a client would keep those that are over."""
    node = await far_node(world, STATIC)
    old = (await far(node, **VENDED)).etag
    world.storage = StorageOptions(
        s3=S3Options(access_key_id="key", secret_access_key="new", delegation="static")
    )
    other = await world.node()

    answer = await far(other, **VENDED, **{"if-none-match": old})
    assert answer.status in {200, 404}  # the other node does not see the dictionary
    assert answer.status != 304


async def test_where_to_have_requests_signed(world: World) -> None:
    """The path of this very table, encoded, under every name it ever has."""
    node = await far_node(world, STATIC)
    await node.made("namespaces", {"namespace": ["b c", "d"]}, catalog="far")
    before = await far(node, **SIGNED)
    body = {
        "source": {"namespace": ["a"], "name": "t"},
        "destination": {"namespace": ["b c", "d"], "name": "x/y"},
    }
    await node.made("tables/rename", body, catalog="far")
    path = "namespaces/b%20c%3Ad/tables/x%2Fy"
    after = await far(node, path, **SIGNED, **{"if-none-match": before.etag})

    assert before.json["config"]["signer.endpoint"] == "v1/default.far/namespaces/a/tables/t/sign"
    assert before.json["config"]["s3.remote-signing-enabled"] == "true"
    standard = path.replace("%3A", "%1F")
    assert after.json["config"]["signer.endpoint"] == f"v1/default.far/{standard}/sign"
    assert after.etag != before.etag
    assert (await far(node, path, **SIGNED, **{"if-none-match": after.etag})).status == 304


async def test_a_catalog_with_a_space_in_the_path_of_its_signer(world: World) -> None:
    """The prefix is encoded there too."""
    node = await far_node(world, STATIC, "far away")
    answer = await node.get(TABLE, headers=SIGNED, catalog="far%20away")

    endpoint = answer.json["config"]["s3.signer.endpoint"]
    assert endpoint == "v1/default.far%20away/namespaces/a/tables/t/sign"


async def test_credentials_come_before_signatures(world: World) -> None:
    """Who asks for both gets credentials where there are any, else signatures."""
    node = await far_node(world, STATIC)
    both = await far(node, **BOTH)

    assert "storage-credentials" in both.json
    assert "signer.endpoint" not in both.json["config"]


async def test_without_credentials_both_means_signatures(world: World) -> None:
    """Where none may be handed out."""
    node = await far_node(world, S3Options(access_key_id="key", secret_access_key="secret"))
    both = await far(node, **BOTH)

    assert "storage-credentials" not in both.json
    assert "signer.endpoint" in both.json["config"]


async def test_local_tables_have_nothing_to_sign(node: Node) -> None:
    """Neither credentials nor a signer, whatever is asked for."""
    await node.table()
    answer = await node.get(TABLE, headers=BOTH)

    assert answer.json["config"] == {}
    assert "storage-credentials" not in answer.json


async def test_a_staged_table_gets_credentials_for_what_it_holds_and_for_nothing_else(
    world: World,
) -> None:
    """Its own location, and the paths of its properties; nobody else has them from then on."""
    node = await far_node(world, STATIC)
    folder = f"{WAREHOUSE}/far/a"
    paths = {"write.data.path": f"{folder}/data"}
    body: dict[str, Any] = new_table(
        "s", stage_create=True, location=f"{folder}/s", properties=paths
    )
    made = await node.post("namespaces/a/tables", body, catalog="far", headers=VENDED, user="ann")
    prefixes = [one["prefix"] for one in made.json["storage-credentials"]]

    assert prefixes == [f"{folder}/s", f"{folder}/data"]
    for location in (folder, f"{folder}/s", f"{folder}/data/x"):
        taken = {**body, "location": location}
        refused = await node.post(
            "namespaces/a/tables", taken, catalog="far", headers=VENDED, user="bob"
        )
        assert refused.status == 409
        assert "storage-credentials" not in refused.json


async def test_a_staged_table_on_s3_says_where_the_store_is(world: World) -> None:
    """Its creator writes data before it commits."""
    node = await far_node(world, S3Options(endpoint="http://minio:9000", region="eu-1"))
    body: dict[str, Any] = new_table("s", stage_create=True)
    staged = await node.made("namespaces/a/tables", body, catalog="far")

    assert staged["config"]["s3.endpoint"] == "http://minio:9000"
    assert staged["config"]["client.region"] == "eu-1"


async def test_a_staged_table_comes_with_credentials(world: World) -> None:
    """For all places it will write to, if its creator asks; else where to have requests signed."""
    node = await far_node(world, STATIC)
    data = "s3://bucket/warehouse/far/data"
    body = new_table("s", stage_create=True, properties={"write.data.path": data})
    path = "namespaces/a/tables"
    plain = await node.post(path, body, catalog="far")
    vended = await node.post(path, body, headers=VENDED, catalog="far")
    signed = await node.post(path, body, headers=SIGNED, catalog="far")

    assert "storage-credentials" not in plain.json
    prefixes = [one["prefix"] for one in vended.json["storage-credentials"]]
    assert prefixes == [vended.json["metadata"]["location"], data]
    endpoint = "v1/default.far/namespaces/a/tables/s/sign"
    assert signed.json["config"]["signer.endpoint"] == endpoint


async def test_temporary_credentials_say_who_renews_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that end come with the path of this very table's credentials."""
    node = await far_node(world, STATIC)

    async def ending(location: str, *, write: bool) -> list[StorageCredential]:
        return [StorageCredential(location, {"s3.session-token-expires-at-ms": "1"})]

    monkeypatch.setattr(node.storage, "credentials", ending)
    answer = await far(node, **VENDED)

    renewal = answer.json["config"]["client.refresh-credentials-endpoint"]
    assert renewal == "v1/default.far/namespaces/a/tables/t/credentials"


async def test_a_table_is_made_even_if_there_are_no_credentials_now(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It was committed: an error would be a lie. Loading it says what is wrong."""
    node = await far_node(world, STATIC)

    async def away(location: str, *, write: bool) -> list[StorageCredential]:
        raise StorageUnavailable("STS is away")

    monkeypatch.setattr(node.storage, "credentials", away)
    made = await node.post("namespaces/a/tables", new_table("u"), headers=VENDED, catalog="far")
    loaded = await node.get("namespaces/a/tables/u", headers=VENDED, catalog="far")

    assert made.status == 200
    assert "storage-credentials" not in made.json
    assert "made without credentials: STS is away" in caplog.text
    assert loaded.error[:2] == (503, "ServiceUnavailableException")


async def test_a_server_that_only_reads_hands_out_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its credentials and signatures are for reading."""
    node = await far_node(world, STATIC)
    node.use(msgspec.structs.replace(node.service, is_writable=False))
    asked: list[bool] = []
    real = node.storage.credentials

    async def seen(location: str, *, write: bool) -> list[StorageCredential]:
        asked.append(write)
        return await real(location, write=write)

    monkeypatch.setattr(node.storage, "credentials", seen)
    location = (await far(node, **VENDED)).json["metadata"]["location"]
    uri = location.replace("s3://", "https://s3.us-east-1.amazonaws.com/") + "/x"
    body = {"region": "us-east-1", "uri": uri, "headers": {}}
    answers = [
        await node.post(f"{TABLE}/sign", body | {"method": method}, catalog="far")
        for method in ("GET", "PUT")
    ]

    assert asked == [False]
    assert [answer.status for answer in answers] == [200, 403]


async def test_answers_are_made_once(world: World, node: Node) -> None:
    """The second load of the same state is the same bytes, found and not made."""
    await node.table()
    first = await node.get(TABLE)
    misses = node.service.answers.statistics().entries
    second = await node.get(TABLE)

    assert first == second
    assert node.service.answers.statistics().entries == misses


async def test_an_answer_is_never_that_of_another_realm(node: Node) -> None:
    """Ids are unique in a realm; a realm may come from elsewhere."""
    await node.table()
    name = Identifier(("a",), "t")
    opened = await node.opened()
    table = await find_relation(opened, name, Kind.TABLE)
    other = table._replace(
        opened=opened._replace(realm=node.kernel.realm("elsewhere")),
        entity=msgspec.structs.replace(table.entity, metadata_location="elsewhere"),
    )
    first, second = [
        await table_answer(node.service, one, name, Representation()) for one in (table, other)
    ]

    assert first.key != second.key
    assert first.body != second.body
