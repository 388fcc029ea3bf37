"""Which servers free locations that dropped tables left."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headgate import background
from headgate.application import load_application
from headgate.settings.loading import load


@pytest.mark.parametrize(("is_reading", "number"), [(False, 1), (True, 0)])
async def test_a_server_that_writes_frees_locations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_reading: bool, number: int
) -> None:
    """One that only reads changes nothing."""
    made = []

    class Recorder:
        """Stands for the rounds of a server."""

        def __init__(self, kernel: object, storage: object) -> None:
            made.append((kernel, storage))

        async def make_for_ever(self, entropy: Callable[[], int]) -> None:
            assert entropy() >= 0

    place = {"data": str(tmp_path)}
    async with load_application(load(flags=place), None)._opening():
        pass
    monkeypatch.setattr(background, "LeftRounds", Recorder)
    flags: dict[str, str | bool] = {**place, "read-only": is_reading}
    async with load_application(load(flags=flags), None)._opening():
        assert len(made) == number
