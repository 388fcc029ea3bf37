"""Readers of what clients write, fed with anything: nothing ends a process, or takes for ever."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import FULL
from tests.fuzz.targets import TARGETS

RUNS = 200_000 if FULL else 2_000
GUIDED = importlib.util.find_spec("atheris") is not None
"""Where there is no such package, as on other systems than Linux, there is only the first test."""
SEEDS = {name: target.seeds() for name, target in TARGETS.items()}
PIECES = [b"", b"\x00", b"\x7f", b"\xff" * 9, b"\x80\x80\x80\x80\x10", b"/..", b"%2F", b'{"', b"\n"]


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
def test_spoilt_input_is_refused_as_input(name: str, data: st.DataObject) -> None:
    """Some bytes of something good are replaced by anything."""
    spoilt = bytearray(data.draw(st.sampled_from(SEEDS[name])))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(spoilt)))
        until = at + data.draw(st.integers(0, 8))
        spoilt[at:until] = data.draw(st.sampled_from(PIECES) | st.binary(max_size=8))

    TARGETS[name].run(bytes(spoilt))


if GUIDED:

    @pytest.mark.parametrize("name", TARGETS)
    def test_what_guided_fuzzing_finds_is_refused_as_input(name: str, tmp_path: Path) -> None:
        """A fixed number of runs, each led by the code that the ones before came to."""
        command = [sys.executable, "-m", "tests.fuzz.guided", name, str(tmp_path), str(RUNS)]
        root = Path(__file__).parents[2]

        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

        assert done.returncode == 0, done.stderr[-3_000:]
        assert f"Done {RUNS} runs" in done.stderr
