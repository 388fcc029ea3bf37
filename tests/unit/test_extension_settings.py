"""From settings to purgers and listeners of third parties."""

from pathlib import Path

import pytest

from headgate.catalog.events import Event, PurgeStarted, log_event
from headgate.cli.serve import check_settings
from headgate.errors import BadSetting
from headgate.extension_settings import LISTENERS, event_bus, purger_selection
from headgate.model.names import Identifier
from headgate.settings.loading import load
from tests.unit.third_parties import install

PARTNERS = "tests.unit.purge.partners"
HERE = "tests.unit.test_extension_settings"
STARTED = PurgeStarted(at_ms=1, metalake="m", catalog="c", table=Identifier(("a",), "t"))

heard: list[Event] = []


def hear(event: Event) -> None:
    heard.append(event)


def test_the_purger_that_is_chosen_gets_its_properties() -> None:
    """Without the prefix, by which it is known."""
    settings = load(
        sets=[f"purger={PARTNERS}:Plain", "purger.plain.file=/a", "purger.plain.s3.region=x"]
    )
    selection = purger_selection(settings)

    assert (selection.name, selection.properties) == ("plain", {"file": "/a", "s3.region": "x"})


def test_without_a_choice_workers_delete() -> None:
    """The default is built in."""
    assert purger_selection(load()).name == "async"


def test_listeners_are_told_besides_the_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the name of an entry point, or by import path."""
    install(monkeypatch, tmp_path, "partner", {LISTENERS.group: {"mine": f"{HERE}:hear"}})
    settings = load(sets=[f"events.listeners=mine, {HERE}:hear,"])
    bus = event_bus(settings, "host:1")
    before = len(heard)
    bus.publish(STARTED)

    assert bus.listeners[0] is log_event
    assert [event.server for event in heard[before:]] == ["host:1", "host:1"]


@pytest.mark.parametrize(
    ("listener", "what"),
    [
        ("mine", "listener 'mine' is unknown"),
        ("no_module:x", "listener 'no_module:x' cannot be used: 'no_module' cannot be imported"),
        (f"{HERE}:PARTNERS", "cannot be used: it is no function but 'str'"),
    ],
)
def test_a_server_does_not_start_without_a_listener_that_was_chosen(
    listener: str, what: str
) -> None:
    """Nobody would notice that it hears nothing."""
    with pytest.raises(BadSetting) as caught:
        check_settings(load(sets=[f"events.listeners={listener}"]))

    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("sets", "what"),
    [
        (["purger=asnyc"], "purger 'asnyc' is unknown: the nearest known name is 'async'"),
        (["purger.adit.file=x"], "the settings 'purger.adit.*' cannot be used"),
        ([f"purger={PARTNERS}:NotMade"], "it could not be made"),
    ],
)
def test_a_server_does_not_start_with_a_purger_that_cannot_be_used(
    sets: list[str], what: str
) -> None:
    """It is refused before anything is made."""
    with pytest.raises(BadSetting) as caught:
        check_settings(load(sets=sets))

    assert what in str(caught.value)
