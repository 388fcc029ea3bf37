"""Every route, called with what its OpenAPI document allows and with what it does not."""

import subprocess
import sys
from pathlib import Path

import pytest

from headgate.testing.headgate_server import HeadgateServer
from tests.conftest import FULL
from tests.fuzz.lake import NAMESPACE, TABLE, VIEW, made_lake

EXAMPLES = 300 if FULL else 6
CONFIG = f"""\
[parameters]
"path.prefix" = "default.main"
"path.namespace" = "{NAMESPACE}"
"path.table" = "{TABLE}"
"path.view" = "{VIEW}"
"""


@pytest.mark.parametrize(
    ("document", "known"),
    [("iceberg/v1", True), ("iceberg/v1", False), ("management/v1", False)],
    ids=["iceberg, names that exist", "iceberg, any names", "management, any names"],
)
def test_no_request_breaks_the_server(document: str, known: bool, tmp_path: Path) -> None:
    """Whatever is sent, no answer is a 5xx and nothing unexpected is logged."""
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
            timeout=280,
        )

    assert ran.returncode == 0, ran.stdout[-6000:]
    assert "Traceback" not in server.said()
    assert " ERROR " not in server.said()
