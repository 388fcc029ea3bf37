"""How object stores are reached: plain values, whose secrets never appear in a text."""

from typing import Literal

from msgspec import Struct

Delegation = Literal["none", "static", "sts"]
"""What a client may be handed: nothing, the configured keys, or keys for one prefix and a while."""

SECRETS = frozenset(
    {
        "account_key",
        "external_id",
        "sas_token",
        "secret_access_key",
        "service_account_key",
        "session_token",
        "token",
    }
)


class Options(Struct, frozen=True, kw_only=True):
    """Values of which those named in SECRETS are shown as stars."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={self._shown(name)}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({fields})"

    def _shown(self, name: str) -> str:
        value = getattr(self, name)
        return "***" if name in SECRETS and value else repr(value)


class S3Options(Options, frozen=True, kw_only=True):
    """An S3 service; without an endpoint it is Amazon's. Without keys requests are not signed.

    Ask `s3_keys.present_keys` for the keys: those in a file change.
    """

    endpoint: str = ""
    region: str = "us-east-1"
    access_key_id: str = ""
    secret_access_key: str = ""
    session_token: str = ""
    credentials_file: str = ""  # keys that somebody renews, instead of those above
    path_style: bool = True
    allow_http: bool = False
    role_arn: str = ""  # the role that keys for clients are made of
    sts_endpoint: str = ""  # default: `endpoint`, or Amazon's of the region
    external_id: str = ""
    delegation: Delegation = "none"
    duration_seconds: int = 900  # the life of keys for clients

    @property
    def has_keys(self) -> bool:
        """Whether requests are signed."""
        return bool(self.access_key_id or self.credentials_file)


class GcsOptions(Options, frozen=True, kw_only=True):
    """Google Cloud Storage: a service account's key (JSON), or a token, or nothing."""

    service_account_key: str = ""
    token: str = ""
    base_url: str = ""
    allow_http: bool = False
    delegation: Delegation = "none"  # `static` hands out `token`


class AzureOptions(Options, frozen=True, kw_only=True):
    """One storage account: its key, or a SAS token, or nothing."""

    account_name: str = ""
    account_key: str = ""
    sas_token: str = ""
    endpoint: str = ""
    allow_http: bool = False
    delegation: Delegation = "none"  # `static` hands out `sas_token`


class StorageOptions(Options, frozen=True, kw_only=True):
    """All a catalog may reach. A store that is None is not offered."""

    s3: S3Options | None = None
    gcs: GcsOptions | None = None
    azure: AzureOptions | None = None
    local_sync: bool = True  # local files are on the disk before they are referred to
    allowed_endpoints: tuple[str, ...] = ()  # the operator's own, besides those of the clouds

    @property
    def has_secrets(self) -> bool:
        """Whether whoever has these values can reach what others cannot."""
        stores = [store for store in (self.s3, self.gcs, self.azure) if store is not None]
        return bool(self.s3 and self.s3.credentials_file) or any(
            getattr(store, name)
            for store in stores
            for name in SECRETS.intersection(store.__struct_fields__)
        )
