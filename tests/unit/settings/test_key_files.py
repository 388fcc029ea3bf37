"""Files with keys that others than their owner can use: refused, or warned of."""

from pathlib import Path

import pytest

from headgate.authentication import master_key
from headgate.errors import BadSetting
from headgate.server_settings import own_key, token_secret
from headgate.settings.key_files import shared_key_files
from headgate.settings.loading import load
from headgate.settings.setting import Settings


def settings(data: Path, **more: str) -> Settings:
    given = {"data": str(data), **more}
    return load(sets=[f"{name}={text}" for name, text in given.items()])


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o601, 0o666, 0o777, 0o444])
def test_a_key_that_every_user_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    """The error says which file, its mode and what to run; the key is left as it is."""
    path = tmp_path / "keys" / "token.key"
    key = own_key(path, instead="token.secret")
    path.chmod(mode)

    with pytest.raises(BadSetting) as refused:
        own_key(path, instead="token.secret")

    assert f"(mode {mode:04o})" in refused.value.why
    assert refused.value.fix.startswith(f"Run chmod 600 {path}")
    assert "token.secret" in refused.value.fix
    assert path.read_bytes() == key


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640, 0o660])
def test_a_key_of_its_owner_or_its_group_is_used(tmp_path: Path, mode: int) -> None:
    """Volumes of containers are given to a group, with all that is in them."""
    path = tmp_path / "keys" / "token.key"
    key = own_key(path, instead="token.secret")
    path.chmod(mode)

    assert own_key(path, instead="token.secret") == key


@pytest.mark.parametrize("made", [token_secret, master_key])
def test_all_keys_of_the_server_are_looked_at(tmp_path: Path, made: object) -> None:
    """That of simple tokens, and the one that seals what is stored."""
    assert callable(made)
    used = settings(tmp_path)
    made(used)
    [file] = (tmp_path / "keys").iterdir()
    file.chmod(0o644)

    with pytest.raises(BadSetting, match="every user of this machine can read or change it"):
        made(used)


def test_files_that_not_only_their_owner_can_use_are_warned_of(tmp_path: Path) -> None:
    """Keys of the server that its group can use, and the operator's file with keys of S3."""
    s3 = tmp_path / "s3-keys"
    used = settings(tmp_path, **{"s3.credentials-file": str(s3)})
    assert list(shared_key_files(used)) == []
    token_secret(used)
    master_key(used)
    s3.write_text("[default]\n")
    s3.chmod(0o600)
    assert list(shared_key_files(used)) == []

    (tmp_path / "keys" / "master.key").chmod(0o640)
    s3.chmod(0o644)
    [master, store] = shared_key_files(used)
    assert "master.key holds a key, and not only its owner can use it (mode 0640)" in master
    assert "s3-keys holds a key, and not only its owner can use it (mode 0644)" in store
