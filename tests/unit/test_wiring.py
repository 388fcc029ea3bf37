"""From settings to a backend and an open kernel."""

import sys
from pathlib import Path

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.backends.sqlite.backend import SqliteBackend
from headgate.errors import BadSetting
from headgate.kernel.backend import Backend
from headgate.settings.loading import load
from headgate.wiring import entropy, make_backend, open_kernel


def made(url: str, *sets: str) -> Backend:
    return make_backend(load(flags={"backend": url}, sets=sets))


def test_without_a_backend_there_is_a_file_in_the_data_directory(tmp_path: Path) -> None:
    """The embedded store is `headgate.db`, and waits as long as its setting says."""
    settings = load(flags={"data": str(tmp_path)}, sets=["sqlite.busy-timeout-seconds=3"])
    backend = make_backend(settings)

    assert isinstance(backend, SqliteBackend)
    assert (backend._path, backend._busy_seconds) == (tmp_path / "headgate.db", 3.0)


def test_memory_is_a_backend() -> None:
    """`memory:` stores nothing on disk."""
    assert isinstance(made("memory:"), MemoryBackend)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///abs/x.db", "/abs/x.db"),
        ("sqlite:////abs/x.db", "/abs/x.db"),
        ("sqlite:///a%20b/%3F%23%25.db", "/a b/?#%.db"),
        ("sqlite:///a@b:c.db", "/a@b:c.db"),
    ],
)
def test_a_sqlite_url_names_a_file_by_its_absolute_path(url: str, path: str) -> None:
    """Three slashes or four, and escapes for what has a meaning in a URL."""
    backend = made(url)

    assert isinstance(backend, SqliteBackend)
    assert backend._path == Path(path)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:",
        "sqlite:PW.db",
        "sqlite:/PW.db",
        "sqlite://PW.db",
        "sqlite:///",
        "sqlite:////",
        "sqlite://[bad",
        "sqlite://u:PW@h/x",
        "sqlite:///x.db?password=PW",
        "sqlite:///x.db#PW",
        "sqlite:///tmp/a%00b",
        "sqlite:///tmp/a%ffb",
    ],
)
def test_any_other_sqlite_url_is_refused(url: str) -> None:
    """No file is made at a place that nobody meant."""
    with pytest.raises(BadSetting, match="Write an absolute path") as caught:
        made(url)

    assert "PW" not in str(caught.value)


@pytest.mark.parametrize("url", ["postgresql:u:PW", "postgresql:///d", "postgres://u:PW@/d"])
def test_a_database_server_without_a_host_is_refused(url: str) -> None:
    """With the form that a URL has; a socket is named in the query."""
    made("postgresql:///d?host=/run")
    with pytest.raises(BadSetting, match=r"no host\. Write postgresql://USER:PASS.*HOST") as caught:
        made(url)

    assert "PW" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_postgresql_gets_its_settings(scheme: str) -> None:
    """Connections and timeout come from the settings; nothing is connected yet."""
    backend = made(
        f"{scheme}://u:p@h/d",
        "postgresql.connections-max=3",
        "postgresql.command-timeout-seconds=4",
    )

    assert isinstance(backend, PostgresqlBackend)
    assert (backend._connections_max, backend._connector.command_timeout_seconds) == (3, 4.0)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the driver the error says how to get it, and not the password."""
    monkeypatch.setitem(sys.modules, "headgate.backends.postgresql.backend", None)
    with pytest.raises(BadSetting, match=r"pip install 'headgate\[postgresql\]'") as caught:
        made("postgresql://u:PW@h/d")

    assert "PW" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "scheme"),
    [("oracle://u:PW@h/d", "'oracle'"), ("PW", "''"), ("host=h password=P:W", "''")],
)
def test_an_unknown_scheme_is_refused(url: str, scheme: str) -> None:
    """The error names the scheme if there is one, and those that are known."""
    with pytest.raises(BadSetting) as caught:
        made(url)

    assert caught.value.why == f"{scheme} is not one of memory, sqlite, postgresql, postgres"
    assert "PW" not in str(caught.value)


async def test_an_open_kernel_works() -> None:
    """What is put together can be used."""
    async with open_kernel(load(flags={"backend": "memory:"})) as kernel:
        made = await kernel.realms.create("demo")

        assert await kernel.realms.list() == [made]


def test_entropy_is_a_positive_number_of_62_bits() -> None:
    """A version is never 0, and fits every database's integers."""
    numbers = {entropy() for _ in range(100)}

    assert len(numbers) == 100
    assert min(numbers) > 0
    assert max(numbers) <= 1 << 62
