"""Commands that errors suggest: they are about the store that the failed command was told."""

import re
import shlex
from collections.abc import Iterator, Sequence

from headgate.settings.urls import mask

GIVEN = ("--data", "--backend", "--config")
_SUGGESTED = re.compile(
    r"`(headgate (?:catalog|doctor|group|jobs|location|log|realm|serve|token|user|work)\b[^`]*)`"
)


def for_same_store(text: str, arguments: Sequence[str]) -> str:
    """This text, in which commands name the store as these arguments do."""
    options = "".join(f" {shlex.quote(word)}" for word in _given(arguments))
    return _SUGGESTED.sub(lambda found: f"`{found[1]}{options}`", text)


def _given(arguments: Sequence[str]) -> Iterator[str]:
    for argument, following in zip(arguments, [*arguments, ""][1:], strict=True):
        name, equals, text = argument.partition("=")
        value = text if equals else following
        if name in GIVEN and value:
            yield from (name, mask(value) if name == "--backend" else value)
