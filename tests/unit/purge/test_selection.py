"""Which purger a server has, and what is said of one that it cannot have."""

import asyncio
from pathlib import Path

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.catalog.events import EventBus
from headgate.errors import BadSetting
from headgate.purge.purgers import PurgerContext
from headgate.purge.selection import PURGERS, Selection, select
from headgate.storage.gateway import StorageGateway
from headgate.storage.options import StorageOptions
from headgate.testing.manual_clock import ManualClock
from tests.unit.purge.partners import Plain
from tests.unit.third_parties import install

PARTNERS = "tests.unit.purge.partners"
STORAGE = StorageGateway(StorageOptions(), ManualClock())


def context() -> PurgerContext:
    return PurgerContext(
        backend=MemoryBackend(),
        events=EventBus("host:1"),
        loop=asyncio.get_running_loop(),
    )


@pytest.mark.parametrize(
    ("choice", "name"),
    [("async", "async"), ("jdbc-async", "async"), ("synchronous", "synchronous")],
)
async def test_a_purger_that_is_built_in_needs_no_third_party(choice: str, name: str) -> None:
    """Jobs record it by its own name, whatever it is called in the settings."""
    selection = select(choice, {})

    assert (selection.name, selection.purger) == (name, None)
    assert await selection.start(context(), STORAGE) is None


async def test_an_installed_purger_is_chosen_by_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It gets its own properties, and none of another's."""
    entry_points = {PURGERS.group: {"plain": f"{PARTNERS}:Plain", "other": "no_module:X"}}
    install(monkeypatch, tmp_path, "partner", entry_points)
    selection = select("plain", {"plain": {"file": "/a"}, "other": {"key": "1"}})
    used = await selection.start(context(), STORAGE)

    assert used is not None
    assert (selection.name, used.name) == ("plain", "plain")
    assert isinstance(selection.purger, Plain)
    assert selection.purger.properties == {"file": "/a"}


@pytest.mark.parametrize("path", [f"{PARTNERS}:Plain", f"{PARTNERS}.Plain"])
async def test_a_purger_is_chosen_by_its_import_path(path: str) -> None:
    """Jobs and properties know it by the name that it says it has."""
    selection = select(path, {"plain": {"file": "/a"}})
    await selection.start(context(), STORAGE)

    assert selection.name == "plain"
    assert isinstance(selection.purger, Plain)
    assert selection.purger.properties == {"file": "/a"}


def test_an_unknown_purger_is_refused_with_the_nearest() -> None:
    """And with all that there are."""
    with pytest.raises(BadSetting) as caught:
        select("asnyc", {})

    assert str(caught.value) == (
        "purger 'asnyc' is unknown: the nearest known name is 'async'. Choose one of async, "
        "jdbc-async, synchronous, spark, or the import path of one, as module:Name"
    )


def test_spark_is_built_in_and_told_what_spark_is_to_know() -> None:
    """Its own properties are of Spark itself."""
    told = {"conf.spark.executor.memory": "1g"}

    assert select("spark", {"spark": told}) == Selection("spark", None, told)


@pytest.mark.parametrize(
    ("member", "why"),
    [
        ("Nobody", f"'{PARTNERS}' has no 'Nobody'"),
        ("NO_CLASS", "it is no class but 'int'"),
        ("NotMade", "it could not be made (TypeError: "),
        ("WithoutMethods", "it has no method purge_table, close"),
        ("Nameless", "its name is 'No Name', and not lower-case words with dashes between"),
        ("Pretender", "its name is 'async', which is built in"),
    ],
)
def test_a_purger_that_is_none_is_refused(member: str, why: str) -> None:
    """The refusal says what is wrong with it, and what to do."""
    with pytest.raises(BadSetting) as caught:
        select(f"{PARTNERS}:{member}", {})

    assert caught.value.what == f"purger '{PARTNERS}:{member}' cannot be used"
    assert caught.value.why.startswith(why)
    assert caught.value.fix


def test_an_entry_point_has_the_name_of_its_purger(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else jobs of one purger would have two names, by how it was chosen."""
    install(monkeypatch, tmp_path, "partner", {PURGERS.group: {"plane": f"{PARTNERS}:Plain"}})
    with pytest.raises(BadSetting, match="its name is 'plain', and its entry point has another"):
        select("plane", {})


async def test_a_purger_that_cannot_begin_is_refused() -> None:
    """On one line with what it says, and where its properties are."""
    with pytest.raises(BadSetting) as caught:
        await select(f"{PARTNERS}:NotInitialized", {}).start(context(), STORAGE)

    assert str(caught.value) == (
        "purger 'not-initialized' cannot be used: it could not be initialized (ValueError: file is "
        "missing). Correct its properties purger.not-initialized.*, or choose another purger"
    )


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        ("asnc", "the nearest known name is 'async'"),
        ("plane", "the nearest known name is 'plain'"),
        ("xyz", "there is no purger 'xyz'"),
    ],
)
def test_properties_of_a_purger_that_nobody_knows_are_refused(owner: str, why: str) -> None:
    """A misspelt name never passes silently."""
    with pytest.raises(BadSetting) as caught:
        select(f"{PARTNERS}:Plain", {"plain": {}, owner: {"key": "1"}})

    assert (caught.value.what, caught.value.why) == (
        f"the settings 'purger.{owner}.*' cannot be used",
        why,
    )
