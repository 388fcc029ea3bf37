"""Settings of purgers: who is chosen, and properties that only a third party understands."""

import pytest

from headgate.errors import BadSetting
from headgate.settings.loading import find, load, restore
from headgate.settings.purge import PURGER, PurgerProperty
from headgate.settings.purge_jobs import PURGE_WORKER_THREADS
from headgate.settings.setting import Settings
from headgate.settings.table import PURGES, family_of


def properties(settings: Settings) -> dict[tuple[str, str], str]:
    return {
        (value.setting.owner, value.setting.key): value.value
        for value in settings
        if isinstance(value.setting, PurgerProperty)
    }


@pytest.mark.parametrize("name", ["purger", "purger.name", "gravitino.iceberg-rest.purger"])
def test_a_purger_is_chosen_by_any_of_its_names(name: str) -> None:
    """Gravitino's own name is one of them."""
    assert load(sets=[f"{name}=synchronous"])[PURGER] == "synchronous"


@pytest.mark.parametrize(
    "prefix",
    [
        "purger.async",
        "purger.jdbc-async",
        "gravitino.iceberg-rest.purger.async",
        "gravitino.iceberg-rest.purger.jdbc-async",
    ],
)
def test_workers_are_set_below_any_name_of_their_purger(prefix: str) -> None:
    """What Gravitino calls it is understood there too."""
    assert load(sets=[f"{prefix}.worker-threads=7"])[PURGE_WORKER_THREADS] == 7


def test_a_config_file_can_choose_a_purger_beside_its_properties() -> None:
    """A table cannot be a text too, so the choice has a name inside of it."""
    settings = load(file="[purger]\nname = 'audit'\n[purger.audit]\nfile = '/a'\n")

    assert settings[PURGER] == "audit"
    assert properties(settings) == {("audit", "file"): "/a"}


@pytest.mark.parametrize(
    "source",
    [
        {"sets": ["purger.audit.log-file=/a"]},
        {"sets": ["gravitino.iceberg-rest.purger.audit.log-file=/a"]},
        {"file": "[purger.audit]\nlog-file = '/a'"},
        {"environ": {"HEADGATE_PURGER_AUDIT_LOG_FILE": "/a"}},
    ],
)
def test_every_source_has_properties_for_a_third_party(source: dict[str, object]) -> None:
    """They are known by the name of the purger and what comes after it."""
    assert properties(load(**source)) == {("audit", "log-file"): "/a"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "source",
    [
        {"sets": ["purger.spark.conf.spark.executor.memory=1g"]},
        {"file": "[purger.spark.conf]\n'spark.executor.memory' = '1g'"},
    ],
)
def test_what_spark_itself_is_told_has_its_own_names(source: dict[str, object]) -> None:
    """They are handed on as they are."""
    told = {("spark", "conf.spark.executor.memory"): "1g"}

    assert properties(load(**source)) == told  # type: ignore[arg-type]


def test_a_third_party_gets_texts() -> None:
    """Whatever a config file has; names with dashes and dots are passed on as they are."""
    file = "[purger.my-audit]\non = true\nlines = 5\nshare = 0.5\ns3.keyId = 'k'\n"

    assert properties(load(file=file)) == {
        ("my-audit", "on"): "true",
        ("my-audit", "lines"): "5",
        ("my-audit", "share"): "0.5",
        ("my-audit", "s3.keyId"): "k",
    }


def test_a_later_source_wins_for_properties_too() -> None:
    """They are settings like all others."""
    settings = load(file="purger.audit.file = '/a'", sets=["purger.audit.file=/b"])

    assert properties(settings) == {("audit", "file"): "/b"}


def test_properties_of_a_third_party_are_shown_to_nobody() -> None:
    """Headgate cannot know which of them are secrets."""
    [value] = [one for one in load(sets=["purger.audit.password=PW"]) if one.value == "PW"]

    assert value.shown == "***"
    assert family_of(value.setting) == PURGES


def test_another_process_gets_the_same_properties() -> None:
    """A server hands its settings to its processes."""
    settings = load(sets=["purger.audit.file=/a", "purger=audit"])

    assert restore(settings.plain()).plain() == settings.plain()


@pytest.mark.parametrize(
    "name",
    [
        "purger.async.no-such-thing",
        "purger.jdbc-async.no-such-thing",
        "gravitino.iceberg-rest.purger.async.no-such-thing",
        "purger.synchronous.file",
        "purger.spark.executors",
        "purger.audit",
        "purger.audit.",
        "purger.Audit.file",
        "purger.audit.a/b",
    ],
)
def test_what_no_purger_can_have_is_refused(name: str) -> None:
    """Built-in purgers have the settings of the table and no others."""
    with pytest.raises(BadSetting) as caught:
        find(name)

    assert caught.value.what == f"setting {name!r} is unknown"


@pytest.mark.parametrize("variable", ["HEADGATE_PURGER_ASYNC_FILE", "HEADGATE_PURGER_AUDIT"])
def test_a_variable_that_no_purger_can_have_is_refused(variable: str) -> None:
    """The same in the environment."""
    with pytest.raises(BadSetting, match=f"environment variable {variable} is unknown"):
        load(environ={variable: "1"})


def test_a_value_of_another_kind_is_refused_and_not_shown() -> None:
    """A list is no text."""
    with pytest.raises(BadSetting, match=r"'purger\.audit\.key' .*: '\*\*\*' is not text"):
        load(file="purger.audit.key = ['PW']")
