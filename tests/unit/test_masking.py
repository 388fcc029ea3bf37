"""Credentials of URLs, masked wherever they could be seen."""

import json
import logging

import pytest

from headgate.cli import logs
from headgate.cli.main import run
from headgate.errors import BadRequest, HeadgateError, LocationTaken
from headgate.limits import PORT
from headgate.masking import mask_userinfo
from headgate.pipelines.session import SparkOptions
from headgate.settings.loading import load
from headgate.settings.setting import Setting
from headgate.settings.table import SETTINGS

SECRET = "hunter2"
URL = f"https://ann:{SECRET}@minio.example.com:9000/path"
MASKED = "https://***@minio.example.com:9000/path"
TEXTS = [setting for setting in SETTINGS if setting.type is str and not setting.choices]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (URL, MASKED),
        (f"no store at {URL}, and none at {URL}.", f"no store at {MASKED}, and none at {MASKED}."),
        (f"'{URL}'", f"'{MASKED}'"),
        (f"s3://{SECRET}@bucket/a", "s3://***@bucket/a"),
        (f"s3://KEY:{SECRET}@bucket/a@b", "s3://***@bucket/a@b"),
        (f"s3://KEY:{SECRET}@{SECRET}@bucket", "s3://***@bucket"),
        (f"k8s://https://u:{SECRET}@h", "k8s://https://***@h"),
        (f"postgresql://ann:{SECRET}@h/d", "postgresql://ann:***@h/d"),
        (f"Postgres://ann:{SECRET}@h/d", "Postgres://ann:***@h/d"),
        ("postgresql://ann:***@h/d", "postgresql://ann:***@h/d"),
        ("postgresql://ann@h/d", "postgresql://ann@h/d"),
        ("postgresql://USER:PASSWORD@HOST/DATABASE", "postgresql://USER:PASSWORD@HOST/DATABASE"),
        (f"postgresql://%{SECRET}:x@h/d", "postgresql://***@h/d"),
        (f"://{SECRET}@h", "://***@h"),
        (
            "abfss://box@account.dfs.core.windows.net/a",
            "abfss://box@account.dfs.core.windows.net/a",
        ),
        (f"abfss://box:{SECRET}@account", "abfss://***@account"),
        ("file:///lake/ann@example.com/a", "file:///lake/ann@example.com/a"),
        ("s3://bucket/a@b", "s3://bucket/a@b"),
        ("ann@example.com", "ann@example.com"),
        ("http://h/ and ann@example.com", "http://h/ and ann@example.com"),
        ('{"url":"http://h","by":"ann@example.com"}', '{"url":"http://h","by":"ann@example.com"}'),
        ("", ""),
    ],
)
def test_credentials_of_urls_are_masked_in_any_text(text: str, masked: str) -> None:
    """Users and passwords are; what only looks like them is left, and so is what is masked."""
    assert mask_userinfo(text) == masked
    assert mask_userinfo(masked) == masked


def test_no_error_shows_credentials() -> None:
    """Whatever an error quotes, in any of its parts."""
    for kind in (HeadgateError, BadRequest, LocationTaken):
        error = kind(f"{URL} is odd", why=f"{URL} is", fix=f"Change {URL}")
        assert str(error) == f"{MASKED} is odd: {MASKED} is. Change {MASKED}"
        assert error.args == (f"{MASKED} is odd",)


@pytest.mark.parametrize("setting", TEXTS, ids=lambda setting: setting.name)
def test_no_setting_shows_credentials(setting: Setting[str]) -> None:
    """Neither one that is a URL nor one that only holds some."""
    for value in (URL, f"{URL},{URL}", f"ISSUER={URL}"):
        assert SECRET not in setting.shown(value)


@pytest.mark.parametrize(
    "name", ["s3.endpoint", "s3.sts-endpoint", "gcs.base-url", "azure.endpoint", "http.public-url"]
)
def test_an_address_is_shown_without_its_credentials(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a table and as JSON; the rest of it can be read."""
    for options in ([], ["--json"]):
        assert run(["settings", name, "--set", f"{name}={URL}", *options]) == 0
        shown = capsys.readouterr().out
        assert MASKED in shown
        assert SECRET not in shown
    assert load(sets=[f"{name}=http://minio:{PORT}"]).plain()[name][0] == f"http://minio:{PORT}"
    assert next(one for one in SETTINGS if one.name == name).shown("http://a:1") == "http://a:1"


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--port=0", "--set", f"s3.endpoint={URL}"],
        ["serve", "--port=0", "--set", f"http.public-url={URL}"],
        ["serve", "--port=0", "--set", f"bootstrap.warehouse=s3://KEY:{SECRET}@bucket/a"],
        ["serve", "--port=0", "--set", f"catalogs.allowed-locations=s3://KEY:{SECRET}@bucket/a"],
        ["serve", "--port=0", "--set", f"authentication.oidc.issuers=a={URL}"],
        ["serve", "--port=0", "--backend", f"oracle://ann:{SECRET}@h/d"],
        ["doctor", "--set", f"s3.endpoint={URL}"],
        ["doctor", "--set", f"bootstrap.warehouse=s3://KEY:{SECRET}@bucket/a"],
        ["catalog", "create", "a", "--warehouse", f"s3://KEY:{SECRET}@bucket/a"],
        ["catalog", "create", "a", "--allow", f"s3://KEY:{SECRET}@bucket/a"],
        ["pipeline", "inventory", "--server", f"http://ann:{SECRET}@127.0.0.1:1"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_no_command_shows_credentials(
    arguments: list[str], tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be used is refused without being quoted whole."""
    own = [] if arguments[0] == "pipeline" else ["--data", str(tmp_path)]
    own += ["--set", "authentication.methods=oidc"] if "oidc" in arguments[-1] else []
    assert run([*arguments, *own]) != 0

    captured = capsys.readouterr()
    assert SECRET not in captured.out + captured.err


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_log_line_shows_credentials(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a message nor a traceback."""
    logs.set_up("info", form)
    try:
        raise ValueError(URL)
    except ValueError:
        logging.getLogger("headgate.x").exception("%s does not answer", URL)

    text = capsys.readouterr().err
    assert SECRET not in text
    assert text.count(MASKED) == 2
    if form == "json":
        assert json.loads(text)["message"] == f"{MASKED} does not answer"


def test_options_of_spark_show_no_credentials() -> None:
    """A token follows the address of Spark Connect."""
    options = SparkOptions(
        master=f"k8s://https://u:{SECRET}@h", remote=f"sc://h:15002/;token={SECRET}"
    )

    assert repr(options) == "SparkOptions(master='k8s://https://***@h', remote='sc://h:15002/')"
