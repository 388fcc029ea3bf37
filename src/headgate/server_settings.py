"""What the settings say to each part of a server."""

import os
import re
import secrets
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import cast

from headgate.catalog.catalog_places import CatalogPlaces
from headgate.catalog.entities import CatalogEntity
from headgate.catalog.guards import GuardOptions
from headgate.catalog.lake import LakeOptions
from headgate.catalog.nesting import SEPARATOR
from headgate.catalog.polling import Polling
from headgate.errors import BadRequest, BadSetting
from headgate.http.addresses import networks_of
from headgate.http.audit_file import AuditFile
from headgate.http.front import FrontOptions
from headgate.http.origins import hosts_of
from headgate.kernel.kernel import Kernel
from headgate.model.locations import normalize, scheme_of
from headgate.model.separators import Governance, check_separator
from headgate.settings import (
    audit,
    authentication,
    authorization,
    catalogs,
    object_stores,
    server,
    storage,
    store,
)
from headgate.settings.key_files import KEYS_FOLDER, check_private
from headgate.settings.own_files import check_apart, is_apart
from headgate.settings.setting import Settings
from headgate.storage.options import AzureOptions, Delegation, GcsOptions, S3Options, StorageOptions
from headgate.storage.s3_keys import check_keys
from headgate.workers.pool import PoolOptions

KEY_BYTES = 32
UUIDS_AT_ONCE = 64
ENDPOINTS = (
    object_stores.S3_ENDPOINT,
    object_stores.S3_STS_ENDPOINT,
    object_stores.GCS_BASE_URL,
    object_stores.AZURE_ENDPOINT,
)
_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#@]*)?", re.IGNORECASE)


def front_options(settings: Settings) -> FrontOptions:
    """The limits of one process, and whom it answers."""
    return FrontOptions(
        requests_max=settings[server.HTTP_REQUESTS_MAX],
        request_seconds_max=settings[server.HTTP_REQUEST_SECONDS],
        body_bytes_max=settings[server.HTTP_BODY_BYTES],
        is_polling=settings[authorization.VALIDATION] == "poll",
        hosts=hosts_of(settings[server.HTTP_HOST]),
        proxies=networks_of(
            listed(settings[server.HTTP_TRUSTED_PROXIES]), server.HTTP_TRUSTED_PROXIES.name
        ),
    )


def shown_configs(settings: Settings) -> dict[str, object]:
    """What Gravitino's clients and consoles are told of the settings, whoever they are."""
    return {
        "gravitino.authorization.enable": settings[authorization.AUTHORIZATION_ENABLED],
        "gravitino.schema.separator": settings[catalogs.SCHEMA_SEPARATOR],
    }


def pool_options(settings: Settings) -> PoolOptions:
    """How much planning goes on at once."""
    return PoolOptions(workers=settings[server.PLANNING_PROCESSES], is_shared=True)


def lake_options(settings: Settings) -> LakeOptions:
    """How catalogs behave."""
    separator = settings[catalogs.SCHEMA_SEPARATOR]
    governance = Governance(settings[catalogs.SCHEMA_GOVERNANCE])
    check_separator(separator, governance)
    return LakeOptions(
        separator=separator,
        governance=governance,
        metadata_cache_bytes=settings[catalogs.METADATA_CACHE_BYTES],
        verify_metadata_files=settings[storage.VERIFY_METADATA_FILE] == "always",
        can_be_allowed=partial(is_apart, settings),
    )


def guard_options(settings: Settings) -> GuardOptions:
    """Whether rights are checked, and who may begin."""
    return GuardOptions(
        is_on=settings[authorization.AUTHORIZATION_ENABLED],
        admins=frozenset(listed(settings[authorization.SERVICE_ADMINS])),
        is_fine=settings[authorization.INVALIDATION] == "fine",
        cache_entries=settings[authorization.ACCESS_CACHE_ENTRIES],
        cache_seconds=settings[authorization.ACCESS_CACHE_SECONDS],
    )


def polling(settings: Settings, kernel: Kernel) -> Polling | None:
    """Polls instead of requests; None if each of them asks."""
    if settings[authorization.VALIDATION] != "poll":
        return None
    return Polling(kernel, settings[authorization.POLL_INTERVAL] / 1000)


def audit_file(settings: Settings) -> AuditFile | None:
    """Where decisions are recorded, open; None if nowhere."""
    place = settings[audit.AUDIT_FILE]
    if place == "none" or not (place or settings[authorization.AUTHORIZATION_ENABLED]):
        return None
    data = settings[store.DATA]
    path = Path(place).expanduser().absolute() if place else data / "audit.log"
    file = AuditFile(None if place == "-" else path)
    if not place:
        data.mkdir(parents=True, exist_ok=True)
    file.open()
    return file


def storage_options(settings: Settings) -> StorageOptions:
    """The stores that the operator configured; never taken from the environment of others."""
    endpoints = tuple(listed(settings[storage.STORAGE_ENDPOINTS]))
    own = [settings[one] for one in ENDPOINTS]
    return StorageOptions(
        s3=_s3(settings),
        gcs=_gcs(settings),
        azure=_azure(settings),
        local_sync=settings[storage.STORAGE_LOCAL_SYNC],
        allowed_endpoints=(*endpoints, *(one for one in own if one)),
    )


def bootstrap_catalog(settings: Settings) -> CatalogEntity:
    """The catalog that a fresh store gets."""
    warehouse = settings[catalogs.BOOTSTRAP_WAREHOUSE]
    if not warehouse:
        warehouse = local_location(settings[store.DATA] / "warehouse")
    return CatalogEntity(
        0,
        settings[catalogs.BOOTSTRAP_CATALOG],
        warehouse.rstrip("/"),
        {SEPARATOR: settings[catalogs.SCHEMA_SEPARATOR]},
        allowed_locations=tuple(listed(settings[catalogs.BOOTSTRAP_ALLOWED_LOCATIONS])),
        created_by="headgate",
    )


def catalog_places(settings: Settings) -> CatalogPlaces:
    """Where catalogs may lie that callers create."""

    def check(location: str) -> None:
        check_apart(settings, location)
        check_writable(location)

    return CatalogPlaces(
        settings[catalogs.CATALOGS_WAREHOUSE]
        or local_location(settings[store.DATA] / "warehouses"),
        tuple(listed(settings[catalogs.CATALOGS_ALLOWED_LOCATIONS])),
        real_location,
        check,
    )


def check_warehouse(settings: Settings) -> None:
    """Refuse places for tables that no catalog could have."""
    first = bootstrap_catalog(settings)
    _check_places(
        first.warehouse,
        *first.allowed_locations,
        fix="Choose another directory with --data, or set bootstrap.warehouse",
    )
    for location in (first.warehouse, *first.allowed_locations):
        check_apart(settings, location)


def check_catalog_places(settings: Settings) -> None:
    """Refuse places that catalogs of callers could not have, if the operator chose them."""
    root = settings[catalogs.CATALOGS_WAREHOUSE]
    allowed = listed(settings[catalogs.CATALOGS_ALLOWED_LOCATIONS])
    chosen = [root, *allowed] if root else allowed
    _check_places(*chosen, fix="Correct the settings catalogs.*")
    for location in chosen:
        check_apart(settings, location)


def _check_places(*locations: str, fix: str) -> None:
    for location in locations:
        try:
            normalize(location)
        except BadRequest as error:
            raise BadSetting(
                f"tables cannot lie in {location}",
                why=error.why,
                fix=fix,
            ) from error


def check_public_url(settings: Settings) -> None:
    """Refuse an address that clients could not come back to."""
    if settings[server.HTTP_PUBLIC_URL] and not _URL.fullmatch(settings[server.HTTP_PUBLIC_URL]):
        raise BadSetting(
            f"setting {server.HTTP_PUBLIC_URL.name!r} cannot be used",
            why="it is not of the form https://host[:port][/path]",
            fix="Correct it, or leave it out",
        )


def check_writable(location: str) -> None:
    """Refuse a local folder for tables that cannot be made or written; nothing is made here."""
    if scheme_of(location) != "file":
        return
    folder = existing(Path(normalize(location).removeprefix("file://")))
    if not is_writable(folder):
        raise BadSetting(
            f"tables cannot lie in {location}",
            why=f"{folder} is no folder that this user can write",
            fix="Let this user write there, or choose another warehouse",
        )


def existing(path: Path) -> Path:
    """This path if it is there, else the nearest above it that is."""
    return next(one for one in (path, *path.parents) if os.path.exists(one))  # noqa: PTH110  no error


def is_writable(folder: Path) -> bool:
    """Whether files can be made in it."""
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def check_endpoints(settings: Settings) -> None:
    """Refuse addresses of object stores that cannot be spoken to."""
    for setting in ENDPOINTS:
        if settings[setting] and not _URL.fullmatch(settings[setting]):
            raise BadSetting(
                f"setting {setting.name!r} cannot be used",
                why="it is not of the form https://host[:port]",
                fix="Correct it; http:// needs the store's allow-http too",
            )


def local_location(path: Path) -> str:
    """A folder of this machine as a location: nothing in it is encoded."""
    return f"file://{os.path.abspath(path)}"  # noqa: PTH100  without `..`, links as they are


def real_location(location: str) -> str:
    """The same place of this machine without symbolic links; of another store as it is."""
    if scheme_of(location) != "file":
        return location
    return f"file://{os.path.realpath(normalize(location).removeprefix('file://'))}"


def token_secret(settings: Settings) -> bytes:
    """The key that signs tokens of simple authentication: the operator's, else one of our own."""
    given = settings[authentication.TOKEN_SECRET]
    if given:
        if len(given.encode()) < KEY_BYTES:
            raise BadSetting(
                f"setting {authentication.TOKEN_SECRET.name!r} cannot be used",
                why=f"it is shorter than {KEY_BYTES} bytes",
                fix="Use a long random text",
            )
        return given.encode()
    return own_key(
        settings[store.DATA] / KEYS_FOLDER / "token.key",
        instead=authentication.TOKEN_SECRET.name,
        lost="; or delete it: a new one is made, and all tokens become invalid",
    )


def random_bytes(count: int) -> bytes:
    """Bytes that nobody can guess, for keys and secrets."""
    return secrets.token_bytes(count)


def uuids() -> Callable[[], str]:
    """Gives random UUIDs, for tables and files. Only the process that asked for it may use it.

    The system is asked for many at once: each time, other threads get their turn.
    """

    def made() -> Iterator[str]:
        while True:
            chance = secrets.token_bytes(16 * UUIDS_AT_ONCE)
            for at in range(0, len(chance), 16):
                digits = chance[at : at + 16].hex()
                variant = "89ab"[chance[at + 8] & 3]
                yield (
                    f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}"
                    f"-{variant}{digits[17:20]}-{digits[20:]}"
                )

    return made().__next__


def own_key(path: Path, *, instead: str, lost: str = "") -> bytes:
    """The key in this file; made if it is not there. BadSetting says why that cannot be.

    `instead` is the setting that names another key, `lost` what to do if it cannot be restored.
    """
    try:
        if not path.exists():
            _make_key(path)
        key = path.read_bytes()
    except OSError as error:
        raise BadSetting(
            f"the key {path} cannot be used",
            why=f"it cannot be read or made ({error.strerror or error})",
            fix=f"Let this user write to that folder, or set {instead}",
        ) from error
    if len(key) < KEY_BYTES:
        raise BadSetting(
            f"the key {path} cannot be used",
            why=f"it has {len(key)} bytes, and a safe one at least {KEY_BYTES}",
            fix=f"Restore the file{lost}",
        )
    check_private(path, instead=instead)
    return key


def _make_key(path: Path) -> None:
    """Under its name it is whole and on the disk, at any instant."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was faster
    finally:
        draft.unlink()
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _s3(settings: Settings) -> S3Options:
    file = settings[object_stores.S3_CREDENTIALS_FILE]
    options = S3Options(
        endpoint=settings[object_stores.S3_ENDPOINT],
        region=settings[object_stores.S3_REGION],
        access_key_id=settings[object_stores.S3_ACCESS_KEY_ID],
        secret_access_key=settings[object_stores.S3_SECRET_ACCESS_KEY],
        session_token=settings[object_stores.S3_SESSION_TOKEN],
        credentials_file=str(Path(file).expanduser().absolute()) if file else "",
        path_style=settings[object_stores.S3_PATH_STYLE],
        allow_http=settings[object_stores.S3_ALLOW_HTTP],
        role_arn=settings[object_stores.S3_ROLE_ARN],
        sts_endpoint=settings[object_stores.S3_STS_ENDPOINT],
        external_id=settings[object_stores.S3_EXTERNAL_ID],
        delegation=cast(Delegation, settings[object_stores.S3_DELEGATION]),
        duration_seconds=settings[object_stores.S3_CREDENTIAL_SECONDS],
    )
    check_keys(options)
    return options


def _gcs(settings: Settings) -> GcsOptions:
    return GcsOptions(
        service_account_key=settings[object_stores.GCS_SERVICE_ACCOUNT_KEY],
        token=settings[object_stores.GCS_TOKEN],
        base_url=settings[object_stores.GCS_BASE_URL],
        allow_http=settings[object_stores.GCS_ALLOW_HTTP],
        delegation=cast(Delegation, settings[object_stores.GCS_DELEGATION]),
    )


def _azure(settings: Settings) -> AzureOptions:
    return AzureOptions(
        account_name=settings[object_stores.AZURE_ACCOUNT_NAME],
        account_key=settings[object_stores.AZURE_ACCOUNT_KEY],
        sas_token=settings[object_stores.AZURE_SAS_TOKEN],
        endpoint=settings[object_stores.AZURE_ENDPOINT],
        allow_http=settings[object_stores.AZURE_ALLOW_HTTP],
        delegation=cast(Delegation, settings[object_stores.AZURE_DELEGATION]),
    )


def listed(text: str) -> list[str]:
    """What a text names, separated by commas."""
    return [one.strip() for one in text.split(",") if one.strip()]
