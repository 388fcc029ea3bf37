"""Keys of S3 in a file that somebody renews."""

import json
import logging
import os
import pickle
from pathlib import Path

import pytest

from headgate.errors import BadSetting, StorageUnavailable, Unsupported
from headgate.storage.files import StorageFiles
from headgate.storage.key_texts import PresentKeys
from headgate.storage.options import S3Options, StorageOptions
from headgate.storage.s3_keys import check_keys, present_keys, with_present_keys
from headgate.storage.signing import S3Signer
from headgate.storage.sigv4 import Keys
from headgate.storage.vending import StorageVending
from headgate.storage.worker_files import WorkerFiles
from headgate.testing.manual_clock import START_MS, ManualClock
from headgate.testing.recording_server import RecordingServer, Reply

SECRET = "hush-hush"
HOUR_MS = 3_600_000
TABLE = "s3://bucket/ns/t1"


def ini(id: str, token: str = "") -> str:
    more = f"aws_session_token = {token}\n" if token else ""
    return f"[default]\naws_access_key_id = {id}\naws_secret_access_key={SECRET}\n{more}"


def process(id: str, ends: str | None = None) -> str:
    """What a credential process says."""
    said = {"Version": 1, "AccessKeyId": id, "SecretAccessKey": SECRET, "SessionToken": "token"}
    return json.dumps(said | ({"Expiration": ends} if ends else {}))


class KeyFile:
    """A file with keys, and the options that name it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = ManualClock()

    def options(self, **more: object) -> S3Options:
        return S3Options(credentials_file=str(self.path), **more)  # type: ignore[arg-type]

    def write(self, text: str) -> None:
        """As a careful program does it."""
        draft = self.path.with_suffix(".new")
        draft.write_text(text)
        draft.replace(self.path)

    def present(self) -> PresentKeys:
        present = present_keys(self.options(), self.clock)
        assert present is not None
        return present

    def id(self) -> str:
        return self.present().keys.access_key_id


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (ini("a"), PresentKeys(Keys("a", SECRET))),
        (ini("a", "t"), PresentKeys(Keys("a", SECRET, "t"))),
        (f"# ours\n{ini('%(a)s')}\n[other]\nregion = x\n", PresentKeys(Keys("%(a)s", SECRET))),
        (f"[other]\naws_access_key_id = b\n\n{ini('a')}", PresentKeys(Keys("a", SECRET))),
        (f"\ufeff{ini('a').upper().replace('DEFAULT', 'default')}", None),
        (process("a"), PresentKeys(Keys("a", SECRET, "token"))),
        (
            process("a", "2026-01-01T01:00:00Z"),
            PresentKeys(Keys("a", SECRET, "token"), START_MS + HOUR_MS),
        ),
        (
            process("a", "2026-01-01T02:00:00+01:00"),
            PresentKeys(Keys("a", SECRET, "token"), START_MS + HOUR_MS),
        ),
        (
            process("a", "2026-01-01T01:00:00"),
            PresentKeys(Keys("a", SECRET, "token"), START_MS + HOUR_MS),
        ),
        (
            f'\n{{"AccessKeyId": "a", "SecretAccessKey": "{SECRET}", "SessionToken": null}}\n',
            PresentKeys(Keys("a", SECRET)),
        ),
    ],
)
def test_both_forms_are_understood(file: KeyFile, text: str, wanted: PresentKeys | None) -> None:
    """Names in sections may be written in any case; other sections do not count."""
    file.path.write_text(text)
    check_keys(file.options())

    assert file.present() == (wanted or PresentKeys(Keys("A", SECRET.upper())))


UNUSABLE = {
    "": "it is empty",
    "\0": "it has no section|neither JSON",
    SECRET: "it is neither JSON nor sections",
    f"aws_access_key_id = a\naws_secret_access_key = {SECRET}": "it is neither JSON nor sections",
    f"[prod]\naws_access_key_id = a\naws_secret_access_key = {SECRET}": "no section .default.",
    f"[default]\naws_secret_access_key = {SECRET}": "has no aws_access_key_id",
    "[default]\naws_access_key_id = a": "has no aws_secret_access_key",
    f"[default]\naws_access_key_id =\naws_secret_access_key = {SECRET}": "is empty",
    f'{{"AccessKeyId": "a", "SecretAccessKey": "{SECRET}"': "Input data was truncated",
    '{"AccessKeyId": "a"}': "missing required field `SecretAccessKey`",
    f'{{"Version": 2, "AccessKeyId": "a", "SecretAccessKey": "{SECRET}"}}': "Version",
    f'{{"AccessKeyId": "", "SecretAccessKey": "{SECRET}"}}': "is empty",
    process("a", "tomorrow"): "Invalid RFC3339 encoded datetime",
    "x" * 100_000: "more than 65,536 bytes",
}


@pytest.mark.parametrize(("text", "why"), UNUSABLE.items(), ids=range(len(UNUSABLE)))
def test_what_has_no_keys_is_refused_at_the_start(file: KeyFile, text: str, why: str) -> None:
    """It is said what is wrong and what to write, and nothing of what is in the file."""
    file.path.write_text(text)

    with pytest.raises(BadSetting, match=why) as refused:
        check_keys(file.options())
    assert f"s3.credentials-file {file.path} cannot be used" in str(refused.value)
    assert "Write what" in refused.value.fix
    assert SECRET not in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused_at_the_start(file: KeyFile) -> None:
    """Whether there is none, or it is a folder or a pipe, which would be waited for."""
    with pytest.raises(BadSetting, match=r"No such file.*Name a file that this user may read"):
        check_keys(file.options())
    os.mkfifo(file.path)
    with pytest.raises(BadSetting, match="it is no file"):
        check_keys(file.options())
    with pytest.raises(BadSetting, match="it is no file"):
        check_keys(S3Options(credentials_file=str(file.path.parent)))
    file.path.unlink()
    file.path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadSetting, match="it is no text"):
        check_keys(file.options())


@pytest.mark.parametrize("name", ["access_key_id", "secret_access_key", "session_token"])
def test_a_file_and_a_key_contradict_each_other(file: KeyFile, name: str) -> None:
    """Nobody could tell which one counts."""
    file.write(ini("a"))

    with pytest.raises(BadSetting, match=r"a key in the settings too.*Remove s3.access-key-id"):
        check_keys(file.options(**{name: "x"}))


def test_keys_of_settings_are_as_they_were() -> None:
    """Without a file nothing is read, and without keys nothing is signed."""
    options = S3Options(access_key_id="a", secret_access_key=SECRET, session_token="t")
    check_keys(options)

    assert present_keys(options, ManualClock()) == PresentKeys(Keys("a", SECRET, "t"))
    assert present_keys(S3Options(), ManualClock()) is None


def test_a_file_that_changes_is_read_again(file: KeyFile) -> None:
    """Whether another takes its place, or it is written over, or it is behind a link."""
    file.write(ini("a"))
    assert file.id() == "a"
    file.write(ini("b"))
    assert file.id() == "b"
    file.path.write_text(ini("longer"))
    assert file.id() == "longer"
    target = file.path.with_name("target")
    target.write_text(ini("linked"))
    file.path.unlink()
    file.path.symlink_to(target)
    assert file.id() == "linked"


def test_a_file_is_read_again_before_its_keys_expire(file: KeyFile) -> None:
    """Even if it seems to be the same: not every file system tells."""
    file.write(process("a", "2026-01-01T01:00:00Z"))
    assert file.id() == "a"
    status = file.path.stat()
    file.path.write_text(process("b", "2026-01-01T02:00:00Z"))
    os.utime(file.path, ns=(status.st_atime_ns, status.st_mtime_ns))
    file.clock.advance(HOUR_MS - 1_000)

    assert file.id() == "b"


def test_keys_that_have_expired_are_not_used(file: KeyFile) -> None:
    """Until there are new ones."""
    file.write(process("a", "2026-01-01T01:00:00Z"))
    file.clock.advance(HOUR_MS - 1)
    assert file.id() == "a"
    file.clock.advance(1)

    with pytest.raises(
        StorageUnavailable,
        match=r"cannot be used: they were good until 2026-01-01T01:00:00Z, and the file has no "
        r"others. Renew the file",
    ):
        file.present()
    file.write(process("b", "2026-01-01T02:00:00Z"))
    assert file.id() == "b"


def test_the_last_keys_serve_while_the_file_is_bad(
    file: KeyFile, caplog: pytest.LogCaptureFixture
) -> None:
    """Until they expire; it is told once each time that it becomes bad, without what is in it."""
    file.write(process("a", "2026-01-01T01:00:00Z"))
    assert file.id() == "a"
    with caplog.at_level(logging.WARNING):
        file.write(f"broken {SECRET}")
        assert [file.id(), file.id()] == ["a", "a"]
        file.path.unlink()
        assert file.id() == "a"
        assert len(caplog.records) == 1
        file.write(process("b", "2026-01-01T01:00:00Z"))
        assert file.id() == "b"
        file.path.unlink()
        assert file.id() == "b"
        assert len(caplog.records) == 2
        file.clock.advance(HOUR_MS)
        with pytest.raises(StorageUnavailable, match=r"good until .*, and it cannot be read"):
            file.present()
    assert len(caplog.records) == 2
    assert "Until they expire, the keys it had are used." in caplog.text
    assert SECRET not in caplog.text


def test_without_any_keys_storage_is_not_available(file: KeyFile) -> None:
    """As for a child that starts while the file is bad."""
    with pytest.raises(
        StorageUnavailable, match=r"keys cannot be used: it cannot be read .No such"
    ):
        file.present()


def test_only_the_path_travels(file: KeyFile) -> None:
    """To children; other machines get the keys, and who has none of them has no secret."""
    file.write(process("a"))
    options = StorageOptions(s3=file.options())
    assert SECRET.encode() not in pickle.dumps(WorkerFiles(options, ()))
    assert options.has_secrets

    elsewhere = with_present_keys(options, file.clock)
    keys = {"access_key_id": "a", "secret_access_key": SECRET, "session_token": "token"}
    assert elsewhere == StorageOptions(s3=S3Options(**keys))  # type: ignore[arg-type]
    assert with_present_keys(elsewhere, file.clock) is elsewhere
    assert with_present_keys(StorageOptions(), file.clock) == StorageOptions()


async def test_a_running_store_takes_the_new_keys(file: KeyFile) -> None:
    """And says so if there are none any more."""
    with RecordingServer(Reply(200, b"xx")) as server:
        s3 = file.options(endpoint=server.url, allow_http=True)
        options = StorageOptions(s3=s3, allowed_endpoints=(server.url,))
        files = StorageFiles(options, ["s3://bucket"], clock=file.clock)
        file.write(process("first", "2026-01-01T01:00:00Z"))
        await files.read("s3://bucket/x")
        file.write(process("second", "2026-01-01T01:00:00Z"))
        await files.read("s3://bucket/x")
        file.clock.advance(HOUR_MS)
        with pytest.raises(StorageUnavailable) as refused:
            await files.read("s3://bucket/x")

        signed = [one.headers["authorization"] for one in server.received]
        assert ["Credential=first/" in signed[0], "Credential=second/" in signed[1]] == [True] * 2
        assert len(signed) == 2
    assert refused.value.why.startswith(f"The keys in {file.path} cannot be used: they were good")


def test_requests_of_clients_are_signed_with_the_new_keys(file: KeyFile) -> None:
    """Each time those of that moment."""

    def signed() -> str:
        signer = S3Signer(file.options(), file.clock)
        url = "https://s3.us-east-1.amazonaws.com/bucket/ns/t1/f"
        more = {"region": "us-east-1", "prefixes": [TABLE], "write": False}
        return signer.sign("GET", url, {}, **more)[1]["authorization"]  # type: ignore[arg-type]

    file.write(ini("first"))
    assert "Credential=first/" in signed()
    file.write(ini("second"))
    assert "Credential=second/" in signed()
    with pytest.raises(Unsupported):
        S3Signer(S3Options(), file.clock)


async def test_clients_are_handed_the_new_keys(file: KeyFile) -> None:
    """With their end, and under another ETag."""
    options = StorageOptions(s3=file.options(delegation="static"))
    vending = StorageVending(options, file.clock)
    file.write(ini("first"))
    [first], before = await vending.credentials(TABLE, write=True), vending.generation(TABLE)
    file.write(process("second", "2026-01-01T01:00:00Z"))
    [second], after = await vending.credentials(TABLE, write=True), vending.generation(TABLE)

    assert first.config["s3.access-key-id"] == "first"
    assert second.config == {
        "s3.access-key-id": "second",
        "s3.secret-access-key": SECRET,
        "s3.session-token": "token",
        "s3.session-token-expires-at-ms": str(START_MS + HOUR_MS),
        "client.region": "us-east-1",
    }
    assert before != after


async def test_the_token_service_is_asked_with_the_new_keys(file: KeyFile) -> None:
    """It makes keys for one table of them."""
    with RecordingServer(Reply(500, b"")) as sts:
        s3 = file.options(delegation="sts", sts_endpoint=sts.url, allow_http=True)
        vending = StorageVending(StorageOptions(s3=s3, allowed_endpoints=(sts.url,)), file.clock)
        for id in ("first", "second"):
            file.write(process(id))
            with pytest.raises(StorageUnavailable, match="it answers 500"):
                await vending.credentials(TABLE, write=True)

        asked = [one.headers["authorization"].split("/")[0] for one in sts.received]
    assert [one.rpartition("=")[2] for one in asked] == ["first", "second"]
