"""Node.js programs that tests need: fetched once by npm, kept in the user's cache.

npm asks where its own settings say, so a mirror of the user is honoured.
"""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import platformdirs

OIDC_PROVIDER = "oidc-provider@9.13.3"
FETCH_SECONDS_MAX = 280.0


def node() -> str:
    """The command of Node.js; 20 or newer is needed."""
    return _find("node", "nodejs")


def oidc_provider() -> Path:
    """A folder whose programs can import the identity provider."""
    return _fetched("oidc-provider", (OIDC_PROVIDER,))


def _fetched(name: str, packages: tuple[str, ...]) -> Path:
    """The folder with these packages. It appears whole or not at all, also when two fetch."""
    digest = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:12]
    folder = platformdirs.user_cache_path("headgate") / "node" / f"{name}-{digest}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        _run_npm(scratch, packages)
        scratch.rename(folder)
    except OSError:
        if not folder.exists():  # else someone else was quicker
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _run_npm(scratch: Path, packages: tuple[str, ...]) -> None:
    done = subprocess.run(  # noqa: S603  the command is composed here
        [
            *(_find("npm", "npm"), "install", "--silent", "--no-audit", "--no-fund"),
            *("--ignore-scripts", "--prefix", str(scratch), *packages),
        ],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=FETCH_SECONDS_MAX,
    )
    if done.returncode:
        raise RuntimeError(f"npm could not fetch {', '.join(packages)}: {done.stdout[-2000:]}")


def _find(program: str, package: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise RuntimeError(
            f"`{program}` was not found: install it (Debian: apt-get install {package})"
        )
    return found
