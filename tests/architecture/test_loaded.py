"""What comes with a module when it is imported, seen from a process that has imported nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
OPEN_A_STORE = {"headgate.pipelines.sweep", "headgate.pipelines.sweep_rows"}
PIPELINES = sorted(
    {
        ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
        for path in SRC.glob("headgate/pipelines/**/*.py")
    }
    - OPEN_A_STORE
)

LOAD = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
    found = [one for one in sys.modules if one.startswith("headgate.kernel")]
    if found:
        sys.exit(f"{name} loads {', '.join(found)}")
"""


def loading(*modules: str) -> str:
    """The first of these that brings the kernel with it; nothing if none does."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *modules], capture_output=True, text=True, check=False
    )
    return done.stderr.strip()


def test_pipelines_load_no_kernel() -> None:
    """They speak to a server over HTTP, on whatever machines Spark has."""
    assert len(PIPELINES) > 50
    assert loading(*PIPELINES) == ""


@pytest.mark.parametrize("module", sorted(OPEN_A_STORE))
def test_only_sweeps_load_the_kernel(module: str) -> None:
    """They open the store themselves; and this shows that the test above would see it."""
    assert loading(module).startswith(f"{module} loads headgate.kernel")
