"""How executors reach files."""

import pickle
from pathlib import Path

import pytest

from headgate.errors import BadSetting, Forbidden
from headgate.pipelines.names import TableName
from headgate.pipelines.server import Credential, LoadedTable
from headgate.pipelines.storage import (
    iceberg_properties,
    is_s3,
    normalized,
    pairs,
    storage_options,
    table_storage,
    worker_files,
)
from headgate.storage.options import AzureOptions, GcsOptions, S3Options, StorageOptions

KEYS = {"s3.access-key-id": "id", "s3.secret-access-key": "secret"}
NAME = TableName("main", ("a",), "t")


def test_pairs_are_split_at_the_first_equals_sign() -> None:
    """A value may have more of them; the last one of a name counts."""
    assert pairs(["a=1", "b = x=y", "a=2"], "--conf") == {"a": "2", "b": "x=y"}


@pytest.mark.parametrize("text", ["secret", "=x", ""])
def test_what_is_no_pair_is_refused(text: str) -> None:
    """And is not shown beyond its name."""
    with pytest.raises(BadSetting, match="Write --storage KEY=VALUE"):
        pairs([text], "--storage")


def test_stores_are_those_that_were_given() -> None:
    """Under the names of Headgate's settings or of Iceberg's; what has no key is not offered."""
    own = storage_options({**KEYS, "s3.region": "eu", "s3.endpoint": "http://h:9000"})
    icebergs = storage_options(
        {
            **KEYS,
            "client.region": "eu",
            "s3.endpoint": "http://h:9000",
            "s3.path-style-access": "true",
        }
    )

    s3 = S3Options(
        endpoint="http://h:9000",
        region="eu",
        access_key_id="id",
        secret_access_key="secret",
        allow_http=True,
    )
    assert own == icebergs == StorageOptions(s3=s3, allowed_endpoints=("http://h:9000",))
    assert storage_options({}) == StorageOptions()


def test_other_clouds_are_known_too() -> None:
    """Google's and Azure's, as the server hands them out."""
    assert storage_options({"gcs.oauth2.token": "t"}).gcs == GcsOptions(token="t")
    azure = storage_options({"adls.sas-token.acc.dfs.core.windows.net": "sig"}).azure
    assert azure == AzureOptions(account_name="acc", sas_token="sig")


def test_an_unknown_key_is_refused_with_the_nearest() -> None:
    """A key that is left out would be a failure much later."""
    with pytest.raises(BadSetting, match=r"nearest known name is 's3\.endpoint'"):
        storage_options({"s3.endpont": "x"})


def test_what_is_given_is_never_mixed_with_what_the_server_says() -> None:
    """A key of the caller's is not sent to an address of the server's."""
    vended = (Credential("s3://b/t", {**KEYS, "s3.session-token": "s"}),)
    config = {"s3.endpoint": "http://server:1", "client.region": "us-west-2"}
    table = LoadedTable(NAME, b"{}", "s3://b/t/m.json", config, vended)

    told = table_storage(table, {}).s3
    assert told is not None
    assert (told.endpoint, told.region, told.session_token) == ("http://server:1", "us-west-2", "s")
    own = table_storage(table, KEYS).s3
    assert own is not None
    assert (own.endpoint, own.session_token) == ("", "")


def test_secrets_are_in_no_text() -> None:
    """Of what a pipeline carries around."""
    table = LoadedTable(NAME, b"{}", "", {}, (Credential("s3://b", KEYS),))

    assert "secret'" not in repr((table, storage_options(KEYS)))


def test_locations_have_one_spelling() -> None:
    """The same file is the same text, whoever wrote it."""
    spellings = ["/x/y", "file:/x/y", "file:///x/y", "file:///x//y"]
    assert {normalized(one) for one in spellings} == {"file:///x/y"}
    assert normalized("s3a://b/x") == normalized("s3n://B/x") == "s3://b/x"
    assert (is_s3("s3a://b/x"), is_s3("/x"), is_s3("")) == (True, False, False)


def test_iceberg_in_spark_is_told_the_same() -> None:
    """In its own words."""
    told = iceberg_properties(
        {**KEYS, "s3.region": "eu", "s3.path-style": "true", "s3.allow-http": "true"}
    )

    assert told == {**KEYS, "client.region": "eu", "s3.path-style-access": "true"}


def test_files_can_be_pickled_for_executors(tmp_path: Path) -> None:
    """They are opened over there, and nothing outside of their roots is."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x").write_bytes(b"content")
    files = pickle.loads(pickle.dumps(worker_files(StorageOptions(), f"{tmp_path}/in")))()

    assert files.read(f"file:{tmp_path}/in/x") == b"content"
    with pytest.raises(Forbidden):
        files.read(f"{tmp_path}/out/x")


def test_a_file_with_keys_is_read_here(tmp_path: Path) -> None:
    """Its path goes to executors, and its keys to Iceberg; which one it is no server says."""
    file = tmp_path / "keys"
    file.write_text("[default]\naws_access_key_id = id\naws_secret_access_key = secret\n")
    given = {"s3.credentials-file": str(file), "s3.region": "eu"}
    table = LoadedTable(NAME, b"{}", "", given)

    assert storage_options(given).s3 == S3Options(region="eu", credentials_file=str(file))
    assert iceberg_properties(given) == {**KEYS, "client.region": "eu"}
    assert table_storage(table, {}).s3 == S3Options(region="eu")
    with pytest.raises(BadSetting, match="a key in the settings too"):
        storage_options({**given, **KEYS})
