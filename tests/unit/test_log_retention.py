"""The setting `log.retention-days`: which servers cut old commits, and which do not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headgate import background
from headgate.application import load_application
from headgate.errors import BadSetting
from headgate.settings.loading import load

CUT = "headgate_log_commits_cut_total"


class Recorder:
    """Stands for the rounds of a server."""

    made: list["Recorder"] = []
    commits_cut = 5

    def __init__(self, _kernel: object, retention_days: int) -> None:
        self.retention_days = retention_days
        self.made.append(self)

    async def make_for_ever(self, entropy: Callable[[], int]) -> None:
        assert entropy() >= 0


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Recorder]:
    """The rounds that servers begin."""
    monkeypatch.setattr(background, "LogRounds", Recorder)
    monkeypatch.setattr(Recorder, "made", [])
    return Recorder.made


@pytest.mark.parametrize(
    ("flags", "retention"),
    [
        ({}, [30]),
        ({"log.retention-days": "7"}, [7]),
        ({"log.retention-days": "0"}, []),
        ({"read-only": True}, []),
    ],
)
async def test_a_server_that_writes_cuts_what_is_older(
    tmp_path: Path, made: list[Recorder], flags: dict[str, str | bool], retention: list[int]
) -> None:
    """After 30 days if nothing is said, never if that is said; its metrics tell how much."""
    place: dict[str, str | bool] = {"data": str(tmp_path)}
    async with load_application(load(flags=place), None)._opening():
        made.clear()
    front = load_application(load(flags=place | flags), None)
    async with front._opening():
        assert [rounds.retention_days for rounds in made] == retention
        assert front._measures.samples().get(CUT) == (5 if retention else None)


def test_a_retention_below_nothing_is_refused() -> None:
    """There is no such time."""
    with pytest.raises(BadSetting, match=r"log\.retention-days"):
        load(flags={"log.retention-days": "-1"})
