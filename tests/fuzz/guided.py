"""One target, fuzzed with the guidance of what its code covers: `python -m tests.fuzz.guided NAME
FOLDER RUNS`. The folder is for what was found to be of interest. Needs atheris."""

import sys
from pathlib import Path

import atheris

BYTES_MAX = 4_096
MEMORY_MIB_MAX = 2_048
SECONDS_MAX = 20  # of one input: nothing that small takes longer


def main(name: str, folder: str, runs: str) -> None:
    """Run it a fixed number of times from the same seed; the process ends with what it finds."""
    with atheris.instrument_imports(include=["headgate.planning", "headgate.model"]):
        from tests.fuzz.targets import TARGETS  # noqa: PLC0415  what is imported here is guided

    target = TARGETS[name]
    for number, seed in enumerate(target.seeds()):
        (Path(folder) / f"seed-{number}").write_bytes(seed)
    options = [
        f"-runs={runs}",
        "-seed=4711",
        f"-max_len={BYTES_MAX}",
        f"-rss_limit_mb={MEMORY_MIB_MAX}",
        f"-timeout={SECONDS_MAX}",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([sys.argv[0], *options, folder], target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
