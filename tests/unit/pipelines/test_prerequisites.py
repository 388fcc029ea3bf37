"""What is looked at before Spark starts."""

import socket
import sys
from pathlib import Path

import pytest

from headgate.errors import BadSetting, HeadgateError, Unavailable, Unsupported
from headgate.pipelines.prerequisites import (
    check_connect,
    check_java,
    check_master,
    check_pyspark,
    check_remote,
    cores,
)
from headgate.testing.private_server import free_port

WHOLE = "java.base@17.0.1\njdk.incubator.vector@17.0.1"


def java(folder: Path, said: str, code: int = 0) -> dict[str, str]:
    """An environment whose Java says this when it is asked for its modules."""
    program = folder / "java"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\nexit {code}\n")
    program.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def refusal(error: HeadgateError) -> str:
    """Its one line."""
    text = str(error)
    assert "\n" not in text
    return text


def test_without_pyspark_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody sees an ImportError."""
    monkeypatch.setitem(sys.modules, "pyspark", None)

    with pytest.raises(Unsupported) as refused:
        check_pyspark()

    assert refusal(refused.value) == (
        "pipelines cannot run: pyspark is not installed. Run pip install 'headgate[spark]', "
        "or '.[spark]' in a clone"
    )


@pytest.mark.parametrize("version", ["4.2.1", "4.0.5", "3.5.9", "4.10.0"])
def test_a_pyspark_of_another_version_is_refused(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Iceberg's runtime would fail in it, much later and in Java's words."""
    monkeypatch.setattr("pyspark.__version__", version)

    with pytest.raises(Unsupported) as refused:
        check_pyspark()

    assert refusal(refused.value).startswith(f"PySpark {version} cannot be used: Iceberg's runtime")


def test_without_grpc_there_is_no_spark_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said what to install."""
    monkeypatch.setitem(sys.modules, "grpc", None)

    with pytest.raises(Unsupported) as refused:
        check_connect()

    assert "pip install 'pyspark[connect]==4.1.*'" in refusal(refused.value)


def test_a_whole_java_is_taken(tmp_path: Path) -> None:
    """Java 17 with the module that Spark needs."""
    check_java(java(tmp_path, WHOLE))


def test_the_java_of_java_home_is_the_one_that_counts(tmp_path: Path) -> None:
    """As for Spark itself."""
    (tmp_path / "jre" / "bin").mkdir(parents=True)
    java(tmp_path / "jre" / "bin", "java.base@11.0.1")
    environ = java(tmp_path, WHOLE) | {"JAVA_HOME": str(tmp_path / "jre")}

    with pytest.raises(Unsupported) as refused:
        check_java(environ)

    assert f"{tmp_path}/jre/bin/java is Java 11" in refusal(refused.value)


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ("java.base@11.0.20\njdk.incubator.vector@11", 0, "Java is too old: "),
        ("Unrecognized option: --list-modules", 1, "is Java 8 or older. Install Java 17"),
        ("java.base@17.0.1\njava.sql@17.0.1", 0, "has no module jdk.incubator.vector"),
    ],
)
def test_a_java_that_does_not_do_is_refused(
    tmp_path: Path, said: str, code: int, words: str
) -> None:
    """Too old, or stripped: what it is, and what to install."""
    with pytest.raises(Unsupported) as refused:
        check_java(java(tmp_path, said, code))

    assert words in refusal(refused.value)
    assert "openjdk-17-jre-headless" in refusal(refused.value)


def test_without_java_it_is_said_what_to_install(tmp_path: Path) -> None:
    """Whether it was looked for in the PATH or in JAVA_HOME."""
    with pytest.raises(Unsupported, match="it is not in the PATH"):
        check_java({"PATH": str(tmp_path)})
    with pytest.raises(Unsupported, match="there is no bin/java in JAVA_HOME"):
        check_java({"PATH": "/usr/bin", "JAVA_HOME": str(tmp_path)})


def test_a_java_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    """A file of that name is no Java."""
    (tmp_path / "java").write_bytes(b"\x7fELF and nothing else")
    (tmp_path / "java").chmod(0o755)

    with pytest.raises(Unsupported, match="Java does not run"):
        check_java({"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[2]", "local[2,3]", "yarn", "k8s://h"]
)
def test_masters_of_spark_are_known(master: str) -> None:
    """What Spark understands is let through."""
    check_master(master)


@pytest.mark.parametrize("master", ["", "lokal", "local[0]", "local[x]", "spark://h", "http://h:1"])
def test_what_is_no_master_is_refused(master: str) -> None:
    """With those that there are."""
    with pytest.raises(BadSetting) as refused:
        check_master(master)

    assert "spark://HOST:PORT" in refusal(refused.value)


def test_a_master_that_does_not_answer_is_told_at_once() -> None:
    """Spark would try for a minute and fill the screen."""
    master = f"spark://127.0.0.1:{free_port()}"

    with pytest.raises(Unavailable) as refused:
        check_master(master)

    assert refusal(refused.value).startswith(f"Spark's master {master} cannot be reached")


def test_one_of_several_masters_is_enough() -> None:
    """The others may be standing by."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        check_master(f"spark://127.0.0.1:{free_port()},127.0.0.1:{port}")
        check_remote(f"sc://127.0.0.1:{port}/;user_id=x")


def test_an_address_of_spark_connect_is_looked_at() -> None:
    """Whether it is one, and whether something answers."""
    with pytest.raises(BadSetting, match="it is not of the form sc://HOST:PORT"):
        check_remote("spark://127.0.0.1:1")
    with pytest.raises(BadSetting):
        check_remote("sc://127.0.0.1:port")
    with pytest.raises(Unavailable, match="Spark Connect cannot be reached"):
        check_remote(f"sc://127.0.0.1:{free_port()}")


def test_a_local_master_tells_its_cores() -> None:
    """One, so many, or all there are."""
    masters = ("local", "local[3]", "local[2,4]", "local[*]")

    assert [cores(master, here=8) for master in masters] == [1, 3, 2, 8]
