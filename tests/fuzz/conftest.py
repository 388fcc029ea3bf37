"""Fuzzing over real sockets: needs nothing but this machine; guided fuzzing needs atheris."""

import importlib.util

import pytest

GUIDED = importlib.util.find_spec("atheris") is not None
"""Whether the runs that are guided by coverage can be made."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in every run with fuzzing that its guided form is missing, if it is."""
    if not GUIDED:
        terminalreporter.section("GUIDED FUZZING DID NOT RUN", red=True, bold=True)
        terminalreporter.line(
            "The package atheris is not installed: it has wheels for CPython 3.11 to 3.14 on Linux "
            "(x86_64). The corpus was replayed and spoilt at random only."
        )
