"""The jars that Spark needs to know Iceberg: found on this machine, or downloaded once.

Each is looked for in Headgate's cache, then in the local repository of Maven, and is then asked of
a repository: the one that is given, else the mirror that the user's settings of Maven name, else
Maven Central. What is known by its SHA-256 is used only if it is that, byte for byte.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen
from xml.etree import ElementTree as ET

import platformdirs

from headgate import __version__
from headgate.errors import BadSetting, Corrupt, Unavailable
from headgate.pipelines.bounds import JAR_SECONDS_MAX
from headgate.pipelines.prerequisites import SPARK
from headgate.pipelines.reporting import QUIET, Report, Stage

CENTRAL = "https://repo1.maven.org/maven2"
ICEBERG = "1.12.0"
COPY_BYTES = 1 << 20
_COORDINATES = re.compile(r"([\w.-]+):([\w.-]+):([\w.-]+)")


class Jar(NamedTuple):
    """A jar by its coordinates; without a digest whatever the repository has is taken."""

    group: str
    artifact: str
    version: str
    sha256: str = ""

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.artifact}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Where it lies in a repository."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.name}"


RUNTIME = Jar(
    "org.apache.iceberg",
    f"iceberg-spark-runtime-{SPARK}_2.13",
    ICEBERG,
    "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
)
"""Iceberg for Spark, with all that local files need."""

AWS = Jar(
    "org.apache.iceberg",
    "iceberg-aws-bundle",
    ICEBERG,
    "dd7e49ffa4ac9b215bed846581991259e3aec9bb2fa08d6cec029c46cd66d957",
)
"""What it needs besides for files in S3."""


def runtime_jars(
    wanted: str = "",
    repository: str = "",
    *,
    s3: bool = False,
    home: Path | None = None,
    report: Report = QUIET,
) -> list[Path]:
    """The jars to start Spark with: what is wanted, else Iceberg's runtime and what S3 needs.

    `wanted` is a path, or coordinates as group:artifact:version; several have commas in between.
    """
    home = home or Path.home()
    chosen = [_wanted(text.strip()) for text in wanted.split(",") if text.strip()]
    chosen = chosen or [RUNTIME, *([AWS] if s3 else [])]
    return [_find(one, repository, home, report) if isinstance(one, Jar) else one for one in chosen]


def _wanted(text: str) -> Path | Jar:
    """What a user meant by one path or one set of coordinates."""
    path = Path(text).expanduser()
    if path.is_file():
        return path.resolve()
    named = _COORDINATES.fullmatch(text)
    if named is None:
        raise BadSetting(
            f"jar {text[:200]!r} cannot be used",
            why="there is no such file",
            fix="Give the path of a jar, or coordinates as group:artifact:version",
        )
    jar = Jar(*named.groups())
    return next((known for known in (RUNTIME, AWS) if known[:3] == jar[:3]), jar)


def _find(jar: Jar, repository: str, home: Path, report: Report) -> Path:
    cached = platformdirs.user_cache_path("headgate") / "java" / jar.name
    for path in (cached, local_repository(home) / jar.path):
        if path.is_file() and (not jar.sha256 or _digest(path) == jar.sha256):
            return path
    with report.stage(f"downloading {jar.name}", is_announced=True) as stage:
        _download(jar, repository or mirror(home) or CENTRAL, cached, stage)
    return cached


def _download(jar: Jar, repository: str, target: Path, stage: Stage) -> None:
    """Whole and right, or not at all; several may do so at once."""
    url = f"{repository.rstrip('/')}/{jar.path}"
    if not url.startswith(("https://", "http://")):
        raise BadSetting(
            f"repository {repository[:200]!r} cannot be used",
            why="it is no http:// or https:// URL",
            fix="Correct --repository",
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    except OSError as error:
        raise Unavailable(f"{target.parent} cannot be written to", why=str(error)) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in _pieces(url):
                file.write(piece)
                stage.advance(bytes=len(piece))
        found = _digest(part)
        if jar.sha256 and found != jar.sha256:
            raise Corrupt(
                f"{url} is not the jar it should be",
                why=f"its SHA-256 is {found}, not {jar.sha256}",
                fix="Ask another repository with --repository, or give a jar with --jar",
            )
        part.chmod(0o644)
        part.replace(target)
    except OSError as error:
        raise _unreachable(jar, url, error) from error
    finally:
        part.unlink(missing_ok=True)


def _pieces(url: str) -> Iterator[bytes]:
    request = Request(url, headers={"User-Agent": f"headgate/{__version__}"})  # noqa: S310  checked
    with urlopen(request, timeout=JAR_SECONDS_MAX) as answer:  # noqa: S310  checked  # nosec B310
        while piece := answer.read(COPY_BYTES):
            yield piece


def _unreachable(jar: Jar, url: str, error: OSError) -> Unavailable:
    why = str(error)
    if isinstance(error, HTTPError):
        error.close()
        why = f"the repository answers {error.code}"
    elif isinstance(error, URLError):
        why = str(error.reason)
    return Unavailable(
        f"{jar.name} could not be downloaded",
        why=f"{url}: {why}",
        fix="Fetch it elsewhere and give its path with --jar, or name a mirror with --repository",
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def mirror(home: Path) -> str:
    """The mirror of Maven Central that the user's settings of Maven name; empty if none."""
    for one in _settings(home).iter("mirror"):
        named = {name.strip() for name in (one.findtext("mirrorOf") or "").split(",")}
        url = (one.findtext("url") or "").strip()
        if url and named & {"central", "*", "external:*"} and "!central" not in named:
            return url
    return ""


def local_repository(home: Path) -> Path:
    """Where Maven keeps what it fetched."""
    chosen = (_settings(home).findtext("localRepository") or "").strip()
    usual = str(home / ".m2" / "repository")
    return Path(chosen.replace("${user.home}", str(home)) or usual)


def _settings(home: Path) -> ET.Element:
    """The user's settings of Maven, without namespaces; empty if they cannot be read."""
    try:
        text = (home / ".m2" / "settings.xml").read_text("utf-8")
        return ET.fromstring(re.sub(r'\sxmlns="[^"]*"', "", text, count=1))  # noqa: S314  the user's own  # nosec B314
    except (OSError, ValueError, ET.ParseError):
        return ET.Element("settings")
