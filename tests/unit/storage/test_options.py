from headgate.catalog.ports import StorageCredential
from headgate.clock import SystemClock
from headgate.storage.options import AzureOptions, GcsOptions, S3Options, StorageOptions
from headgate.storage.sigv4 import Keys
from headgate.storage.vending import StorageVending

SECRET = "hush"
OPTIONS = StorageOptions(
    s3=S3Options(
        access_key_id="id", secret_access_key=SECRET, session_token=SECRET, external_id=SECRET
    ),
    gcs=GcsOptions(service_account_key=SECRET, token=SECRET),
    azure=AzureOptions(account_name="acc", account_key=SECRET, sas_token=SECRET),
)


def test_secrets_are_not_shown() -> None:
    """Whoever logs the options, or what they are used for, logs no secret."""
    shown = [
        f"{OPTIONS}{OPTIONS!r}{OPTIONS.s3}{[OPTIONS.gcs]}",
        f"{Keys('id', SECRET, SECRET)}",
        f"{StorageCredential('s3://b', {'s3.secret-access-key': SECRET})}",
        f"{StorageVending(OPTIONS, SystemClock())}",
    ]

    assert SECRET not in "".join(shown)
    assert "access_key_id='id'" in shown[0]


def test_what_is_not_set_is_shown_as_such() -> None:
    """Stars would say that there is a secret."""
    assert "secret_access_key=''" in repr(S3Options())
