"""One target, fuzzed with the guidance of what its code covers: `python -m tests.fuzz.guided NAME
FOLDER RUNS`. It starts from the corpus. The folder is for inputs that reach more code; an input
that ends the process becomes a file of the corpus. Needs atheris."""

import sys

import atheris

BYTES_MAX = 8_192  # the largest file of the corpus has half of it
MEMORY_MIB_MAX = 2_048
SECONDS_MAX = 20  # of one input: nothing that small takes longer
INSTRUMENTED = ["headgate.planning", "headgate.model", "headgate.http", "jwt"]


def main(name: str, folder: str, runs: str) -> None:
    """Run it a fixed number of times from the same seed; the process ends with what it finds."""
    early = [module for module in sys.modules if module.startswith(tuple(INSTRUMENTED))]
    assert not early, f"imported before they could be instrumented: {early}"
    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz.seeds import CORPUS  # noqa: PLC0415  what is imported here is guided
        from tests.fuzz.targets import TARGETS  # noqa: PLC0415  the same

    corpus = CORPUS / name
    options = [
        f"-runs={runs}",
        "-seed=4711",
        f"-max_len={BYTES_MAX}",
        f"-rss_limit_mb={MEMORY_MIB_MAX}",
        f"-timeout={SECONDS_MAX}",
        f"-report_slow_units={SECONDS_MAX}",  # else files of slow ones are written to the corpus
        f"-artifact_prefix={corpus}/",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, folder, str(corpus)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
