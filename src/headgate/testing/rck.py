"""Iceberg's REST Compatibility Kit: run against a server and counted.

The kit writes to fixed folders below /tmp, so one runs at a time; it needs a fresh catalog.
"""

import fcntl
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from headgate.testing.maven import class_path, java

SUITE = "org.apache.iceberg.rest.RESTCompatibilityKitSuite"
RUN_SECONDS_MAX = 280.0
LITTER = (Path("/tmp/ns"), Path("/tmp/newdb"))  # noqa: S108  the kit's own choice
LOCK = Path(tempfile.gettempdir()) / "headgate-rck.lock"
JAVA_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # half the time of a short run
SWITCHES = {
    "rck.local": "false",
    "rck.requires-namespace-create": "true",
    "rck.supports-serverside-retry": "true",
    "rck.supports-names-with-dot": "true",
    "rck.overrides-requested-location": "false",
    "rck.purge-test-namespaces": "true",
}
"""Every switch that lets more tests run is on."""


@dataclass(frozen=True)
class KitResult:
    """What the kit found out: names of tests, and for those that failed the reason."""

    passed: tuple[str, ...]
    failed: Mapping[str, str]
    skipped: tuple[str, ...]

    @property
    def executed(self) -> int:
        return len(self.passed) + len(self.failed)


def run_kit(url: str, warehouse: str, properties: Mapping[str, str] | None = None) -> KitResult:
    """Run the whole kit; `properties` are further properties of its catalog client."""
    settings = SWITCHES | {"uri": url, "warehouse": warehouse} | dict(properties or {})
    with _alone(), tempfile.TemporaryDirectory(prefix="headgate-rck-") as folder:
        for litter in LITTER:
            shutil.rmtree(litter, ignore_errors=True)
        return _run(settings, Path(folder))


def _run(settings: Mapping[str, str], folder: Path) -> KitResult:
    command = [
        *(java(), *JAVA_OPTIONS, *(f"-D{name}={text}" for name, text in settings.items())),
        *("-cp", class_path(), "org.junit.platform.console.ConsoleLauncher", "execute"),
        *("--select-class", SUITE, "--details=none", "--reports-dir", str(folder / "reports")),
    ]
    with (folder / "output").open("wb") as output:
        subprocess.run(  # noqa: S603  the command is composed above
            command,
            check=False,  # its exit code says whether a test failed
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=RUN_SECONDS_MAX,
        )
    report = folder / "reports" / "TEST-junit-platform-suite.xml"
    if not report.exists():
        output_end = (folder / "output").read_text(errors="replace")[-4000:]
        raise RuntimeError(f"the kit left no report: {output_end}")
    return read_report(report)


def read_report(report: Path) -> KitResult:
    """Sort the test cases of a JUnit report."""
    passed: list[str] = []
    skipped: list[str] = []
    failed: dict[str, str] = {}
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314  our own file
        name = f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}"
        wrong = case.find("failure")
        wrong = case.find("error") if wrong is None else wrong
        if wrong is not None:
            reason = (wrong.get("message") or "").partition("\n\tat ")[0].strip()
            failed[name] = f"{wrong.get('type')}: {reason}"
        elif case.find("skipped") is not None:
            skipped.append(name)
        else:
            passed.append(name)
    return KitResult(tuple(passed), failed, tuple(skipped))


@contextmanager
def _alone() -> Iterator[None]:
    with LOCK.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                f"the compatibility kit runs already, and two would disturb each other: "
                f"wait until it has ended ({LOCK} is locked)"
            ) from None
        yield
