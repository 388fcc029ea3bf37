"""The names that Gravitino's clients may give."""

import re

from headgate.errors import BadName

_NAME = re.compile(r"\w[\w/=-]{0,63}", re.ASCII)


def check_name(name: str) -> None:
    """Of what is new. Those that Iceberg's clients gave may have other characters."""
    if not _NAME.fullmatch(name):
        raise BadName(
            f"Invalid name: {name[:80]!r}",
            why="Gravitino's names are 1 to 64 letters, digits, `_`, `/`, `=` and `-`, "
            "and begin with a letter, a digit or `_`",
            fix="Choose another name",
        )
