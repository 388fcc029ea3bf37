"""SQL kept in files: named statements, and migrations in their order."""

import re
from importlib.resources import files
from typing import NamedTuple

from headgate.errors import NewerFormat

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_MIGRATION = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(NamedTuple):
    """One step of a schema: its number, what it does, its SQL script."""

    number: int
    what: str
    script: str


def load_statements(package: str, file: str = "statements.sql") -> dict[str, str]:
    """The statements of a file, by the name in the `-- name: x` line above each."""
    text = files(package).joinpath(file).read_text("utf-8")
    pieces = _NAME.split(text)[1:]
    return {
        name: _without_comments(body) for name, body in zip(pieces[::2], pieces[1::2], strict=True)
    }


def load_migrations(package: str, folder: str = "migrations") -> list[Migration]:
    """All migrations of a package, in order; they are numbered from 1 without a gap."""
    found = []
    for entry in files(package).joinpath(folder).iterdir():
        if match := _MIGRATION.fullmatch(entry.name):
            found.append(Migration(int(match[1]), match[2], entry.read_text("utf-8")))
    found.sort()
    assert [step.number for step in found] == list(range(1, len(found) + 1)), found
    return found


def pending(migrations: list[Migration], applied: int, where: str) -> list[Migration]:
    """The migrations still to run on a store that has had the first `applied`."""
    if applied > len(migrations):
        raise NewerFormat(
            f"{where} cannot be opened",
            why=f"its schema is at step {applied}, this program knows {len(migrations)}",
            fix="Upgrade this node",
        )
    return migrations[applied:]


def _without_comments(body: str) -> str:
    lines = [line for line in body.splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip().rstrip(";")
