"""How executors reach the files of tables: from what the caller gives, or from what the server
hands out for a table; never from a mixture, which would send keys of the one to the other."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headgate.clock import SystemClock
from headgate.errors import BadSetting
from headgate.extensions import nearest
from headgate.model.locations import place_of, scheme_of
from headgate.pipelines.server import LoadedTable
from headgate.storage.options import AzureOptions, GcsOptions, S3Options, StorageOptions
from headgate.storage.s3_keys import check_keys, with_present_keys
from headgate.storage.worker_files import WorkerFiles

CREDENTIALS_FILE = "s3.credentials-file"
S3 = {
    "s3.endpoint": "endpoint",
    "s3.region": "region",
    "client.region": "region",
    "s3.access-key-id": "access_key_id",
    "s3.secret-access-key": "secret_access_key",
    "s3.session-token": "session_token",
    CREDENTIALS_FILE: "credentials_file",
    "s3.path-style": "path_style",
    "s3.path-style-access": "path_style",
}
GCS = {
    "gcs.service-account-key": "service_account_key",
    "gcs.token": "token",
    "gcs.oauth2.token": "token",
    "gcs.base-url": "base_url",
    "gcs.service.host": "base_url",
}
AZURE = {
    "azure.account-name": "account_name",
    "azure.account-key": "account_key",
    "azure.sas-token": "sas_token",
    "azure.endpoint": "endpoint",
}
"""Fields of options by what they are called: in Headgate's settings, and in Iceberg's clients."""

KEYS = ("s3.access-key-id", "s3.secret-access-key", "s3.session-token")

ICEBERG = {"s3.region": "client.region", "s3.path-style": "s3.path-style-access"}
"""What Iceberg calls it otherwise than Headgate."""

SAS = "adls.sas-token."  # followed by the account
ALLOW_HTTP = frozenset({"s3.allow-http", "gcs.allow-http", "azure.allow-http"})
"""Understood and not needed: who gives an address means it."""


def pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """What was given as KEY=VALUE, any number of times."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BadSetting(
                f"{option} {name[:80]!r} cannot be used",
                why="it has no =",
                fix=f"Write {option} KEY=VALUE",
            )
        found[name.strip()] = value.strip()
    return found


def storage_options(given: Mapping[str, str]) -> StorageOptions:
    """Stores as the caller gives them: keys are those of Headgate's settings, or of Iceberg's."""
    known = {**S3, **GCS, **AZURE}
    for name in given:
        if name not in known and name not in ALLOW_HTTP and not name.startswith(SAS):
            raise BadSetting(
                f"--storage {name[:80]!r} is unknown",
                why=nearest(name, known),
                fix=f"Known are {', '.join(sorted(known))}",
            )
    options = _options(given)
    if options.s3 is not None:
        check_keys(options.s3)
    return options


def table_storage(table: LoadedTable, given: Mapping[str, str]) -> StorageOptions:
    """Stores as the caller gives them, else as the server says for this table."""
    if given:
        return storage_options(given)
    told = dict(table.config)
    for credential in table.credentials:
        told |= credential.config
    told.pop(CREDENTIALS_FILE, None)  # which files of ours are read is not for servers to say
    return _options(told)


def worker_files(options: StorageOptions, *roots: str) -> WorkerFiles:
    """Files below these locations, opened by calling it: on the driver, or pickled on executors."""
    return WorkerFiles(options, tuple(roots))


def normalized(location: str) -> str:
    """The one spelling of a file's location that is compared: `file:/x` is `file:///x`, and
    `s3a://b/x` is `s3://b/x`."""
    return str(place_of(location))


def is_s3(location: str) -> bool:
    """Whether something lies in S3."""
    return bool(location) and scheme_of(location) == "s3"


def iceberg_properties(given: Mapping[str, str]) -> dict[str, str]:
    """The same as Iceberg in Spark is told it, which cannot read a file with keys: it gets those of
    this moment."""
    told = {ICEBERG.get(name, name): text for name, text in given.items() if name not in ALLOW_HTTP}
    if told.pop(CREDENTIALS_FILE, ""):
        s3 = with_present_keys(_options(given), SystemClock()).s3
        told |= {name: text for name in KEYS if (text := getattr(s3, S3[name]))}
    return told


def _options(given: Mapping[str, str]) -> StorageOptions:
    s3, gcs, azure = (_fields(given, names) for names in (S3, GCS, AZURE))
    for name, text in given.items():
        if name.startswith(SAS):
            account = name.removeprefix(SAS).partition(".")[0]
            azure |= {"account_name": account, "sas_token": text}
    if "path_style" in s3:
        s3["path_style"] = s3["path_style"].lower() == "true"
    if file := s3.get("credentials_file"):
        s3["credentials_file"] = str(Path(file).expanduser().absolute())
    places = [
        fields.get(name, "")
        for fields, name in ((s3, "endpoint"), (gcs, "base_url"), (azure, "endpoint"))
    ]
    return StorageOptions(
        s3=S3Options(allow_http=_is_plain(places[0]), **s3) if s3 else None,
        gcs=GcsOptions(allow_http=_is_plain(places[1]), **gcs) if gcs else None,
        azure=AzureOptions(allow_http=_is_plain(places[2]), **azure) if azure else None,
        allowed_endpoints=tuple(place for place in places if place),
    )


def _fields(given: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    return {names[name]: text for name, text in given.items() if name in names}


def _is_plain(url: str) -> bool:
    return url.startswith("http://")
