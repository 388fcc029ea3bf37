"""Pages of lists: tokens, sizes, and what changes between two pages."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.catalog import paging
from headgate.catalog.paging import decode_token, encode_token
from headgate.errors import BadRequest
from tests.unit.catalog.lakes import Node

names = st.text(st.characters(codec="utf-8"), min_size=1)


@given(names)
def test_a_token_names_the_last_entry(name: str) -> None:
    """Whatever it is called; a token goes into a URL as it is."""
    token = encode_token(name)

    assert decode_token(token) == name
    assert token.replace("-", "").replace("_", "").isalnum()


def test_the_empty_token_is_the_beginning() -> None:
    """Clients send it to say that they can page."""
    assert decode_token("") is None


BAD_TOKENS = ["!", "a", "ÿ", "////", base64.b64encode(b"\xff").decode(), "a b"]
LISTS = ["namespaces", "namespaces/a/tables", "namespaces/a/views", "namespaces/a/functions"]
BAD_PAGES = ["pageSize=0", "pageSize=-1", "pageSize=x", "pageToken=!", "pageSize=1.5"]


@pytest.mark.parametrize("token", BAD_TOKENS)
def test_what_is_no_token_is_refused(token: str) -> None:
    """It was not given out here."""
    with pytest.raises(BadRequest, match="pageToken"):
        decode_token(token)


async def test_a_page_has_its_limit(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are asked for; without a size the list is whole."""
    monkeypatch.setattr(paging, "PAGE_ENTRIES_MAX", 3)
    for name in "vwxyz":
        await node.table(name)
    limited = await node.get("namespaces/a/tables?pageSize=1000000")
    whole = await node.get("namespaces/a/tables")

    assert (len(limited.json["identifiers"]), len(whole.json["identifiers"])) == (3, 5)


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
@pytest.mark.parametrize("size", [1, 2, 7])
async def test_pages_add_up_to_the_list(
    node: Node, monkeypatch: pytest.MonkeyPatch, chunk: int, size: int
) -> None:
    """Each entry once, in order, every page but the last full, however it is read in pieces."""
    monkeypatch.setattr(paging, "LIST_CHUNK_ENTRIES", chunk)
    tables = [f"t{number}" for number in range(5)]
    for name in tables:
        await node.table(name)
        await node.view(f"{name}v")
    found = await pages(node, "namespaces/a/tables", "identifiers", size)

    assert [name for page in found for name in page] == tables
    assert {len(page) for page in found[:-1]} <= {size}
    whole = await node.get("namespaces/a/tables")
    assert [one["name"] for one in whole.json["identifiers"]] == tables


async def pages(node: Node, path: str, member: str, size: int = 2) -> list[list[str]]:
    """All pages of a list, as the last part of each name."""
    found: list[list[str]] = []
    token: str | None = ""
    while token is not None:
        answer = await node.get(f"{path}?pageToken={token}&pageSize={size}")
        assert answer.status == 200
        found.append([one["name"] if "name" in one else one[-1] for one in answer.json[member]])
        token = answer.json["next-page-token"]
    return found


async def test_every_list_comes_in_pages(node: Node) -> None:
    """Namespaces, tables and views, each with the other kind in between."""
    for name in "abcde":
        if name != "a":
            await node.namespace(name)
        await node.table(f"t{name}")
        await node.view(f"tv{name}")

    assert await pages(node, "namespaces", "namespaces") == [["a", "b"], ["c", "d"], ["e"]]
    tables = await pages(node, "namespaces/a/tables", "identifiers")
    assert tables == [["ta", "tb"], ["tc", "td"], ["te"]]
    views = await pages(node, "namespaces/a/views", "identifiers", 5)
    assert views == [["tva", "tvb", "tvc", "tvd", "tve"]]


async def test_without_a_token_the_list_is_whole(node: Node) -> None:
    """With a size alone it is a first page."""
    for name in "xyz":
        await node.table(name)
    whole = await node.get("namespaces/a/tables")
    first = await node.get("namespaces/a/tables?pageSize=2")
    java = await node.get("namespaces/a/tables?pageToken=")

    assert len(whole.json["identifiers"]) == 3
    assert whole.json["next-page-token"] is None
    assert len(first.json["identifiers"]) == 2
    assert first.json["next-page-token"]
    assert java.json == whole.json


async def test_what_changes_between_pages(node: Node) -> None:
    """The next page is of the present state, behind the last name, even if that is gone."""
    for name in ("b", "d", "f"):
        await node.table(name)
    first = await node.get("namespaces/a/tables?pageSize=2")
    await node.delete("namespaces/a/tables/d")
    for name in ("a", "c", "e"):
        await node.table(name)
    token = first.json["next-page-token"]
    second = await node.get(f"namespaces/a/tables?pageToken={token}&pageSize=9")

    assert [one["name"] for one in second.json["identifiers"]] == ["e", "f"]


@pytest.mark.parametrize("query", BAD_PAGES)
@pytest.mark.parametrize("path", LISTS)
async def test_bad_pages_are_refused(node: Node, path: str, query: str) -> None:
    """In every list."""
    answer = await node.get(f"{path}?{query}")

    assert answer.error[:2] == (400, "BadRequestException")
