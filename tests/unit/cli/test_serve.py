"""`headgate serve` before it makes anything: which settings it refuses."""

from pathlib import Path

import pytest

from headgate.cli.main import run
from headgate.cli.serve import check_settings
from headgate.settings.loading import load


@pytest.mark.parametrize("name", ["a#b", "a?b"])
@pytest.mark.parametrize("command", [["serve", "--port=0"], ["catalog", "create", "c"]])
def test_a_directory_in_which_no_table_can_lie_is_refused_before_a_store_is_made(
    command: list[str], name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Clients would take these signs for the end of a path."""
    assert run([*command, "--data", str(tmp_path / name)]) == 2

    assert f"it contains {name[1]!r}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_such_a_directory_will_do_if_tables_lie_elsewhere(tmp_path: Path) -> None:
    """Only their paths reach clients."""
    check_settings(load(sets=[f"data={tmp_path}/a#b", "bootstrap.warehouse=s3://bucket/w"]))
    check_settings(load(sets=[f"data={tmp_path}/a#b", "bootstrap.enabled=false"]))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("s3.endpoint=ftp://host", "setting 's3.endpoint' cannot be used: it is not of the form"),
        (
            "http.trusted-proxies=10.0.0.1,lake",
            "setting 'http.trusted-proxies' cannot be used: 'lake' does not appear to be",
        ),
        ("http.public-url=lake", "setting 'http.public-url' cannot be used: it is not of the form"),
        ("catalogs.warehouse=a", "tables cannot lie in a: "),
        ("catalogs.allowed-locations=/a,ftp://b/c", "tables cannot lie in ftp://b/c: "),
        ("s3.sts-endpoint=host:9000", "setting 's3.sts-endpoint' cannot"),
        ("gcs.base-url=https://", "setting 'gcs.base-url' cannot"),
        ("azure.endpoint=https://u:p@host", "setting 'azure.endpoint' cannot"),
        ("bootstrap.allowed-locations=s3://good,nonsense", "tables cannot lie in nonsense"),
    ],
)
def test_addresses_that_cannot_be_used_are_refused(
    setting: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the first table is written there."""
    assert run(["serve", "--port=0", "--data", str(tmp_path), "--set", setting]) == 2

    assert f"headgate: error: {words}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_addresses_of_stores_are_accepted() -> None:
    """With and without a port and a path."""
    for url in ("http://127.0.0.1:9000", "https://minio.example.com/s3/", "http://[::1]:9000"):
        check_settings(load(sets=[f"s3.endpoint={url}"]))


def test_a_store_in_memory_has_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    """Several would each have their own."""
    assert run(["serve", "--port=0", "--backend", "memory:", "--processes=2"]) == 2

    assert "each would have a store of its own" in capsys.readouterr().err
