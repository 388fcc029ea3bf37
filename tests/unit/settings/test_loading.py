"""Putting values together: the order of sources, refusals that help, secrets that stay secret."""

from pathlib import Path

import pytest

from headgate.errors import BadSetting
from headgate.settings.authentication import TOKEN_SECRET
from headgate.settings.loading import load
from headgate.settings.server import HTTP_BODY_BYTES, LOG_LEVEL, READ_ONLY
from headgate.settings.setting import Settings
from headgate.settings.store import (
    BACKEND,
    CACHE_SIZE,
    COMMIT_TIMEOUT,
    DATA,
    POSTGRESQL_CONNECTIONS,
)
from headgate.settings.table import SETTINGS


def source_of(settings: Settings, name: str) -> str:
    return next(value.source for value in settings if value.setting.name == name)


def test_every_setting_has_its_default() -> None:
    """Without any source each setting has a value, and says that it is the default."""
    settings = load()

    assert [value.setting for value in settings] == list(SETTINGS)
    assert {value.source for value in settings} == {"default"}


def test_later_sources_win() -> None:
    """Flag beats --set beats environment beats config file beats default."""
    file = "[cache]\nbytes = 1\n[commit]\ntimeout-seconds = 1\n[log]\nlevel = 'info'\n"
    environ = {"HEADGATE_CACHE_BYTES": "2", "HEADGATE_LOG_LEVEL": "error", "HEADGATE_DATA": "/e"}
    sets = ["cache.bytes=3", "data=/s"]
    settings = load(flags={"data": "/f", "backend": None}, sets=sets, environ=environ, file=file)

    assert settings[COMMIT_TIMEOUT] == 1.0
    assert settings[LOG_LEVEL] == "error"
    assert settings[CACHE_SIZE] == 3
    assert settings[DATA] == Path("/f")
    assert settings[BACKEND] == ""
    assert [source_of(settings, name) for name in ("commit.timeout-seconds", "log.level")] == [
        "config file",
        "environment",
    ]
    assert [source_of(settings, name) for name in ("cache.bytes", "data", "backend")] == [
        "--set",
        "flag",
        "default",
    ]


def test_everything_lies_beside_a_sqlite_file_that_is_named() -> None:
    """Unless somebody chose another directory; a path is absolute with any number of slashes."""
    for url in ("sqlite:///x/y.db", "sqlite:////x/y.db"):
        settings = load(flags={"backend": url})
        assert (settings[DATA], source_of(settings, "data")) == (Path("/x"), "backend")
        assert load(flags={"backend": url, "data": "/d"})[DATA] == Path("/d")
    assert load(flags={"backend": "memory:"})[DATA] == load()[DATA]


def test_a_directory_is_kept_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads it elsewhere means the same."""
    monkeypatch.chdir(tmp_path)

    assert load(flags={"data": "lake"})[DATA] == tmp_path / "lake"
    assert load(flags={"data": "."})[DATA] == tmp_path


def test_dots_and_dashes_are_underscores_in_the_environment() -> None:
    """`postgresql.connections-max` is HEADGATE_POSTGRESQL_CONNECTIONS_MAX."""
    settings = load(environ={"HEADGATE_POSTGRESQL_CONNECTIONS_MAX": "7"})

    assert settings[POSTGRESQL_CONNECTIONS] == 7


def test_a_config_file_may_use_tables_or_dotted_names() -> None:
    """Nested tables, dotted keys and quoted names say the same."""
    for file in ("[cache]\nbytes = 5", "cache.bytes = 5", '"cache.bytes" = 5', "cache = {bytes=5}"):
        assert load(file=file)[CACHE_SIZE] == 5


def test_an_alias_sets_the_setting_it_stands_for() -> None:
    """Gravitino's own name of a setting is understood."""
    settings = load(sets=["gravitino.entity.store.relational.maxConnections=9"])

    assert settings[POSTGRESQL_CONNECTIONS] == 9


@pytest.mark.parametrize(
    ("source", "nearest"),
    [
        ({"sets": ["cache.byte=1"]}, "'cache.bytes'"),
        ({"file": "[cache]\nbyte = 1"}, "'cache.bytes'"),
        ({"environ": {"HEADGATE_LOG_LEVL": "info"}}, "'HEADGATE_LOG_LEVEL'"),
        ({"sets": ["foo=1"]}, ""),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(
    source: dict[str, object], nearest: str
) -> None:
    """A misspelt setting never passes silently; what is near to nothing suggests nothing."""
    with pytest.raises(BadSetting) as caught:
        load(**source)  # type: ignore[arg-type]

    assert "is unknown" in caught.value.what
    assert caught.value.why == (f"the nearest known name is {nearest}" if nearest else "")


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("cache.bytes=many", "a whole number of at least 0 (bytes)"),
        ("cache.bytes=-1", "a whole number of at least 0 (bytes)"),
        ("cache.bytes=1.5", "a whole number"),
        ("commit.timeout-seconds=0", "a number from 0.1 to 3600 (seconds)"),
        ("sqlite.busy-timeout-seconds=3601", "a number from 0 to 3600 (seconds)"),
        ("postgresql.connections-max=1001", "a whole number from 1 to 1000 (connections)"),
        ("data=~no-such-user-here/x", "a path"),
        ("data=/x/\udcff", "a path"),
        ("data=/x/\0", "a path"),
        ("commit.timeout-seconds=nan", "a number"),
        ("commit.timeout-seconds=inf", "a number"),
        ("log.level=loud", "one of debug, info, warning, error"),
        ("data=", "a path"),
        ("read-only=1", "true or false"),
        ("read-only=yes", "true or false"),
        ("read-only=", "true or false"),
        ("http.host=", "text that is not empty"),
        ("http.port=65536", "a whole number from 0 to 65535"),
        ("planning.processes=0", "a whole number from 1 to 64 (processes)"),
        ("s3.credential-seconds=899", "a whole number from 900 to 43200 (seconds)"),
        ("gcs.delegation=sts", "one of none, static"),
    ],
)
def test_a_bad_value_is_refused_with_what_is_expected(pair: str, expected: str) -> None:
    """The refusal names the setting, its source, the value and what would be right."""
    name, _, text = pair.partition("=")
    with pytest.raises(BadSetting) as caught:
        load(sets=[pair])

    assert caught.value.what == f"setting {name!r} from --set cannot be used"
    assert caught.value.why.startswith(f"{text!r} is not {expected}")


@pytest.mark.parametrize("value", ["true", "[1]", "1979-05-27"])
@pytest.mark.parametrize("name", ["cache.bytes", "commit.timeout-seconds", "data", "backend"])
def test_a_config_file_value_of_another_kind_is_refused(name: str, value: str) -> None:
    """A number, a path or a text is neither true nor a list nor a date."""
    with pytest.raises(BadSetting, match="from config file cannot be used"):
        load(file=f"{name} = {value}")


@pytest.mark.parametrize(
    "source",
    [
        {"file": "read-only = true"},
        {"file": "read-only = 'True'"},
        {"environ": {"HEADGATE_READ_ONLY": "TRUE"}},
        {"sets": ["read-only=true"]},
        {"flags": {"read-only": True}},
    ],
)
def test_every_source_can_say_true(source: dict[str, object]) -> None:
    """A switch is written true or false in any case, and as a boolean where there are some."""
    assert load(**source)[READ_ONLY] is True  # type: ignore[arg-type]


def test_a_later_source_can_switch_off_again() -> None:
    """False is a value like any other, not the absence of one."""
    settings = load(file="read-only = true", environ={"HEADGATE_READ_ONLY": "False"})

    assert settings[READ_ONLY] is False
    assert source_of(settings, "read-only") == "environment"


def test_a_config_file_that_is_no_toml_is_refused() -> None:
    """The refusal says where the file breaks."""
    with pytest.raises(BadSetting, match="line 1"):
        load(file="cache.bytes = ?")


def test_set_needs_an_equals_sign() -> None:
    """`--set cache.bytes` is refused."""
    with pytest.raises(BadSetting, match=r"--set 'cache\.bytes' cannot be used: it has no ="):
        load(sets=["cache.bytes"])


@pytest.mark.parametrize(
    "source",
    [
        {"sets": ["backend:postgresql://u:PW@h/db"]},
        {"sets": ["backend:postgresql://u:PW@h/db?x=1"]},
        {"sets": ["backend PW=1"]},
        {"file": 'backend = ["postgresql://u:PW@h/db"]'},
        {"file": '"backend:postgresql://u:PW@h/db" = 1'},
        {"flags": {"backend": "postgresql://u:PW@h/\udcff"}},
        {"sets": ["backend.token=PW"]},
    ],
)
def test_a_refusal_does_not_quote_a_password(source: dict[str, object]) -> None:
    """Whatever went wrong around a secret setting, its value is not repeated."""
    with pytest.raises(BadSetting) as caught:
        load(**source)  # type: ignore[arg-type]

    assert "backend" in str(caught.value)
    assert "PW" not in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [{"sets": ["token.secret=PW:\0"]}, {"file": "token.secret = ['PW']"}],
)
def test_a_refusal_shows_nothing_of_a_secret(source: dict[str, object]) -> None:
    """A secret is no URL: not even what comes before a colon is shown."""
    with pytest.raises(BadSetting, match=r"'token\.secret' .*: '\*\*\*' is not text"):
        load(**source)  # type: ignore[arg-type]


def test_variables_of_an_orchestrator_are_left_alone() -> None:
    """A service called "headgate" gives containers variables that are not meant for us."""
    load(environ={"HEADGATE_SERVICE_HOST": "10.0.0.1", "HEADGATE_PORT": "tcp://x", "PATH": "/bin"})


def test_who_a_client_is_is_no_setting() -> None:
    """What pipelines are told may stand beside the settings of a server."""
    load(environ={"HEADGATE_TOKEN": "t", "HEADGATE_USER": "u", "HEADGATE_PASSWORD": "p"})


def test_a_tilde_is_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A config file may say `~`, as a shell would."""
    monkeypatch.setenv("HOME", "/somewhere")

    assert load(file="data = '~/lake'")[DATA] == Path("/somewhere/lake")


def test_a_config_file_that_is_broken_is_named() -> None:
    """There may be several."""
    with pytest.raises(BadSetting, match=r"config file 'my\.toml' cannot be used: it is no TOML"):
        load(file="[", file_name="my.toml")


def test_whole_numbers_are_shown_with_all_digits() -> None:
    """Also large ones."""
    assert HTTP_BODY_BYTES.expected == "a whole number from 1024 to 4194304 (bytes)"
    assert COMMIT_TIMEOUT.expected.startswith("a number from 0.1 to ")


def test_only_shown_values_are_masked() -> None:
    """The program gets the password, people do not."""
    settings = load(sets=["backend=postgresql://u:p@h/d"])
    value = next(value for value in settings if value.setting is BACKEND)

    assert settings[BACKEND] == "postgresql://u:p@h/d"
    assert value.shown == "postgresql://u:***@h/d"


@pytest.mark.parametrize(("secret", "shown"), [("memory:", "***"), ("a:b", "***"), ("", "")])
def test_of_a_secret_only_its_presence_is_shown(secret: str, shown: str) -> None:
    """A secret is stars, whatever it looks like; one that is not set is empty."""
    settings = load(sets=[f"token.secret={secret}"])
    value = next(value for value in settings if value.setting is TOKEN_SECRET)

    assert settings[TOKEN_SECRET] == secret
    assert value.shown == shown
