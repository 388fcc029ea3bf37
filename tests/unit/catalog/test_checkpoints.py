"""Checkpoints: signed lines that say where logs stood, and their file."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from headgate.catalog.checkpoint_file import CheckpointFile
from headgate.catalog.checkpoint_rounds import CheckpointRounds
from headgate.catalog.checkpoints import (
    Checkpoint,
    PointerMark,
    SigningLogKey,
    checkpoint_of,
    known_positions,
    make_checkpoint,
    public_key_of,
    read_checkpoints,
)
from headgate.errors import BadSetting, Corrupt, NewerFormat, NotFound, TooLarge
from headgate.kernel.chain import Position
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.kernel.system import SYSTEM_REALM
from headgate.testing.kernels import POINTER, Rig, entropy, putting, turns

KEY = SigningLogKey(b"k" * 32)
MARK = PointerMark("r1", "shop", "catalogs", 7, "1234", "ab" * 32)
INTERVAL_SECONDS = 60


def checkpoint(**changes: object) -> Checkpoint:
    return msgspec.structs.replace(Checkpoint(1, 5, (MARK,)), **changes)


def test_what_was_signed_is_read_back() -> None:
    """Several lines, blank ones among them."""
    lines = KEY.sign(checkpoint()) + b"\n" + KEY.sign(checkpoint(made_ms=6))

    assert read_checkpoints(lines, KEY.public) == [checkpoint(), checkpoint(made_ms=6)]
    assert read_checkpoints(lines, public_key_of(KEY.public.text))[0] == checkpoint()


def test_the_key_is_that_of_the_master_key() -> None:
    """The same on all nodes, another one for another master key, and never shown."""
    assert SigningLogKey(b"k" * 32).public.text == KEY.public.text
    assert SigningLogKey(b"l" * 32).public.text != KEY.public.text
    assert "***" in repr(KEY)


def test_a_flipped_bit_anywhere_in_a_line_is_refused() -> None:
    """In what is said, in the key or in the signature."""
    line = KEY.sign(checkpoint()).rstrip()
    for at in range(len(line)):
        forged = bytearray(line)
        forged[at] ^= 1
        with pytest.raises(Corrupt):
            read_checkpoints(bytes(forged), KEY.public)


def test_a_line_of_another_key_is_refused() -> None:
    """Also one that claims to be of this key."""
    line = SigningLogKey(b"l" * 32).sign(checkpoint())
    claimed = msgspec.json.encode(msgspec.json.decode(line) | {"key": KEY.public.text})

    with pytest.raises(Corrupt, match="it names the key"):
        read_checkpoints(line, KEY.public)
    with pytest.raises(Corrupt, match="its signature does not fit"):
        read_checkpoints(claimed, KEY.public)


@pytest.mark.parametrize("mark", [{"digest": "zz"}, {"commit": "x"}])
def test_what_is_signed_and_no_position_is_refused(mark: dict[str, str]) -> None:
    """A program that writes such lines is broken."""
    line = KEY.sign(checkpoint(pointers=(msgspec.structs.replace(MARK, **mark),)))

    with pytest.raises(Corrupt, match="it is damaged"):
        read_checkpoints(line, KEY.public)


def test_a_newer_format_is_named() -> None:
    """Whoever is older says so."""
    with pytest.raises(NewerFormat, match="it has format 2"):
        read_checkpoints(KEY.sign(checkpoint(format=2)), KEY.public)


def test_positions_are_gathered_by_pointer() -> None:
    """Each once; two that differ are both kept, so that one of them is refused."""
    other = msgspec.structs.replace(MARK, digest="cd" * 32)
    elsewhere = msgspec.structs.replace(MARK, realm="r2")
    known = known_positions([checkpoint(), checkpoint(pointers=(MARK, other, elsewhere))])

    assert {key.realm: len(of[7]) for key, of in known.items()} == {"r1": 2, "r2": 1}
    only = known_positions([checkpoint(pointers=(MARK, elsewhere))], "r2")
    assert only == {
        PointerKey("r2", "catalogs"): {7: {Position(7, 1234, bytes.fromhex("ab" * 32))}}
    }


@pytest.fixture(name="kernel")
async def _kernel() -> AsyncIterator[Kernel]:
    async with Rig() as rig:
        yield await rig.open()


async def test_a_checkpoint_has_all_logs_as_they_stand(kernel: Kernel) -> None:
    """With the names of realms, and what the heads are known by; what is not stored is left out."""
    realm = await kernel.realms.create("shop")
    await kernel.realm(realm.id).commit(POINTER, putting(b"a"))
    made, own = await make_checkpoint(kernel), await make_checkpoint(kernel, realm.id)
    by_name = {(one.realm_name, one.pointer): one for one in made.pointers}

    assert {name for name, _ in by_name} == {"shop", "system"}
    assert {one.realm for one in own.pointers} == {realm.id}
    assert (made.realm, own.realm) == ("", realm.id)
    mark = by_name["shop", POINTER]
    chain = await kernel.chains.verify(PointerKey(realm.id, POINTER), {}, lambda _: None)
    assert mark.position == chain.newest
    assert by_name["system", "realms"].realm == SYSTEM_REALM
    assert (await checkpoint_of(kernel, {PointerKey("gone", "x"): 7})).pointers == ()


def test_lines_are_appended_whole(tmp_path: Path) -> None:
    """Only the owner reads them; half a line, of a disk that was full, does not spoil the next."""
    file = CheckpointFile(tmp_path / "log.jsonl")
    file.check()
    assert file.append(b"one\n")
    with file.path.open("ab") as torn:
        torn.write(b"tw")
    assert file.append(b"three\n")

    assert file.read() == b"one\ntw\nthree\n"
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_one_line_is_written_in_an_interval(tmp_path: Path) -> None:
    """Whichever process comes first; a file that is empty or was moved away is due at once."""
    file, now_ms = CheckpointFile(tmp_path / "log.jsonl"), 1_000_000
    assert file.due_in_ms(now_ms, 500) == 0
    file.check()
    assert file.due_in_ms(now_ms, 500) == 0
    assert file.append(b"one\n", now_ms=now_ms, interval_ms=500)
    os.utime(file.path, (1_000, 1_000))

    assert file.due_in_ms(now_ms + 100, 500) == 400
    assert not file.append(b"two\n", now_ms=now_ms + 100, interval_ms=500)
    assert file.due_in_ms(now_ms - 100, 500) == 500, "a clock that went back waits no longer"
    assert file.append(b"two\n", now_ms=now_ms + 500, interval_ms=500)
    assert file.read() == b"one\ntwo\n"


def test_what_is_no_file_is_not_written(tmp_path: Path) -> None:
    """A link is not followed, nor is a pipe or a folder."""
    (tmp_path / "link").symlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", ".", "no/where"):
        with pytest.raises(BadSetting, match="checkpoints cannot be written"):
            CheckpointFile(tmp_path / name).check()

    assert not (tmp_path / "other").exists()


def test_a_failed_write_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is closed, and the next line begins a line."""
    file = CheckpointFile(tmp_path / "log.jsonl")

    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", fail)
        with pytest.raises(BadSetting, match="No space left"):
            file.append(b"one\n")
    assert file.append(b"two\n")
    assert file.read() == b"two\n"


def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not there, and what is too large."""
    file = CheckpointFile(tmp_path / "log.jsonl")
    with pytest.raises(NotFound, match="cannot be read"):
        file.read()
    file.append(b"12345\n")
    monkeypatch.setattr("headgate.catalog.checkpoint_file.CHECKPOINT_FILE_BYTES_MAX", 5)
    with pytest.raises(TooLarge, match="in several parts"):
        file.read()


async def test_a_checkpoint_is_written_when_it_is_due(kernel: Kernel, tmp_path: Path) -> None:
    """By one of two processes that share the file."""
    file = CheckpointFile(tmp_path / "log.jsonl")
    one, two = [CheckpointRounds(kernel, KEY, file, INTERVAL_SECONDS) for _ in range(2)]
    now = kernel.clock.wall_ms() / 1_000
    assert await one.make_one()
    os.utime(file.path, (now, now))
    assert not await two.make_one()
    os.utime(file.path, (now - INTERVAL_SECONDS - 1,) * 2)
    assert await two.make_one()

    assert (one.written, two.written) == (1, 1)
    [first, second] = read_checkpoints(file.read(), KEY.public)
    assert first.pointers == second.pointers


async def test_who_comes_second_at_the_same_moment_writes_nothing(
    kernel: Kernel, tmp_path: Path
) -> None:
    """Both found it due; the lock of the file decides."""
    file = CheckpointFile(tmp_path / "log.jsonl")
    rounds = CheckpointRounds(kernel, KEY, file, INTERVAL_SECONDS)
    appended = file.append

    def late(line: bytes, **when: int) -> bool:
        appended(b"another's\n")
        now = kernel.clock.wall_ms() / 1_000
        os.utime(file.path, (now, now))
        return appended(line, **when)

    file.append = late  # type: ignore[method-assign]
    assert not await rounds.make_one()
    assert (rounds.written, file.read()) == (0, b"another's\n")


async def test_a_round_that_fails_is_made_again(
    kernel: Kernel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the next interval; what is wrong is logged."""
    folder = tmp_path / "later"
    file = CheckpointFile(folder / "log.jsonl")
    rounds = CheckpointRounds(kernel, KEY, file, INTERVAL_SECONDS)
    clock = kernel.clock
    task = asyncio.create_task(rounds.make_for_ever(entropy(1)))
    while not caplog.records:
        await asyncio.sleep(0.001)
    folder.mkdir()
    await turns(5)
    clock.advance(INTERVAL_SECONDS * 1_000)  # type: ignore[attr-defined]
    while not rounds.written:
        await asyncio.sleep(0.001)
    task.cancel()

    assert caplog.records[0].message.startswith("no checkpoint was written")
    assert len(read_checkpoints(file.read(), KEY.public)) == 1
