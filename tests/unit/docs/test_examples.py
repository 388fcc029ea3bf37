"""What the documentation shows works as it is shown."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_kernel_can_be_used_as_its_page_shows() -> None:
    """The program in `docs/explanation/kernel.md` runs and prints a commit."""
    page = (ROOT / "docs" / "explanation" / "kernel.md").read_text("utf-8")
    [program] = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.startswith("1 b'any bytes'\n")
    assert "sales.orders" in done.stdout
