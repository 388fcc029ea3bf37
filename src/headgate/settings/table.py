"""The one table of settings, in the order in which people see it."""

from itertools import chain
from typing import Any

from headgate.settings.audit import AUDIT_FILE, AUDIT_SAMPLING
from headgate.settings.authentication import (
    MASTER_KEY,
    MASTER_KEY_FILE,
    METHODS,
    OIDC_ALGORITHMS,
    OIDC_AUDIENCE,
    OIDC_CLOCK_SKEW,
    OIDC_GROUPS_CLAIM,
    OIDC_ISSUERS,
    OIDC_PRINCIPAL_CLAIM,
    SESSION_SECONDS,
    TOKEN_SECONDS,
    TOKEN_SECRET,
)
from headgate.settings.authorization import (
    ACCESS_CACHE_ENTRIES,
    ACCESS_CACHE_SECONDS,
    AUTHORIZATION_ENABLED,
    INVALIDATION,
    POLL_INTERVAL,
    SERVICE_ADMINS,
    VALIDATION,
)
from headgate.settings.catalogs import (
    ANSWERS_CACHE_BYTES,
    BOOTSTRAP,
    BOOTSTRAP_ACCEPT_TABLES,
    BOOTSTRAP_ALLOWED_LOCATIONS,
    BOOTSTRAP_CATALOG,
    BOOTSTRAP_METALAKE,
    BOOTSTRAP_WAREHOUSE,
    CATALOGS_ALLOWED_LOCATIONS,
    CATALOGS_SHARE_FILES,
    CATALOGS_WAREHOUSE,
    METADATA_CACHE_BYTES,
    SCHEMA_GOVERNANCE,
    SCHEMA_SEPARATOR,
)
from headgate.settings.events import EVENTS_LISTENERS
from headgate.settings.maintenance import MAINTENANCE
from headgate.settings.object_stores import (
    AZURE_ACCOUNT_KEY,
    AZURE_ACCOUNT_NAME,
    AZURE_ALLOW_HTTP,
    AZURE_DELEGATION,
    AZURE_ENDPOINT,
    AZURE_SAS_TOKEN,
    GCS_ALLOW_HTTP,
    GCS_BASE_URL,
    GCS_DELEGATION,
    GCS_SERVICE_ACCOUNT_KEY,
    GCS_TOKEN,
    S3_ACCESS_KEY_ID,
    S3_ALLOW_HTTP,
    S3_CREDENTIAL_SECONDS,
    S3_CREDENTIALS_FILE,
    S3_DELEGATION,
    S3_ENDPOINT,
    S3_EXTERNAL_ID,
    S3_PATH_STYLE,
    S3_REGION,
    S3_ROLE_ARN,
    S3_SECRET_ACCESS_KEY,
    S3_SESSION_TOKEN,
    S3_STS_ENDPOINT,
)
from headgate.settings.purge import PURGER
from headgate.settings.purge_jobs import PURGE_JOBS
from headgate.settings.purge_spark import PURGE_SPARK
from headgate.settings.server import (
    HTTP_BODY_BYTES,
    HTTP_HOST,
    HTTP_PORT,
    HTTP_PROCESSES,
    HTTP_PUBLIC_URL,
    HTTP_REQUEST_SECONDS,
    HTTP_REQUESTS_MAX,
    HTTP_TRUSTED_PROXIES,
    LOG_ACCESS,
    LOG_CHECKPOINT_FILE,
    LOG_CHECKPOINT_SECONDS,
    LOG_FORMAT,
    LOG_LEVEL,
    LOG_RETENTION,
    PLANNING_PROCESSES,
    READ_ONLY,
)
from headgate.settings.setting import Setting
from headgate.settings.storage import (
    STORAGE_ENDPOINTS,
    STORAGE_LOCAL_SYNC,
    VERIFY_METADATA_FILE,
)
from headgate.settings.store import (
    BACKEND,
    CACHE_SIZE,
    COMMIT_BATCH,
    COMMIT_TIMEOUT,
    DATA,
    POSTGRESQL_CONNECTIONS,
    POSTGRESQL_STALE_READS,
    POSTGRESQL_TIMEOUT,
    SQLITE_BUSY_TIMEOUT,
)

PURGES = "Purges"
FAMILIES: dict[str, tuple[Setting[Any], ...]] = {
    "Data": (
        DATA,
        BACKEND,
        CACHE_SIZE,
        COMMIT_TIMEOUT,
        COMMIT_BATCH,
        POSTGRESQL_CONNECTIONS,
        POSTGRESQL_TIMEOUT,
        POSTGRESQL_STALE_READS,
        SQLITE_BUSY_TIMEOUT,
    ),
    "Server": (
        HTTP_HOST,
        HTTP_PUBLIC_URL,
        HTTP_TRUSTED_PROXIES,
        HTTP_PORT,
        HTTP_PROCESSES,
        HTTP_REQUESTS_MAX,
        HTTP_REQUEST_SECONDS,
        HTTP_BODY_BYTES,
        READ_ONLY,
        PLANNING_PROCESSES,
        LOG_LEVEL,
        LOG_ACCESS,
        LOG_FORMAT,
        LOG_RETENTION,
        LOG_CHECKPOINT_FILE,
        LOG_CHECKPOINT_SECONDS,
        EVENTS_LISTENERS,
    ),
    "Authentication": (
        METHODS,
        TOKEN_SECRET,
        TOKEN_SECONDS,
        SESSION_SECONDS,
        OIDC_ISSUERS,
        OIDC_AUDIENCE,
        OIDC_CLOCK_SKEW,
        OIDC_PRINCIPAL_CLAIM,
        OIDC_GROUPS_CLAIM,
        OIDC_ALGORITHMS,
        MASTER_KEY,
        MASTER_KEY_FILE,
    ),
    "Authorization": (
        AUTHORIZATION_ENABLED,
        SERVICE_ADMINS,
        VALIDATION,
        POLL_INTERVAL,
        INVALIDATION,
        ACCESS_CACHE_ENTRIES,
        ACCESS_CACHE_SECONDS,
    ),
    "Audit": (AUDIT_FILE, AUDIT_SAMPLING),
    "Catalogs": (
        BOOTSTRAP,
        BOOTSTRAP_METALAKE,
        BOOTSTRAP_CATALOG,
        BOOTSTRAP_WAREHOUSE,
        BOOTSTRAP_ALLOWED_LOCATIONS,
        BOOTSTRAP_ACCEPT_TABLES,
        CATALOGS_WAREHOUSE,
        CATALOGS_ALLOWED_LOCATIONS,
        CATALOGS_SHARE_FILES,
        SCHEMA_SEPARATOR,
        SCHEMA_GOVERNANCE,
        METADATA_CACHE_BYTES,
        ANSWERS_CACHE_BYTES,
    ),
    "Files of tables": (
        STORAGE_LOCAL_SYNC,
        STORAGE_ENDPOINTS,
        VERIFY_METADATA_FILE,
    ),
    PURGES: (PURGER, *PURGE_JOBS, *PURGE_SPARK),
    "Maintenance": MAINTENANCE,
    "S3": (
        S3_ENDPOINT,
        S3_REGION,
        S3_ACCESS_KEY_ID,
        S3_SECRET_ACCESS_KEY,
        S3_SESSION_TOKEN,
        S3_CREDENTIALS_FILE,
        S3_PATH_STYLE,
        S3_ALLOW_HTTP,
        S3_ROLE_ARN,
        S3_STS_ENDPOINT,
        S3_EXTERNAL_ID,
        S3_DELEGATION,
        S3_CREDENTIAL_SECONDS,
    ),
    "Google Cloud Storage": (
        GCS_SERVICE_ACCOUNT_KEY,
        GCS_TOKEN,
        GCS_BASE_URL,
        GCS_ALLOW_HTTP,
        GCS_DELEGATION,
    ),
    "Azure": (
        AZURE_ACCOUNT_NAME,
        AZURE_ACCOUNT_KEY,
        AZURE_SAS_TOKEN,
        AZURE_ENDPOINT,
        AZURE_ALLOW_HTTP,
        AZURE_DELEGATION,
    ),
}
SETTINGS = tuple(chain.from_iterable(FAMILIES.values()))


def family_of(setting: Setting[Any]) -> str:
    """The family that people look in; properties of third parties' purgers are with purges."""
    return next((family for family, all in FAMILIES.items() if setting in all), PURGES)
