"""What a server makes of its settings, and what it makes for itself."""

import os
import stat
from pathlib import Path
from uuid import RFC_4122, UUID

import pytest

from headgate.catalog.guards import GuardOptions
from headgate.errors import BadSetting
from headgate.server_settings import (
    KEY_BYTES,
    UUIDS_AT_ONCE,
    check_writable,
    front_options,
    guard_options,
    own_key,
    polling,
    storage_options,
    uuids,
)
from headgate.settings.loading import load
from headgate.testing.kernels import Rig


def test_a_key_is_made_once(tmp_path: Path) -> None:
    """Only its owner can read it, and nothing lies beside it."""
    path = tmp_path / "keys" / "token.key"

    key = own_key(path, instead="token.secret")

    assert len(key) == KEY_BYTES
    assert own_key(path, instead="token.secret") == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("size", [0, KEY_BYTES - 1])
def test_a_key_that_is_too_short_is_refused(tmp_path: Path, size: int) -> None:
    """Anybody could guess an empty one."""
    path = tmp_path / "token.key"
    path.write_bytes(b"x" * size)

    with pytest.raises(BadSetting, match=f"it has {size} bytes.*Restore the file; or delete it"):
        own_key(path, instead="token.secret", lost="; or delete it")


def test_a_key_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash of the machine leaves no empty key behind."""
    path = tmp_path / "token.key"
    synced: list[tuple[int, bool]] = []

    def noted(file: int) -> None:
        if stat.S_ISREG(os.fstat(file).st_mode):
            synced.append((os.fstat(file).st_size, path.exists()))

    monkeypatch.setattr(os, "fsync", noted)
    own_key(path, instead="token.secret")

    assert synced == [(KEY_BYTES, False)]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """With what to do instead."""
    (tmp_path / "keys").write_bytes(b"")

    with pytest.raises(BadSetting, match=r"cannot be read or made .*set token\.secret"):
        own_key(tmp_path / "keys" / "token.key", instead="token.secret")


def test_a_folder_for_tables_is_looked_at_and_not_made(tmp_path: Path) -> None:
    """It may be made later; below a file it cannot. Object stores are not looked at."""
    (tmp_path / "file").write_bytes(b"")
    check_writable(f"file://{tmp_path}/a/b")
    check_writable("s3://bucket/w")

    with pytest.raises(BadSetting, match=f"{tmp_path}/file is no folder that this user can write"):
        check_writable(f"file://{tmp_path}/file/w")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_uuids_are_random_ones() -> None:
    """Of version 4, written as everybody writes them, and never the same twice."""
    new_uuid = uuids()
    made = {new_uuid() for _ in range(3 * UUIDS_AT_ONCE)}

    assert len(made) == 3 * UUIDS_AT_ONCE
    for text in made:
        uuid = UUID(text)
        assert (uuid.version, uuid.variant, str(uuid)) == (4, RFC_4122, text)


def test_how_rights_are_checked_comes_from_the_settings() -> None:
    """By default each request asks, and only those are compiled again whose rights changed."""
    usual = load()
    assert guard_options(usual) == GuardOptions()
    assert not front_options(usual).is_polling

    given = load(
        sets=[
            "authorization.enabled=true",
            "authorization.service-admins=ann, bob",
            "authorization.invalidation=coarse",
            "authorization.cache-entries=7",
            "authorization.cache-ttl-seconds=60",
            "authorization.validation=poll",
        ]
    )
    admins = frozenset({"ann", "bob"})
    assert guard_options(given) == GuardOptions(
        is_on=True, admins=admins, is_fine=False, cache_entries=7, cache_seconds=60
    )
    assert front_options(given).is_polling


async def test_who_polls_comes_from_the_settings() -> None:
    """Nobody, unless that is said."""
    async with Rig() as rig:
        kernel = await rig.open()
        assert polling(load(), kernel) is None

        said = "authorization.validation=poll", "authorization.poll-interval-ms=250"
        assert polling(load(sets=said), kernel) is not None


def test_a_file_with_keys_is_looked_for_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its path is good in other folders too, where children may be."""
    monkeypatch.chdir(tmp_path)
    settings = load(sets=["s3.credentials-file=keys"])
    with pytest.raises(BadSetting, match=f"{tmp_path}/keys cannot be used: it cannot be read"):
        storage_options(settings)
    (tmp_path / "keys").write_text(
        '{"Version": 1, "AccessKeyId": "id", "SecretAccessKey": "secret"}'
    )

    s3 = storage_options(settings).s3
    assert s3 is not None
    assert s3.credentials_file == f"{tmp_path}/keys"
