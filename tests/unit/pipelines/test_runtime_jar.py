"""Where the jar comes from."""

import hashlib
import io
import stat
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from headgate.errors import BadSetting, Corrupt, Unavailable
from headgate.pipelines import runtime_jar
from headgate.pipelines.reporting import Report
from headgate.pipelines.runtime_jar import AWS, RUNTIME, Jar, local_repository, mirror, runtime_jars
from headgate.testing.private_server import free_port

CONTENT = b"a jar"
OTHER = "org.example:other:1.0"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


class Machine(NamedTuple):
    """One of a user's."""

    home: Path
    cache: Path
    repository: Path
    url: str


@pytest.fixture(name="machine")
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """An empty home and cache, and a repository that has both jars."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    for name, jar in (("RUNTIME", RUNTIME), ("AWS", AWS)):
        known = jar._replace(sha256=digest)
        monkeypatch.setattr(runtime_jar, name, known)
        path = tmp_path / "repository" / known.path
        path.parent.mkdir(parents=True)
        path.write_bytes(CONTENT)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda _name: tmp_path / "cache")
    handler = partial(Quiet, directory=str(tmp_path / "repository"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        yield Machine(tmp_path / "home", tmp_path / "cache", tmp_path / "repository", url)
        server.shutdown()


def settings(machine: Machine, text: str) -> None:
    """Settings of Maven for this user."""
    (machine.home / ".m2").mkdir(parents=True, exist_ok=True)
    head = '<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0">'
    (machine.home / ".m2" / "settings.xml").write_text(f"{head}{text}</settings>")


def mirror_of(name: str, url: str) -> str:
    return f"<mirrors><mirror><mirrorOf>{name}</mirrorOf><url>{url}</url></mirror></mirrors>"


def test_it_is_downloaded_once(machine: Machine) -> None:
    """Everybody may read it, and nothing else is left in the cache."""
    [first] = runtime_jars("", machine.url, home=machine.home)
    [again] = runtime_jars("", "http://127.0.0.1:1", home=machine.home)

    assert first == again == machine.cache / "java" / RUNTIME.name
    assert first.read_bytes() == CONTENT
    assert stat.S_IMODE(first.stat().st_mode) == 0o644
    assert list(first.parent.iterdir()) == [first]


def test_that_it_is_downloaded_is_said(machine: Machine) -> None:
    """It is large; what lies in the cache is not worth a word."""
    stream = io.StringIO()
    for _ in range(2):
        runtime_jars("", machine.url, home=machine.home, report=Report(stream=stream))

    name = f"downloading {RUNTIME.name}"
    assert stream.getvalue().splitlines() == [f"{name}…", f"{name}  5 bytes  0:00"]


def test_s3_needs_one_more(machine: Machine) -> None:
    """Only where there is S3."""
    found = runtime_jars("", machine.url, s3=True, home=machine.home)

    assert [path.name for path in found] == [RUNTIME.name, AWS.name]


def test_a_broken_file_in_the_cache_is_replaced(machine: Machine) -> None:
    """What was written halfway by somebody else is no jar."""
    cached = machine.cache / "java" / RUNTIME.name
    cached.parent.mkdir(parents=True)
    cached.write_bytes(CONTENT[:2])

    assert runtime_jars("", machine.url, home=machine.home) == [cached]
    assert cached.read_bytes() == CONTENT


def test_what_maven_has_is_used(machine: Machine) -> None:
    """In its usual place or where its settings say; and only if it is the right one."""
    elsewhere = machine.home.parent / "maven"
    settings(machine, f"<localRepository>{elsewhere}</localRepository>")
    path = local_repository(machine.home) / RUNTIME.path
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)

    assert runtime_jars("", "http://127.0.0.1:1", home=machine.home) == [path]
    assert path.is_relative_to(elsewhere)
    path.write_bytes(b"another")
    assert runtime_jars("", machine.url, home=machine.home) != [path]


def test_the_mirror_of_maven_is_asked(machine: Machine) -> None:
    """As Maven would ask it."""
    settings(machine, mirror_of("central", machine.url))

    [found] = runtime_jars(home=machine.home)
    assert found.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("name", "is_asked"),
    [
        ("*", True),
        ("external:*", True),
        ("a, central", True),
        ("jboss", False),
        ("*,!central", False),
    ],
)
def test_a_mirror_of_something_else_is_not_asked(
    machine: Machine, name: str, is_asked: bool
) -> None:
    """Only one that stands for Maven Central."""
    settings(machine, mirror_of(name, "http://mirror"))

    assert mirror(machine.home) == ("http://mirror" if is_asked else "")


def test_settings_that_cannot_be_read_are_none(machine: Machine) -> None:
    """They are Maven's business."""
    settings(machine, "<mirror>")

    assert mirror(machine.home) == ""
    assert local_repository(machine.home) == machine.home / ".m2" / "repository"


def test_what_is_not_the_jar_is_refused(machine: Machine) -> None:
    """And not kept."""
    (machine.repository / RUNTIME.path).write_bytes(b"something else")

    with pytest.raises(Corrupt, match="is not the jar it should be: its SHA-256 is"):
        runtime_jars("", machine.url, home=machine.home)
    assert list((machine.cache / "java").iterdir()) == []


@pytest.mark.parametrize("path", ["", "/nothing"])
def test_a_repository_that_does_not_have_it_is_told(machine: Machine, path: str) -> None:
    """One that cannot be reached, and one without the jar; and what to do then."""
    where = f"{machine.url}{path}" if path else f"http://127.0.0.1:{free_port()}"

    with pytest.raises(Unavailable) as refused:
        runtime_jars("", where, home=machine.home)

    assert str(refused.value).startswith(f"{RUNTIME.name} could not be downloaded: {where}/org/")
    assert "give its path with --jar" in str(refused.value)
    assert ("answers 404" in str(refused.value)) == bool(path)


def test_a_repository_is_a_url(machine: Machine) -> None:
    """No file of this machine is taken for one."""
    with pytest.raises(BadSetting, match="it is no http:// or https:// URL"):
        runtime_jars("", f"file://{machine.repository}", home=machine.home)


def test_what_is_wanted_is_taken(machine: Machine) -> None:
    """Paths as they are; coordinates from the repository, whatever their digest."""
    own = machine.repository / "own.jar"
    own.write_bytes(b"own")
    other = Jar(*OTHER.split(":"))
    path = machine.repository / other.path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"other")

    found = runtime_jars(f"{own}, {OTHER}", machine.url, s3=True, home=machine.home)
    assert [one.read_bytes() for one in found] == [b"own", b"other"]


def test_coordinates_of_a_known_jar_have_its_digest(machine: Machine) -> None:
    """To name the usual jar is no way around the look at it."""
    (machine.repository / RUNTIME.path).write_bytes(b"something else")

    with pytest.raises(Corrupt):
        runtime_jars(":".join(RUNTIME[:3]), machine.url, home=machine.home)


def test_what_is_neither_a_path_nor_coordinates_is_refused(machine: Machine) -> None:
    """With what could be given."""
    with pytest.raises(BadSetting, match=r"there is no such file\. Give the path of a jar"):
        runtime_jars("nothing.jar", machine.url, home=machine.home)
