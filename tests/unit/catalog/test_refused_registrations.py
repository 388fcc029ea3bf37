"""Registrations that are refused say what to do about it."""

from pathlib import Path

import msgspec
import pytest

from tests.unit.catalog.lakes import OPTIONS, SCHEMA, VIEW_VERSION, Node, World

REGISTER = ["namespaces/a/register", "namespaces/a/register-view"]


@pytest.mark.parametrize("path", REGISTER)
async def test_a_place_that_is_not_allowed_comes_with_the_command_that_allows_it(
    node: Node, path: str
) -> None:
    """The folder of the table, not of its metadata."""
    body = {"name": "t", "metadata-location": "s3://old/my t/metadata/1.metadata.json"}
    status, _, message = (await node.post(path, body)).error

    assert status == 403
    assert message.endswith(
        "or allow this one with "
        "`headgate catalog set main 'allowed-locations=s3://old/my t' --metalake default`"
    )


async def test_a_place_that_no_catalog_may_have_comes_without_that_command(
    world: World, node: Node
) -> None:
    """It would be refused: the server's own files lie there."""
    options = msgspec.structs.replace(OPTIONS, can_be_allowed=lambda place: place != "s3://own")
    other = await world.node(options)
    for place, is_said in (("s3://own", False), ("s3://other", True)):
        body = {"name": "t", "metadata-location": f"{place}/metadata/1.metadata.json"}
        status, _, message = (await other.post("namespaces/a/register", body)).error

        assert (status, "allow this one" in message) == (403, is_said)


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("tables", {"name": "t", "schema": SCHEMA}),
        ("views", {"name": "t", "schema": SCHEMA, "view-version": VIEW_VERSION, "properties": {}}),
    ],
)
async def test_a_place_that_is_taken_names_who_has_it(
    node: Node, path: str, new: dict[str, object]
) -> None:
    """With the namespaces that it is in."""
    await node.made("namespaces", {"namespace": ["a", "b"]})
    made = await node.made(f"namespaces/a:b/{path}", new)
    register = "register" if path == "tables" else "register-view"
    body = {"name": "again", "metadata-location": made["metadata-location"]}
    status, _, message = (await node.post(f"namespaces/a/{register}", body)).error

    assert status == 409
    assert "a.b.t lies there, above it or below it" in message
    assert "drop a.b.t without purge first" in message


@pytest.mark.parametrize("path", REGISTER)
@pytest.mark.parametrize("content", ["no JSON", "{}", '{"format-version": 99}'])
async def test_a_file_that_cannot_be_read_is_named(
    world: World, node: Node, path: str, content: str
) -> None:
    """What is wrong with it follows."""
    file = Path(world.warehouse) / "bad.metadata.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    body = {"name": "t", "metadata-location": file.as_posix()}
    status, _, message = (await node.post(path, body)).error

    assert status == 400
    assert message.startswith(f"Invalid metadata file: {file}: ")
