"""Settings of object stores: S3 and what speaks like it, Google Cloud Storage, Azure.

Their names are those of the fields of `headgate.storage.options`.
"""

from headgate.limits import CREDENTIAL_SECONDS_MAX
from headgate.settings.setting import Setting

_GRAVITINO = "gravitino.iceberg-rest."

S3_ENDPOINT = Setting(
    name="s3.endpoint",
    type=str,
    default="",
    default_help="Amazon's of the region",
    help="The URL of the S3 service.",
    url=True,
    aliases=(_GRAVITINO + "s3-endpoint",),
)
S3_REGION = Setting(
    name="s3.region",
    type=str,
    default="us-east-1",
    help="The region of the buckets.",
    aliases=(_GRAVITINO + "s3-region",),
)
S3_ACCESS_KEY_ID = Setting(
    name="s3.access-key-id",
    type=str,
    default="",
    default_help="none: requests are not signed",
    help="The id of the key that signs requests.",
    aliases=(_GRAVITINO + "s3-access-key-id",),
)
S3_SECRET_ACCESS_KEY = Setting(
    name="s3.secret-access-key",
    type=str,
    default="",
    default_help="none",
    help="The secret part of that key.",
    secret=True,
    aliases=(_GRAVITINO + "s3-secret-access-key",),
)
S3_SESSION_TOKEN = Setting(
    name="s3.session-token",
    type=str,
    default="",
    default_help="none",
    help="The token that belongs to that key if the key is a temporary one.",
    secret=True,
)
S3_CREDENTIALS_FILE = Setting(
    name="s3.credentials-file",
    type=str,
    default="",
    default_help="none",
    help="The path of a file with such a key, instead: one that something else renews. It is read "
    "again whenever it changes. It has a section `[default]` as Amazon's file of shared "
    "credentials, or is the JSON of a credential process.",
)
S3_PATH_STYLE = Setting(
    name="s3.path-style",
    type=bool,
    default=True,
    help="Whether the bucket is named in the path of a URL, else in its host.",
)
S3_ALLOW_HTTP = Setting(
    name="s3.allow-http",
    type=bool,
    default=False,
    help="Whether the endpoints may be without TLS.",
)
S3_ROLE_ARN = Setting(
    name="s3.role-arn",
    type=str,
    default="",
    default_help="none",
    help="The role that temporary keys for clients are made of.",
    aliases=(_GRAVITINO + "s3-role-arn",),
)
S3_STS_ENDPOINT = Setting(
    name="s3.sts-endpoint",
    type=str,
    default="",
    default_help="that of the S3 service, or Amazon's of the region",
    help="The URL of the service that makes temporary keys.",
    url=True,
    aliases=(_GRAVITINO + "s3-token-service-endpoint",),
)
S3_EXTERNAL_ID = Setting(
    name="s3.external-id",
    type=str,
    default="",
    default_help="none",
    help="The external id that the role asks for.",
    secret=True,
    aliases=(_GRAVITINO + "s3-external-id",),
)
S3_DELEGATION = Setting(
    name="s3.delegation",
    type=str,
    default="none",
    choices=("none", "static", "sts"),
    help="What clients are handed: nothing, the configured key, or temporary keys for one table.",
)
S3_CREDENTIAL_SECONDS = Setting(
    name="s3.credential-seconds",
    type=int,
    default=900,
    unit="seconds",
    least=900,
    most=CREDENTIAL_SECONDS_MAX,
    help="The life of temporary keys.",
    aliases=(_GRAVITINO + "s3-token-expire-in-secs",),
)

GCS_SERVICE_ACCOUNT_KEY = Setting(
    name="gcs.service-account-key",
    type=str,
    default="",
    default_help="none",
    help="The key of a service account of Google, as JSON.",
    secret=True,
)
GCS_TOKEN = Setting(
    name="gcs.token",
    type=str,
    default="",
    default_help="none",
    help="An access token to use instead of a service account's key.",
    secret=True,
)
GCS_BASE_URL = Setting(
    name="gcs.base-url",
    type=str,
    default="",
    default_help="Google's",
    help="The URL of the service.",
    url=True,
)
GCS_ALLOW_HTTP = Setting(
    name="gcs.allow-http",
    type=bool,
    default=False,
    help="Whether the URL of the service may be without TLS.",
)
GCS_DELEGATION = Setting(
    name="gcs.delegation",
    type=str,
    default="none",
    choices=("none", "static"),
    help="What clients are handed: nothing, or the configured token.",
)

AZURE_ACCOUNT_NAME = Setting(
    name="azure.account-name",
    type=str,
    default="",
    default_help="none",
    help="The storage account.",
    aliases=(_GRAVITINO + "azure-storage-account-name",),
)
AZURE_ACCOUNT_KEY = Setting(
    name="azure.account-key",
    type=str,
    default="",
    default_help="none",
    help="The key of that account.",
    secret=True,
    aliases=(_GRAVITINO + "azure-storage-account-key",),
)
AZURE_SAS_TOKEN = Setting(
    name="azure.sas-token",
    type=str,
    default="",
    default_help="none",
    help="A shared access signature to use instead of the account's key.",
    secret=True,
)
AZURE_ENDPOINT = Setting(
    name="azure.endpoint",
    type=str,
    default="",
    default_help="Azure's of the account",
    help="The URL of the service.",
    url=True,
)
AZURE_ALLOW_HTTP = Setting(
    name="azure.allow-http",
    type=bool,
    default=False,
    help="Whether the endpoint may be without TLS.",
)
AZURE_DELEGATION = Setting(
    name="azure.delegation",
    type=str,
    default="none",
    choices=("none", "static"),
    help="What clients are handed: nothing, or the configured signature.",
)
