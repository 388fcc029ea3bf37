"""Every route, called with what its OpenAPI document allows and with what it does not."""

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from headgate.testing.headgate_server import HeadgateServer
from tests.conftest import FULL
from tests.fuzz.lake import NAMESPACE, TABLE, VIEW, made_lake

EXAMPLES = 60 if FULL else 6
SECONDS_MAX = 1_500 if FULL else 280
CONFIG = f"""\
[parameters]
"path.prefix" = "default.main"
"path.namespace" = "{NAMESPACE}"
"path.table" = "{TABLE}"
"path.view" = "{VIEW}"
"path.metalake" = "default"
"path.catalog" = "main"
"path.schema" = "{NAMESPACE}"
"""
OPERATIONS = {"api": 75, "iceberg/v1": 35, "management/v1": 31}


def operations(server: HeadgateServer, document: str) -> set[tuple[str, str]]:
    """All that an OpenAPI document promises: methods and templates of paths."""
    paths = httpx.get(f"{server.url}/{document}/openapi.json").json()["paths"]
    return {(method.upper(), path) for path, methods in paths.items() for method in methods}


def routes(server: HeadgateServer) -> set[tuple[str, str]]:
    """All that the server has answered requests to."""
    sample = r'^headgate_http_requests_total{method="(.*?)",route="(.*?)"'
    return set(re.findall(sample, httpx.get(f"{server.url}/metrics").text, re.MULTILINE))


@pytest.mark.timeout(SECONDS_MAX + 20)
@pytest.mark.parametrize(
    ("document", "known"),
    [("iceberg/v1", True), ("iceberg/v1", False), ("management/v1", False), ("api", True)],
    ids=[
        "iceberg, names that exist",
        "iceberg, any names",
        "management, any names",
        "gravitino, names that exist",
    ],
)
def test_no_request_breaks_the_server(document: str, known: bool, tmp_path: Path) -> None:
    """Whatever is sent to any operation, no answer is a 5xx and nothing unexpected is logged."""
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG if known else "")
    with HeadgateServer(tmp_path, "--set", "log.level=info") as server:
        made_lake(server)
        ran = subprocess.run(
            [
                *(str(Path(sys.executable).parent / "st"), "--config-file", str(config), "run"),
                *("--checks", "not_a_server_error", "--max-examples", str(EXAMPLES), "--seed", "1"),
                *("--phases", "examples,coverage,fuzzing", f"{server.url}/{document}/openapi.json"),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=SECONDS_MAX,
        )
        promised, reached = operations(server, document), routes(server)

    assert ran.returncode == 0, ran.stdout[-6000:]
    assert promised - reached == set()
    assert len(promised) == OPERATIONS[document]
    assert "Traceback" not in server.said()
    assert " ERROR " not in server.said()
