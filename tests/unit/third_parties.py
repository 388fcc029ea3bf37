"""Packages of third parties for tests, with their entry points, as if pip had installed them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

EntryPoints = Mapping[str, Mapping[str, str]]
"""Import paths by group and name, as a `pyproject.toml` has them."""


def install(
    monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, entry_points: EntryPoints
) -> None:
    """Let Python find a package by this name in a folder, until the test ends."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    groups = [
        "\n".join((f"[{group}]", *(f"{one} = {path}" for one, path in members.items())))
        for group, members in entry_points.items()
    ]
    (about / "entry_points.txt").write_text("\n".join(groups), "utf-8")
    monkeypatch.syspath_prepend(folder)
