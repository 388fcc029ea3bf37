"""Contents of metadata files: small ones come from the database, large ones are read once."""

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog import metadata_files
from headgate.catalog.metadata_files import memo, next_file, read_metadata
from headgate.errors import BadMetadata
from headgate.limits import GZIP_INLINE_BYTES_MAX, MEMO_BYTES_MAX, MEMO_COMPRESSED_BYTES_MAX
from tests.unit.catalog.lakes import Node, World, call, commit, set_properties

TABLE = "namespaces/a/tables/t"


def noise(count: int) -> dict[str, str]:
    """Properties that hardly compress."""
    source = (f"{number * 2_654_435_761 % 2**32:08x}" for number in range(count * 8))
    return {f"p{number}": "".join(next(source) for _ in range(8)) for number in range(count)}


async def test_a_warm_load_touches_no_store(world: World, node: Node) -> None:
    """Neither on the node that wrote the table nor on another one: small metadata is in the row."""
    other = await world.node()
    await node.table()
    for reader in (node, other):
        reader.storage.counts.clear()
        for query in ("", "?snapshots=refs"):
            assert (await reader.get(f"{TABLE}{query}")).status == 200

        assert reader.storage.counts["read"] == 0


async def test_large_metadata_is_read_once_per_process(world: World, node: Node) -> None:
    """Also when many ask at once; the node that wrote it never reads it."""
    made = await node.table(properties=noise(1_000))
    other = await world.node()
    node.storage.counts.clear()
    own = await node.get(TABLE)
    answers = await asyncio.gather(*(other.get(TABLE) for _ in range(5)))
    refs = await other.get(f"{TABLE}?snapshots=refs")

    assert own.json["metadata"] == made["metadata"]
    assert {answer.status for answer in answers} == {200}
    assert refs.json["metadata"]["properties"] == made["metadata"]["properties"]
    assert answers[0].json == own.json
    assert (node.storage.counts["read"], other.storage.counts["read"]) == (0, 1)
    await other.made(TABLE, commit([set_properties(k="v")]))
    await other.load()
    assert other.storage.counts["read"] == 1


async def test_large_metadata_is_registered_with_one_read(world: World, node: Node) -> None:
    """What was read to be checked is what is answered."""
    made = await node.table(properties=noise(1_000))
    await node.delete(TABLE)
    other = await world.node()
    body = {"name": "r", "metadata-location": made["metadata-location"]}
    await other.made("namespaces/a/register", body)
    await other.load("r")

    assert other.storage.counts["read"] == 1


async def test_a_lost_large_file_is_told_when_it_is_read(world: World, node: Node) -> None:
    """Nothing is kept of the failure: when the file is back, so is the table."""
    made = await node.table(properties=noise(1_000))
    other = await world.node()
    other.storage.counts["far"] = 1
    file = Path(made["metadata-location"])
    data = file.read_bytes()
    file.unlink()
    missing = f"Failed to open input stream for file: {made['metadata-location']}"

    assert (await other.get(TABLE)).error == (404, "NotFoundException", missing)
    assert (await other.post(TABLE, commit([set_properties(k="v")]))).error[2] == missing
    file.write_bytes(data)
    assert (await other.get(TABLE)).status == 200


@pytest.mark.parametrize("count", [1, 3_000])
async def test_compressed_metadata(world: World, node: Node, count: int) -> None:
    """The property compresses the files, small and large; loading and changing read them back."""
    codec = {"write.metadata.compression-codec": "GZIP"}
    made = await node.table(properties=codec | noise(count))
    after = await node.made(TABLE, commit([set_properties(k="v")]))
    file = Path(after["metadata-location"])
    other = await world.node()

    assert file.name.startswith("00001-")
    assert file.name.endswith(".gz.metadata.json")
    assert json.loads(gzip.decompress(file.read_bytes())) == after["metadata"]
    assert (len(json.dumps(after["metadata"])) > GZIP_INLINE_BYTES_MAX) == (count > 1)
    assert (await other.load())["metadata"] == after["metadata"]
    assert made["metadata"]["properties"].items() <= after["metadata"]["properties"].items()


async def test_a_view_is_compressed_if_it_says_so(node: Node) -> None:
    """The same property as for tables."""
    made = await node.view(properties={"write.metadata.compression-codec": "gzip"})
    data = Path(made["metadata-location"]).read_bytes()

    assert json.loads(gzip.decompress(data)) == made["metadata"]


def test_what_is_small_when_compressed_is_kept() -> None:
    """All of it or nothing; very long ones are not even tried."""
    small = b"x" * MEMO_COMPRESSED_BYTES_MAX
    repeated = b"x" * 10 * MEMO_COMPRESSED_BYTES_MAX
    random = json.dumps(noise(1_000)).encode()

    assert memo(small) == small
    assert memo(repeated) == repeated
    assert memo(random) == b""
    assert memo(b"x" * (MEMO_BYTES_MAX + 1)) == b""


@pytest.mark.parametrize(
    ("previous", "properties", "expected"),
    [
        (None, {}, "/t/metadata/00000-u.metadata.json"),
        ("/x/00041-a.metadata.json", {}, "/t/metadata/00042-u.metadata.json"),
        ("/x/99999-a.gz.metadata.json", {}, "/t/metadata/100000-u.metadata.json"),
        ("/x/v3.metadata.json", {}, "/t/metadata/00000-u.metadata.json"),
        (None, {"write.metadata.path": "/m/"}, "/m/00000-u.metadata.json"),
        (None, {"write.metadata.path": ""}, "/t/metadata/00000-u.metadata.json"),
        (
            None,
            {"write.metadata.compression-codec": "gzip"},
            "/t/metadata/00000-u.gz.metadata.json",
        ),
    ],
)
def test_files_are_numbered(
    previous: str | None, properties: dict[str, str], expected: str
) -> None:
    """One more than the file before, or from zero."""
    assert next_file("/t/", properties, previous, "u") == expected


def test_an_unknown_codec_is_refused() -> None:
    """Readers would not know what to do with the file."""
    with pytest.raises(BadMetadata, match="none or gzip"):
        next_file("/t", {"write.metadata.compression-codec": "zstd"}, None, "u")


async def test_a_bomb_is_not_unpacked(
    world: World, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file may hold more than any metadata file may have."""
    monkeypatch.setattr(metadata_files, "METADATA_FILE_BYTES_MAX", 1_000)
    file = Path(world.warehouse) / "bomb"
    file.parent.mkdir(exist_ok=True)
    files = node.lake.files(await node.lake.open(call()))
    for length, fits in [(999, True), (1_001, False)]:
        file.write_bytes(gzip.compress(b"x" * length))
        if fits:
            assert await read_metadata(files, file.as_posix()) == b"x" * length
        else:
            with pytest.raises(BadMetadata, match="too large"):
                await read_metadata(files, file.as_posix())


async def test_very_much_is_not_unpacked_from_very_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of kilobytes that becomes hundreds of megabytes is no metadata; nobody packs so."""
    monkeypatch.setattr(metadata_files, "METADATA_UNPACKED_BYTES_MIN", 10_000)
    plain, packed = b"x" * 10_000, gzip.compress(b"x" * 1_000_000)

    assert metadata_files.unzipped(gzip.compress(plain), "/a") == plain
    with pytest.raises(BadMetadata, match="too large"):
        metadata_files.unzipped(packed, "/a")


async def test_unknown_members_survive(world: World, node: Node) -> None:
    """What a newer client wrote stays in the file through our changes."""
    made = await node.table()
    await node.delete(TABLE)
    file = Path(made["metadata-location"])
    metadata: dict[str, Any] = json.loads(file.read_bytes())
    metadata["from-the-future"] = {"a": [1, 2.50, None]}
    file.write_text(json.dumps(metadata))
    await node.made("namespaces/a/register", {"name": "t", "metadata-location": file.as_posix()})
    after = await node.made(TABLE, commit([set_properties(k="v")]))

    assert after["metadata"]["from-the-future"] == {"a": [1, 2.50, None]}
