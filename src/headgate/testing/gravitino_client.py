"""Gravitino's official client for Python: fetched once by pip, kept in the user's cache.

It is not installed beside Headgate, because it wants other versions of libraries than ours, and of
tools that it never uses. It comes without them, byte for byte as it was published, and works with
those that are there. pip asks where its own settings say, so a mirror of the user is honoured.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import platformdirs

VERSION = "1.3.1"
REQUIREMENTS = (
    f"apache-gravitino=={VERSION}",
    "dataclasses-json==0.6.7",
    "marshmallow==3.26.2",
    "mypy-extensions==1.1.0",
    "readerwriterlock==1.0.9",
    "typing-inspect==0.9.0",
)
"""The client, and what it imports that Headgate's tests do not have anyway."""
FETCH_SECONDS_MAX = 280.0


def use_gravitino_client() -> None:
    """Let `import gravitino` find the client."""
    folder = str(_fetched())
    if folder not in sys.path:
        sys.path.append(folder)  # the last: what is installed goes first


def _fetched() -> Path:
    """The folder with the client. It appears whole or not at all, also when two fetch."""
    words = (*REQUIREMENTS, str(sys.version_info[:2]))
    digest = hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
    folder = platformdirs.user_cache_path("headgate") / "python" / f"gravitino-{digest}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        _run_pip(scratch / "client")
        (scratch / "client").rename(folder)
    except OSError:
        if not folder.exists():  # else someone else was quicker
            raise
    finally:
        shutil.rmtree(scratch)
    return folder


def _run_pip(folder: Path) -> None:
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--target", str(folder), *REQUIREMENTS),
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
