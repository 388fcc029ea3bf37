"""Gravitino's own client for Python, unmodified: fetched once by pip, kept in the user's cache.

It names the exact version of everything it needs, which do not fit those of other clients. So it is
installed alone, and uses what is there.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import platformdirs

VERSION = "1.3.1"
SHA256 = "37e9773902da47e809d6a4501d0bd7fbef2c0257a0972b466294440a51e616d7"
FETCH_SECONDS_MAX = 280.0


def use_gravitino_client() -> None:
    """Let `import gravitino` find the client."""
    folder = str(_fetched())
    if folder not in sys.path:
        sys.path.append(folder)


def _fetched() -> Path:
    """The folder that the client is in. It appears whole or not at all, also when two fetch."""
    folder = platformdirs.user_cache_path("headgate") / "python" / f"gravitino-{SHA256[:12]}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        _run_pip(scratch)
        (scratch / "client").rename(folder)
    except OSError:
        if not folder.exists():  # else someone else was quicker
            raise
    finally:
        shutil.rmtree(scratch)
    return folder


def _run_pip(scratch: Path) -> None:
    wanted = scratch / "requirements.txt"
    wanted.write_text(f"apache-gravitino=={VERSION} --hash=sha256:{SHA256}\n")
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--target", str(scratch / "client"), "--requirement", str(wanted)),
    ]
    done = subprocess.run(  # noqa: S603  the command is composed above
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=FETCH_SECONDS_MAX,
    )
    if done.returncode:
        raise RuntimeError(f"pip could not fetch Gravitino's client: {done.stdout[-2000:]}")
