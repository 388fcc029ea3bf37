"""The setting `log.checkpoint-file`: which servers write checkpoints, and what is refused."""

import asyncio
from pathlib import Path

import pytest

from headgate.application import load_application
from headgate.authentication import log_key
from headgate.catalog.checkpoints import read_checkpoints
from headgate.errors import BadSetting
from headgate.settings.loading import load

WAIT_SECONDS = 20.0


async def test_a_server_writes_checkpoints_by_itself(tmp_path: Path) -> None:
    """Signed with the store's key; one that only reads writes none."""
    file = tmp_path / "kept.jsonl"
    flags: dict[str, str | bool] = {
        "data": str(tmp_path / "data"),
        "log.checkpoint-file": str(file),
    }
    async with asyncio.timeout(WAIT_SECONDS), load_application(load(flags=flags), None)._opening():
        while not file.exists() or not file.stat().st_size:
            await asyncio.sleep(0.01)
    [made] = read_checkpoints(file.read_bytes(), log_key(load(flags=flags)).public)
    assert len(made.pointers) > 1

    other = tmp_path / "other.jsonl"
    reading = flags | {"read-only": True, "log.checkpoint-file": str(other)}
    async with load_application(load(flags=reading), None)._opening():
        assert not other.exists()


async def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    """An operator who relies on it must not find out later."""
    flags = {"data": str(tmp_path / "data"), "log.checkpoint-file": str(tmp_path / "no" / "where")}
    with pytest.raises(BadSetting, match="checkpoints cannot be written"):
        async with load_application(load(flags=flags), None)._opening():
            pass


def test_a_shared_database_needs_a_master_key() -> None:
    """Nodes could not sign alike without one."""
    settings = load(flags={"backend": "postgresql://h/d"})
    with pytest.raises(BadSetting, match="nothing can be signed"):
        log_key(settings)
    with pytest.raises(BadSetting, match="has no master key"):
        log_key(settings, create=False)
    with_key = load(flags={"backend": "postgresql://h/d", "security.master-key": "m" * 32})
    assert log_key(with_key, create=False).public.text == log_key(with_key).public.text


@pytest.mark.parametrize("seconds", ["0", "-1", "9"])
def test_an_interval_that_is_too_short_is_refused(seconds: str) -> None:
    """All logs are looked at each time."""
    with pytest.raises(BadSetting, match=r"log\.checkpoint-seconds"):
        load(flags={"log.checkpoint-seconds": seconds})
