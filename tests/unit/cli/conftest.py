"""What tests of commands share: they run in this process and leave it as it was."""

import logging
from collections.abc import Iterator

import pytest

from headgate.catalog.events import logger as event_logger
from headgate.http.access_log import logger as access_logger


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting comes from whoever runs the tests."""
    monkeypatch.setattr("headgate.cli.options.environment", dict)


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Each command sets logging up for itself; afterwards it is as it was."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    levels = [(one, one.level) for one in (root, access_logger, event_logger)]
    yield
    root.handlers[:] = handlers
    for one, level in levels:
        one.setLevel(level)
