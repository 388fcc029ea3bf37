"""Object stores, built from options and from nothing else.

obstore reads the server's environment first and our arguments after it, so every variable that
could send a secret or change the address is overridden here, one by one. Credentials always come
from a provider, or requests are not signed at all.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from obstore.store import AzureStore, GCSStore, S3Store

from headgate.clock import Clock
from headgate.errors import Forbidden
from headgate.limits import STORES_MAX
from headgate.storage import endpoints
from headgate.storage.failures import translated
from headgate.storage.google_token import ServiceAccount
from headgate.storage.options import AzureOptions, GcsOptions, S3Options, StorageOptions
from headgate.storage.places import Place
from headgate.storage.s3_keys import present_keys

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

Store = S3Store | GCSStore | AzureStore
Credentials = Callable[[], dict[str, Any]]

RETRIES: "RetryConfig" = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}
LONG_AGO = datetime.fromtimestamp(0, UTC)
NO_KEY = json.dumps(
    {"client_email": "", "private_key": "", "private_key_id": "", "disable_oauth": True}
)


class Stores:
    """The stores of one set of options, one for each bucket."""

    def __init__(
        self,
        options: StorageOptions,
        clock: Clock,
        *,
        resolve: endpoints.Resolve = endpoints.resolve,
    ) -> None:
        self._options = options
        self._clock = clock
        self._resolve = resolve
        self._stores: dict[tuple[str, str, str], Store] = {}

    async def of(self, place: Place) -> Store:
        """The store that the place lies in."""
        store = self._stores.get(place.store)
        if store is None:
            store = await self._open(place)
            if len(self._stores) >= STORES_MAX:
                self._stores.pop(next(iter(self._stores)))
            self._stores[place.store] = store
        return store

    async def _open(self, place: Place) -> Store:
        options = self._options_for(place)
        await endpoints.check(
            endpoint_of(options),
            self._options.allowed_endpoints,
            allow_http=options.allow_http,
            resolve=self._resolve,
        )
        with translated(place.root):
            return open_store(options, place.bucket, self._clock)

    def _options_for(self, place: Place) -> S3Options | GcsOptions | AzureOptions:
        by_kind = {"s3": self._options.s3, "gcs": self._options.gcs, "azure": self._options.azure}
        options = by_kind.get(place.kind)
        if options is None:
            raise _refused(place, "its kind of storage is not configured for this catalog")
        if isinstance(options, AzureOptions) and options.account_name != place.account:
            raise _refused(place, f"this catalog uses the account {options.account_name!r}")
        return options


def endpoint_of(options: S3Options | GcsOptions | AzureOptions) -> str:
    """The configured address of the service, or the cloud's own."""
    if isinstance(options, S3Options):
        return options.endpoint or amazon("s3", options.region)
    if isinstance(options, GcsOptions):
        return options.base_url or "https://storage.googleapis.com"
    return options.endpoint or f"https://{options.account_name}.blob.core.windows.net"


def amazon(service: str, region: str) -> str:
    """Amazon's address of a service in a region."""
    return f"https://{service}.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"


def open_store(options: S3Options | GcsOptions | AzureOptions, bucket: str, clock: Clock) -> Store:
    """A client of one bucket; nothing is sent yet."""
    if isinstance(options, S3Options):
        return _open_s3(options, bucket, clock)
    if isinstance(options, GcsOptions):
        return _open_gcs(options, bucket, clock)
    return _open_azure(options, bucket)


def _open_s3(options: S3Options, bucket: str, clock: Clock) -> S3Store:
    endpoint = endpoint_of(options)
    if not options.path_style:
        url = urlsplit(endpoint)
        endpoint = url._replace(netloc=f"{bucket}.{url.netloc}").geturl()
    return S3Store(
        bucket,
        endpoint=endpoint,
        aws_endpoint_url_s3=endpoint,  # its variable would win over `endpoint`
        region=options.region,
        virtual_hosted_style_request=not options.path_style,
        unsigned_payload=False,
        request_payer=False,
        s3_express=False,
        sse_customer_key_base64="",  # its variable holds a secret
        sse_kms_key_id="",
        client_options=_client(allow_http=options.allow_http),
        retry_config=RETRIES,
        **_signed(partial(_s3_credential, options, clock) if options.has_keys else None),
    )


def _s3_credential(options: S3Options, clock: Clock) -> dict[str, Any]:
    """Called by obstore with each request as long as the last answer has run out, which those from
    a file always have: a file is looked at, not waited for."""
    present = present_keys(options, clock)
    assert present is not None, "it has keys"
    return {
        "access_key_id": present.keys.access_key_id,
        "secret_access_key": present.keys.secret_access_key,
        "token": present.keys.session_token or None,
        "expires_at": LONG_AGO if options.credentials_file else None,
    }


def _open_gcs(options: GcsOptions, bucket: str, clock: Clock) -> GCSStore:
    """The empty key stands in the place of one in the environment."""
    provider: Credentials = _static({"token": options.token})
    if options.service_account_key:
        provider = ServiceAccount(options.service_account_key, clock)
    return GCSStore(
        bucket,
        base_url=endpoint_of(options),
        service_account_key=NO_KEY,
        skip_signature=False,
        credential_provider=cast(Any, provider),
        client_options=_client(allow_http=options.allow_http),
        retry_config=RETRIES,
    )


def _open_azure(options: AzureOptions, container: str) -> AzureStore:
    credential = None
    if options.account_key:
        credential = {"access_key": options.account_key}
    elif options.sas_token:
        credential = {"sas_token": options.sas_token.removeprefix("?")}
    return AzureStore(
        container,
        account_name=options.account_name,
        endpoint=endpoint_of(options),
        use_emulator=False,
        use_fabric_endpoint=False,
        use_azure_cli=False,
        client_options=_client(allow_http=options.allow_http),
        retry_config=RETRIES,
        **_signed(_static(credential) if credential else None),
    )


def _signed(provider: Credentials | None) -> dict[str, Any]:
    if provider is None:
        return {"skip_signature": True}
    return {"skip_signature": False, "credential_provider": provider}


def _static(credential: dict[str, Any]) -> Credentials:
    return lambda: {**credential, "expires_at": None}


def _client(*, allow_http: bool) -> "ClientConfig":
    return {"allow_http": allow_http, "allow_invalid_certificates": False}


def _refused(place: Place, why: str) -> Forbidden:
    return Forbidden(f"Location is not allowed: {place.location(place.path)}", why=why)
