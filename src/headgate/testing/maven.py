"""Java programs that tests and benchmarks need: fetched once by Maven, kept in the user's cache.

Maven asks where its own settings say, so a mirror of the user is honoured.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

import platformdirs

ICEBERG = "1.11.0"
"""The newest version with the compatibility kit and the reference server."""

CLASS_PATH = (
    f"org.apache.iceberg:iceberg-open-api:{ICEBERG}:tests",
    f"org.apache.iceberg:iceberg-open-api:{ICEBERG}:test-fixtures",
    f"org.apache.iceberg:iceberg-core:{ICEBERG}",
    f"org.apache.iceberg:iceberg-core:{ICEBERG}:tests",
    f"org.apache.iceberg:iceberg-api:{ICEBERG}:tests",
    "org.apache.hadoop:hadoop-client-api:3.4.3",
    "org.apache.hadoop:hadoop-client-runtime:3.4.3",
    "org.assertj:assertj-core:3.27.7",
    "org.junit.platform:junit-platform-console-standalone:1.14.4",
    "org.slf4j:slf4j-simple:2.0.17",
    # What follows is for the reference server alone.
    "org.eclipse.jetty.ee10:jetty-ee10-servlet:12.1.8",
    "org.eclipse.jetty.compression:jetty-compression-server:12.1.8",
    "org.eclipse.jetty.compression:jetty-compression-gzip:12.1.8",
    "org.xerial:sqlite-jdbc:3.53.0.0",
)
"""group:artifact:version[:classifier]; what these need in turn comes along."""

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
FETCH_SECONDS_MAX = 280.0


def java() -> str:
    """The Java command; 17 or newer is needed."""
    return _find("java", "openjdk-17-jre-headless")


def class_path() -> str:
    """A class path with Iceberg's compatibility kit and its reference server."""
    return str(_fetched("kit", CLASS_PATH) / "*")


def _fetched(name: str, artifacts: tuple[str, ...]) -> Path:
    """The folder with these artifacts. It appears whole or not at all, also when two fetch."""
    digest = hashlib.sha256("\n".join((PLUGIN, *artifacts)).encode()).hexdigest()[:12]
    folder = platformdirs.user_cache_path("headgate") / "java" / f"{name}-{digest}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        _run_maven(scratch, artifacts)
        (scratch / "jars").rename(folder)
    except OSError:
        if not folder.exists():  # else someone else was quicker
            raise
    finally:
        shutil.rmtree(scratch)
    return folder


def _run_maven(scratch: Path, artifacts: tuple[str, ...]) -> None:
    (scratch / "pom.xml").write_text(project(artifacts))
    command = [
        _find("mvn", "maven"),
        *("--quiet", "--batch-mode", "--file", str(scratch / "pom.xml")),
        f"{PLUGIN}:copy-dependencies",
        f"-DoutputDirectory={scratch / 'jars'}",
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
        raise RuntimeError(f"Maven could not fetch {', '.join(artifacts)}: {done.stdout[-2000:]}")


def project(artifacts: tuple[str, ...]) -> str:
    """A Maven project that depends on the artifacts and holds nothing."""
    tags = ("groupId", "artifactId", "version", "classifier")
    dependencies = "".join(
        "<dependency>"
        + "".join(
            f"<{tag}>{escape(text)}</{tag}>"
            for tag, text in zip(tags, artifact.split(":"), strict=False)
        )
        + "</dependency>"
        for artifact in artifacts
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>headgate</groupId><artifactId>java-programs</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>\n"
    )


def _find(program: str, package: str) -> str:
    home = os.environ.get("JAVA_HOME") if program == "java" else None
    found = shutil.which(program, path=f"{home}/bin" if home else None)
    if found is None:
        raise RuntimeError(
            f"`{program}` was not found: install it (Debian: apt-get install {package})"
        )
    return found
