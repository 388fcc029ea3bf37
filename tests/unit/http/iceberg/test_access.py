"""Credentials and signatures for the files of a table, and for no others."""

from typing import Any

import pytest

from headgate.storage.options import S3Options
from tests.unit.catalog.lakes import Answer, Node, World, new_table
from tests.unit.http.iceberg.test_answers import STATIC, VENDED, far_node

TABLE = "namespaces/a/tables/t"
HOST = "https://s3.us-east-1.amazonaws.com/bucket"


@pytest.fixture
async def node(world: World) -> Node:
    """A node with a table on S3."""
    return await far_node(world, STATIC)


async def key(node: Node, table: str = TABLE) -> str:
    answer = await node.get(table, catalog="far")
    return str(answer.json["metadata"]["location"]).removeprefix("s3://bucket/")


async def sign(node: Node, uri: str, **more: Any) -> Answer:
    body = {"region": "us-east-1", "uri": uri, "method": "GET", "headers": {}} | more
    return await node.post(f"{TABLE}/sign", body, catalog="far")


async def test_credentials_are_for_the_table(node: Node) -> None:
    """One credential, whose prefix is the table's location."""
    answer = await node.get(f"{TABLE}/credentials?planId=x", catalog="far")
    [credential] = answer.json["storage-credentials"]

    assert credential["prefix"] == f"s3://bucket/{await key(node)}"
    assert credential["config"]["s3.access-key-id"] == "key"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", TABLE, None),
        ("GET", f"{TABLE}/credentials", None),
        ("GET", f"{TABLE}/plan/plan-1", None),
        ("POST", f"{TABLE}/plan", {}),
        ("POST", "namespaces/a/tables", new_table("made")),
        ("POST", "namespaces/a/tables", new_table("staged", stage_create=True)),
    ],
)
async def test_no_cache_in_between_keeps_credentials(
    node: Node, method: str, path: str, body: object
) -> None:
    """Whichever answer they come with says that it is for one client alone."""
    answer = await node.send(method, path, body, headers=VENDED, catalog="far")

    assert "secret" in str(answer.json["storage-credentials"])
    assert answer.headers["cache-control"] == "private"


@pytest.mark.parametrize(
    ("method", "cache"), [("GET", "private"), ("HEAD", "private"), ("PUT", "no-cache")]
)
async def test_a_request_for_a_file_of_the_table_is_signed(
    node: Node, method: str, cache: str
) -> None:
    """The same address; only what reads may be used again."""
    uri = f"{HOST}/{await key(node)}/data/x.parquet"
    answer = await sign(node, uri, method=method, headers={"Range": ["bytes=0-1"]})

    assert answer.status == 200
    assert answer.json["uri"] == uri
    assert answer.json["headers"]["Range"] == ["bytes=0-1"]
    assert any("AWS4-HMAC-SHA256" in values[0] for values in answer.json["headers"].values())
    assert answer.headers["cache-control"] == cache


async def test_a_table_may_be_signed_for_in_all_its_places(node: Node) -> None:
    """Also where its properties send its data."""
    path = "s3://bucket/warehouse/far/elsewhere"
    new = new_table("u", properties={"write.data.path": path})
    await node.made("namespaces/a/tables", new, catalog="far")
    body = {"region": "us-east-1", "method": "GET", "headers": {}}
    uri = f"{HOST}/warehouse/far/elsewhere/x"
    own = await node.post("namespaces/a/tables/u/sign", body | {"uri": uri}, catalog="far")

    assert own.status == 200
    assert (await sign(node, uri)).error[:2] == (403, "ForbiddenException")


async def test_nothing_else_is_signed(node: Node) -> None:
    """Neighbours, parents, other buckets, other hosts."""
    own = await key(node)
    for uri in [
        f"{HOST}/{own}2/x",
        f"{HOST}/{own}/../x",
        f"{HOST}/{own.rpartition('/')[0]}/x",
        f"{HOST.replace('bucket', 'other')}/{own}/x",
        f"https://evil.example/bucket/{own}/x",
    ]:
        answer = await sign(node, uri)
        assert answer.error[:2] == (403, "ForbiddenException"), uri
    wrong = await sign(node, f"{HOST}/{own}/x", region="eu-1")
    assert wrong.status == 403
    provider = await sign(node, f"{HOST}/{own}/x", provider="S3")
    assert provider.status == 200


async def test_without_keys_nothing_is_signed(world: World) -> None:
    """The server has none itself."""
    node = await far_node(world, S3Options())
    answer = await sign(node, f"{HOST}/{await key(node)}/x")

    assert answer.error[:2] == (406, "UnsupportedOperationException")
    empty = await node.get(f"{TABLE}/credentials", catalog="far")
    assert empty.json == {"storage-credentials": []}
