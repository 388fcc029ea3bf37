"""What `headgate realm` shows while it works."""

import sys

import pytest

from headgate.cli.realm import counter


def test_progress_is_shown_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number grows in place, on standard error."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    show = counter("purging")
    assert show is not None
    show(1)
    show(2500)

    assert capsys.readouterr() == ("", "\rpurging: 1 deleted\rpurging: 2,500 deleted")


def test_no_progress_is_shown_to_a_script() -> None:
    """Where nobody watches there is nothing to show."""
    assert counter("purging") is None
