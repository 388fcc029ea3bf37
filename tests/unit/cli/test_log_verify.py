"""`headgate log verify` and `checkpoint`: what was done behind Headgate's back shows."""

import asyncio
import json
import sqlite3
import struct
import zlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from headgate.catalog.log_rounds import LogRounds
from headgate.cli.main import run
from headgate.kernel.head import Head, Link
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import Encoded, payload_of, single
from headgate.settings.loading import load
from headgate.wiring import open_kernel
from tests.unit.catalog.lakes import METALAKE, commit, set_properties
from tests.unit.cli.stores import opened_store

Output = pytest.CaptureFixture[str]
T = TypeVar("T")
COMMITS = 30


class Shop:
    """A store with a table that was changed often, somebody who has its file, and commands."""

    def __init__(self, folder: Path, capsys: Output) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._capsys = capsys
        self.realm, self.pointer, newest = self._longest()
        self.ids = [newest, *self.head(newest).tail][::-1]
        """The last commits of the catalog, the oldest first."""

    def run(self, *arguments: str, code: int = 0, data: Path | None = None) -> str:
        """All that a command says; it must end with this code."""
        ended = run(["log", *arguments, "--data", str(data or self.data)])
        said = self._capsys.readouterr()
        assert ended == code, said
        return said.out + said.err

    def json(self, *arguments: str, code: int = 0, data: Path | None = None) -> Any:
        return json.loads(self.run(*arguments, "--json", code=code, data=data))

    def export(self, folder: Path) -> None:
        assert run(["realm", "export", METALAKE, str(folder), "--data", str(self.data)]) == 0
        self._capsys.readouterr()

    def ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.data / "headgate.db") as database:
            found = database.execute(sql, values).fetchall()
        database.close()
        return found

    def head(self, id: int) -> Head:
        return self.do(lambda kernel: kernel.store.get(self.realm, id, Head))

    def rewrite(self, id: int, payload: bytes) -> None:
        """Write other fields into the row of an object, with a checksum that fits them."""
        checksum = zlib.crc32(payload, zlib.crc32(f"{self.realm}/{id}/head/0".encode()))
        value = struct.pack(">BBI", 1, 0, checksum) + payload
        self.ask("update objects set value = ? where id = ?", value, id)

    def payload(self, id: int) -> bytes:
        [(value,)] = self.ask("select value from objects where id = ?", id)
        return payload_of(self.realm, Encoded(id, "head", value))

    def do(self, work: Callable[[Kernel], Awaitable[T]]) -> T:
        """Do something with the store, with a new cache."""

        async def done() -> T:
            async with open_kernel(load(sets=[f"data={self.data}"])) as kernel:
                return await work(kernel)

        return asyncio.run(done())

    def rewrite_tail(self, ids: Sequence[int]) -> None:
        """Change the first of these commits, and let the others follow it as if it had been so."""

        async def rewrite(kernel: Kernel) -> None:
            digest = b""
            for id in ids:
                head = await kernel.store.get(self.realm, id, Head)
                changes: dict[str, Any] = {"link": Link(head.seq, digest, b"")}
                forged = msgspec.structs.replace(
                    head, **(changes if digest else {"marks": {"forged": 1}})
                )
                encoded = kernel.store.types.encode(self.realm, id, forged)
                await kernel.backend.delete(self.realm, [id])
                await kernel.backend.write([single(self.realm, encoded, 0)])
                digest = encoded.digest

        self.do(rewrite)

    def place(self, id: int) -> tuple[str, str, int, str]:
        """How a commit is named where its log breaks."""
        return (self.realm, self.pointer, self.head(id).seq, str(id))

    def _longest(self) -> tuple[str, str, int]:
        [(realm, pointer, newest)] = self.ask(
            "select realm, name, value from pointers where name like 'cat/%/heads/main'"
        )
        return realm, pointer, newest


@pytest.fixture(name="shop")
def _shop(tmp_path: Path, capsys: Output) -> Shop:
    async def make() -> None:
        async with opened_store(tmp_path / "data") as node:
            await node.table()
            for number in range(COMMITS):
                body = commit([set_properties(n=str(number))])
                await node.made("namespaces/a/tables/t", body)

    asyncio.run(make())
    return Shop(tmp_path, capsys)


def places(found: Any) -> list[tuple[str, str, int, str]]:
    return [(one["realm-id"], one["pointer"], one["seq"], one["commit"]) for one in found["breaks"]]


def test_logs_that_nobody_touched_hold(shop: Shop) -> None:
    """All of them are walked, and counted; those of one realm if one is named."""
    all_logs = shop.json("verify")
    one = shop.json("verify", "--realm", METALAKE)
    system = shop.json("verify", "--realm", "::system::")
    said = shop.run("verify")

    assert (all_logs["broken"], all_logs["unlinked"], all_logs["cut"]) == (0, 0, 0)
    assert all_logs["commits"] == one["commits"] + system["commits"] > COMMITS
    assert all_logs["pointers"] == one["pointers"] + system["pointers"]
    assert f"commits         {all_logs['commits']}\n" in said
    assert "does not exist" in shop.run("verify", "--realm", "nowhere", code=1)


def test_a_changed_note_is_found_where_it_is(shop: Shop) -> None:
    """Somebody edits who did something, and sees to it that the checksum fits."""
    id = shop.ids[-5]
    payload = shop.payload(id)
    forged = payload.replace(b"alter", b"renew")
    assert forged != payload
    shop.rewrite(id, forged)
    found = shop.json("verify", code=1)
    said = shop.run("verify", code=1)

    assert (found["broken"], places(found)) == (1, [shop.place(id)])
    assert found["breaks"][0]["realm"] == METALAKE
    assert str(id) in said
    assert "not what the commit after it was made on" in said


def test_two_commits_that_changed_places_are_found(shop: Shop) -> None:
    """Neither has the number that it should have."""
    first, second = shop.ids[5], shop.ids[9]
    at = [shop.place(second), shop.place(first)]
    ours, theirs = shop.payload(first), shop.payload(second)
    shop.rewrite(first, theirs)
    shop.rewrite(second, ours)

    assert places(shop.json("verify", code=1)) == at


def test_a_removed_commit_is_found(shop: Shop) -> None:
    """Older ones are there, so it was no cut."""
    place = shop.place(shop.ids[7])
    shop.ask("delete from objects where id = ?", shop.ids[7])
    found = shop.json("verify", code=1)

    assert places(found) == [place]
    assert found["breaks"][0]["why"] == "it is not stored, and older ones are"


def test_changed_bytes_are_found(shop: Shop) -> None:
    """Whoever does not mend the checksum is found out by it."""
    place = shop.place(shop.ids[7])
    shop.ask("update objects set value = cast(value || x'00' as blob) where id = ?", shop.ids[7])
    found = shop.json("verify", code=1)

    assert places(found) == [place]
    assert "checksum" in found["breaks"][0]["why"]


def test_a_rewritten_tail_is_whole_and_refused_against_a_checkpoint(shop: Shop) -> None:
    """Whoever makes all later commits anew cannot change what was written down before."""
    file = shop.folder / "kept" / "log.jsonl"
    file.parent.mkdir()
    written = shop.json("checkpoint", "--out", str(file))
    before = shop.json("verify", "--checkpoint", str(file))
    place = shop.place(shop.ids[-1])
    shop.rewrite_tail(shop.ids[-8:])
    alone = shop.json("verify")
    compared = shop.json("verify", "--checkpoint", str(file), code=1)

    assert written["pointers"] == before["matched"] == before["pointers"]
    assert (before["checkpoints"], before["broken"]) == (1, 0)
    assert alone["broken"] == 0
    assert places(compared) == [place]
    assert compared["matched"] == before["matched"] - 1


def test_each_line_of_a_file_counts(shop: Shop) -> None:
    """History that was rewritten between two checkpoints does not fit the first."""
    file = shop.folder / "log.jsonl"
    shop.json("checkpoint", "--out", str(file), "--realm", METALAKE)
    shop.rewrite_tail(shop.ids[-3:])
    shop.json("checkpoint", "--out", str(file), "--realm", METALAKE)
    found = shop.json("verify", "--checkpoint", str(file), "--realm", METALAKE, code=1)

    assert len(file.read_bytes().splitlines()) == found["checkpoints"] == 2
    assert places(found) == [shop.place(shop.ids[-1])]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_log_that_was_set_back_is_refused_against_a_checkpoint(shop: Shop) -> None:
    """It ends before a commit that was there."""
    file = shop.folder / "log.jsonl"
    shop.json("checkpoint", "--out", str(file))
    place = shop.place(shop.ids[-1])
    shop.ask("update pointers set value = ? where name = ?", shop.ids[-4], shop.pointer)
    alone = shop.json("verify")
    found = shop.json("verify", "--checkpoint", str(file), code=1)

    assert alone["broken"] == 0
    assert places(found) == [place]
    assert "it was there before, and the log ends at" in found["breaks"][0]["why"]


def test_a_forged_checkpoint_is_refused(shop: Shop, tmp_path: Path) -> None:
    """With another digest, another signature or the key of another store: nothing is compared."""
    line = shop.run("checkpoint")
    signed = json.loads(line)
    digest = signed["checkpoint"]["pointers"][0]["digest"]
    other = tmp_path / "other"
    run(["realm", "create", "x", "--data", str(other)])
    foreign = shop.run("checkpoint", data=other).splitlines()[-1]
    forged = {
        "its signature does not fit": line.replace(digest, "0" * 64),
        "does not fit": line.replace(signed["signature"], "00" * 64),
        "it names the key": foreign,
        "it is damaged": line[:-10],
        "there is none in it": "\n",
    }
    for number, (why, text) in enumerate(forged.items()):
        file = tmp_path / f"{number}.jsonl"
        file.write_text(text)

        assert why in shop.run("verify", "--checkpoint", str(file), code=1)

    swapped = json.loads(foreign) | {"key": signed["key"]}
    file.write_bytes(msgspec.json.encode(swapped))
    assert "does not fit" in shop.run("verify", "--checkpoint", str(file), code=1)


def test_others_check_with_the_public_key(shop: Shop, tmp_path: Path) -> None:
    """Who compares need not have the master key, and makes none."""
    file = shop.folder / "log.jsonl"
    key = shop.json("checkpoint", "--out", str(file))["key"]
    (shop.data / "keys" / "master.key").unlink()
    refused = shop.run("verify", "--checkpoint", str(file), code=2)
    found = shop.json("verify", "--checkpoint", str(file), "--public-key", key)

    assert "has no master key" in refused
    assert "give the key that signed it with --public-key" in refused
    assert not (shop.data / "keys" / "master.key").exists()
    assert found["matched"] == found["pointers"]
    for bad in ("00", "zz" * 32):
        said = shop.run("verify", "--checkpoint", str(file), "--public-key", bad, code=2)
        assert "is no public key" in said


def test_a_cut_log_holds_from_its_first_commit_that_is_kept(shop: Shop) -> None:
    """A checkpoint from before the cut can no longer be compared there, which is said."""
    file = shop.folder / "log.jsonl"
    shop.json("checkpoint", "--out", str(file))

    async def cut(kernel: Kernel) -> int:
        rounds = LogRounds(kernel, 1)
        rounds._retention_ms = 1
        await rounds.make_one()
        return rounds.commits_cut

    before = shop.json("verify")["commits"]
    gone = shop.do(cut)
    found = shop.json("verify", "--checkpoint", str(file))

    assert gone > COMMITS
    assert (found["broken"], found["commits"]) == (0, before - gone)
    assert found["cut"] == len(found["cut-early"]) > 0, "nothing is 30 days old"
    assert found["matched"] == found["pointers"], "the current commits are kept"


def test_an_export_says_which_commits_it_was_made_of(shop: Shop, tmp_path: Path) -> None:
    """It is compared with the log of its store; elsewhere it is checked by itself."""
    shop.run("checkpoint", "--realm", METALAKE)  # makes the key
    out = tmp_path / "out"
    shop.export(out)
    key = json.loads((out / "log-checkpoint.json").read_text())["key"]
    found = shop.json("verify", "--export", str(out))
    other = tmp_path / "other"
    run(["realm", "create", "x", "--data", str(other)])
    shop.run("verify", data=other)
    elsewhere = shop.json("verify", "--export", str(out), "--public-key", key, data=other)

    assert (found["matched"], found["broken"]) == (found["pointers"], 0)
    assert (elsewhere["checkpoints"], elsewhere["pointers"]) == (1, 0)
    place = shop.place(shop.ids[-1])
    shop.rewrite_tail(shop.ids[-2:])
    assert places(shop.json("verify", "--export", str(out), code=1)) == [place]


def test_an_export_that_was_made_anew_is_not_the_one_that_was_signed(
    shop: Shop, tmp_path: Path
) -> None:
    """Its own digests fit, and the signature is of other content."""
    shop.run("checkpoint")
    first, second = tmp_path / "1", tmp_path / "2"
    shop.export(first)
    run(["realm", "create", "x", "--data", str(shop.data)])
    shop.ask("update pointers set value = ? where name = ?", shop.ids[-4], shop.pointer)
    shop.export(second)
    (second / "log-checkpoint.json").write_bytes((first / "log-checkpoint.json").read_bytes())

    said = shop.run("verify", "--export", str(second), code=1)
    assert "is not the one that was signed" in said
    (second / "log-checkpoint.json").unlink()
    assert "cannot be compared with a log" in shop.run("verify", "--export", str(second), code=1)


def test_an_export_of_a_store_without_a_master_key_is_not_signed(
    shop: Shop, tmp_path: Path
) -> None:
    """None is made for it."""
    shop.export(tmp_path / "out")

    assert not (tmp_path / "out" / "log-checkpoint.json").exists()
    assert not (shop.data / "keys").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["verify", "--checkpoint", "a", "--export", "b"], "cannot be used together"),
        (["verify", "--public-key", "aa"], "can only be used with"),
        (["verify", "--export", "a", "--realm", "x"], "which is of one realm"),
        (["verify", "--checkpoint", "/nowhere/at/all"], "cannot be read"),
        (["checkpoint", "--out", "/nowhere/at/all"], "cannot be written to"),
        (["--limit", "3", "verify"], "written behind its name"),
    ],
)
def test_what_cannot_be_is_refused(shop: Shop, arguments: list[str], why: str) -> None:
    """Before anything is read or written."""
    ended = run(["log", *arguments, "--data", str(shop.data)])
    said = shop._capsys.readouterr().err

    assert ended in {1, 2}
    assert why in said


def test_without_a_store_nothing_is_made(shop: Shop, tmp_path: Path) -> None:
    """Neither a store nor a key."""
    nothing = tmp_path / "nothing"
    for command in ("verify", "checkpoint"):
        assert "there is no store" in shop.run(command, code=1, data=nothing)

    assert not nothing.exists()


@pytest.mark.parametrize("way", ["name", "link"])
def test_no_checkpoint_is_written_among_the_files_of_tables(shop: Shop, way: str) -> None:
    """What no table refers to is deleted there; so it is refused as the setting is."""
    warehouse = next(path for path in shop.data.iterdir() if path.name == "warehouse")
    folder = warehouse
    if way == "link":
        folder = shop.folder / "link"
        folder.symlink_to(warehouse)
    refused = shop.run("checkpoint", "--out", str(folder / "log.jsonl"), code=2)

    assert "tables of a catalog may lie in" in refused
    assert not (warehouse / "log.jsonl").exists()
