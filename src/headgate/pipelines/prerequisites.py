"""What Spark needs before it can start, and one sentence for each thing that is missing."""

import re
import shutil
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from urllib.parse import urlsplit

from headgate.errors import BadSetting, Unavailable, Unsupported
from headgate.pipelines.bounds import JAVA_SECONDS_MAX, SPARK_CONNECT_SECONDS

SPARK = "4.1"
JAVA_MIN = 17
VECTORS = "jdk.incubator.vector"  # Spark 4.1 starts no JVM without it
_INSTALL = "Run pip install 'headgate[spark]', or '.[spark]' in a clone"
_INSTALL_JAVA = f"Install Java {JAVA_MIN} or 21 (Debian: apt-get install openjdk-17-jre-headless)"
_MASTER = re.compile(
    r"""local (\[ (\*|[1-9]\d*) (,[1-9]\d*)? \])?
    | local-cluster \[ [^\]]+ \]
    | spark:// (?P<hosts> [\w.-]+:\d+ (,[\w.-]+:\d+)*)
    | yarn
    | k8s:// \S+
    """,
    re.VERBOSE,
)


def check_pyspark() -> None:
    """Refuse to go on without the one PySpark that Iceberg's runtime is made for."""
    try:
        found = str(import_module("pyspark").__version__)
        import_module("pyarrow")
    except ImportError as error:
        raise Unsupported(
            "pipelines cannot run", why=f"{error.name} is not installed", fix=_INSTALL
        ) from error
    if not found.startswith(f"{SPARK}."):
        raise Unsupported(
            f"PySpark {found} cannot be used",
            why=f"Iceberg's runtime is made for Spark {SPARK}",
            fix=_INSTALL,
        )


def check_connect() -> None:
    """Refuse to go on without what the client of Spark Connect needs."""
    try:
        import_module("grpc")
        import_module("grpc_status")
    except ImportError as error:
        raise Unsupported(
            "Spark Connect cannot be used",
            why=f"{error.name} is not installed",
            fix=f"Run pip install 'pyspark[connect]=={SPARK}.*'",
        ) from error


def check_java(environ: Mapping[str, str]) -> None:
    """Refuse to go on without a whole Java that is new enough."""
    home = environ.get("JAVA_HOME")
    program = shutil.which("java", path=f"{home}/bin" if home else environ.get("PATH"))
    if program is None:
        where = f"there is no bin/java in JAVA_HOME, {home}" if home else "it is not in the PATH"
        raise Unsupported("Java was not found", why=where, fix=_INSTALL_JAVA)
    modules = _modules(program)
    version = re.search(r"^java\.base@(\d+)", modules, re.MULTILINE)
    if version is None or int(version[1]) < JAVA_MIN:
        found = f"{program} is Java {version[1] if version else '8 or older'}"
        raise Unsupported("Java is too old", why=found, fix=_INSTALL_JAVA)
    if VECTORS not in modules:
        raise Unsupported(
            "Java is not complete",
            why=f"{program} has no module {VECTORS}, which Spark needs",
            fix=f"{_INSTALL_JAVA}; it has all modules",
        )


def check_master(master: str) -> None:
    """Refuse what is no master of Spark, and one that does not answer."""
    known = _MASTER.fullmatch(master)
    if known is None:
        raise BadSetting(
            f"master {master[:80]!r} cannot be used",
            why="Spark knows no such master",
            fix="Give local[*], local[N], spark://HOST:PORT, yarn or k8s://https://HOST:PORT",
        )
    hosts = known["hosts"]
    if hosts and not any(map(_answers, hosts.split(","))):
        raise Unavailable(
            f"Spark's master {master} cannot be reached",
            why="nothing answers there",
            fix="Check that it runs, and its port",
        )


def check_remote(remote: str) -> None:
    """The same of a server of Spark Connect."""
    try:
        url = urlsplit(remote)
        fits = url.scheme == "sc" and bool(url.hostname) and url.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise BadSetting(
            "the address of Spark Connect cannot be used",
            why="it is not of the form sc://HOST:PORT",
            fix="Correct --remote",
        )
    address = f"{url.hostname}:{url.port or 15_002}"
    if not _answers(address):
        raise Unavailable(
            f"Spark Connect cannot be reached at {address}",
            why="nothing answers there",
            fix="Check that it runs, and its port",
        )


def is_local(master: str) -> bool:
    """Whether all of Spark runs on this machine."""
    return master.startswith("local")


def cores(master: str, here: int) -> int:
    """How many tasks run at once on a local master, of so many cores here."""
    given = re.match(r"local\[(\d+)", master)
    return int(given[1]) if given else here if "[" in master else 1


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), SPARK_CONNECT_SECONDS):
        return True
    return False


def _modules(program: str) -> str:
    """What a Java is made of; empty if it is too old to tell."""
    try:
        done = subprocess.run(  # noqa: S603  found above
            [program, "--list-modules"],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=JAVA_SECONDS_MAX,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unsupported(
            "Java does not run", why=f"{program}: {error}", fix=_INSTALL_JAVA
        ) from error
    return done.stdout
