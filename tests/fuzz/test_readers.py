"""Readers of what clients write, fed with anything: nothing ends a process, or takes for ever."""

import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.planning.avro_columns import columns
from tests.conftest import FULL
from tests.fuzz import conftest, seeds
from tests.fuzz.targets import TARGETS
from tests.planning.bombs import PACKS

RUNS = 200_000 if FULL else 2_000
PIECES = [b"", b"\x00", b"\x7f", b"\xff" * 9, b"\x80\x80\x80\x80\x10", b"/..", b"%2F", b'{"', b"\n"]
FILES = {name: seeds.files(name) for name in TARGETS}
PACKED = ("-deflate", "-bzip2", "-zstandard", "-gzip")
"""Names of files whose bytes depend on the version of a library."""


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_is_refused_or_read(name: str) -> None:
    """Every file of it, also those that ended a process once."""
    for data in FILES[name].values():
        TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_is_what_its_generator_writes(name: str) -> None:
    """But for what fuzzing found; `python -m tests.fuzz.seeds` writes it anew."""
    kept = {file: data for file, data in FILES[name].items() if not seeds.was_found(file)}
    made = seeds.SEEDS[name]()

    assert kept.keys() == made.keys()
    assert [file for file in kept if kept[file] != made[file] and not file.endswith(PACKED)] == []


def test_the_corpus_is_small() -> None:
    """It is part of the repository."""
    assert sum(len(data) for files in FILES.values() for data in files.values()) < seeds.BYTES_MAX


@pytest.mark.parametrize("file", [f"list-{codec}" for codec in PACKS])
def test_the_corpus_has_lists_of_every_codec(file: str) -> None:
    """Which are understood, so that fuzzing begins behind their codec."""
    [(paths, lengths)] = columns(FILES["columns"][file], 500, 501)

    assert (len(paths), len(lengths)) == (3, 3)


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
def test_spoilt_input_is_refused_as_input(name: str, data: st.DataObject) -> None:
    """Some bytes of something good are replaced by anything."""
    spoilt = bytearray(data.draw(st.sampled_from(list(FILES[name].values()))))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(spoilt)))
        until = at + data.draw(st.integers(0, 8))
        spoilt[at:until] = data.draw(st.sampled_from(PIECES) | st.binary(max_size=8))

    TARGETS[name](bytes(spoilt))


if conftest.GUIDED:  # where it is not, the summary of the run says so

    @pytest.mark.parametrize("name", TARGETS)
    def test_what_guided_fuzzing_finds_is_refused_as_input(name: str, tmp_path: Path) -> None:
        """A fixed number of runs from the corpus, each led by the code that the ones before came
        to."""
        command = [sys.executable, "-m", "tests.fuzz.guided", name, str(tmp_path), str(RUNS)]
        root = Path(__file__).parents[2]

        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

        assert done.returncode == 0, done.stderr[-3_000:]
        assert f"Done {RUNS} runs" in done.stderr


def test_a_run_without_guidance_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its summary, where it is seen; a run with it says nothing."""
    for is_guided, sections in ((True, []), (False, ["GUIDED FUZZING DID NOT RUN"])):
        reporter = Mock()
        monkeypatch.setattr(conftest, "GUIDED", is_guided)
        conftest.pytest_terminal_summary(reporter)

        assert [call.args[0] for call in reporter.section.call_args_list] == sections
