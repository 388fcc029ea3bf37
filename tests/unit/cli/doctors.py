"""Stores that `headgate doctor` looks at, and what it finds there."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from headgate.catalog.catalogs import create_catalog
from headgate.catalog.entities import CatalogEntity
from headgate.cli.main import run
from headgate.settings.loading import load
from headgate.wiring import open_kernel

Capture = pytest.CaptureFixture[str]


def make_store(data: Path, *allowed: str) -> None:
    """A store with one catalog, whose tables lie in `data`/w and in these places."""

    async def make() -> None:
        async with open_kernel(load(flags={"data": str(data)})) as kernel:
            await kernel.realms.create("default")
            catalog = CatalogEntity(0, "main", (data / "w").as_uri(), {}, allowed_locations=allowed)
            await create_catalog(kernel, "default", catalog)

    asyncio.run(make())


def looked(capsys: Capture, data: Path, *options: str, healthy: bool = True) -> dict[str, Any]:
    """The findings about a store by subject; exit code and verdict must agree."""
    assert run(["doctor", "--json", "--data", str(data), *options]) == (0 if healthy else 1)
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert (said["healthy"], captured.err) == (healthy, "")
    found: dict[str, Any] = {}
    for one in said["findings"]:
        found.setdefault(one["subject"], []).append((one["ok"], one["text"]))
    failed = [one for one in said["findings"] if not one["ok"]]
    assert bool(failed) != healthy
    return found


def failures(found: dict[str, Any]) -> set[str]:
    return {subject for subject, all_of_it in found.items() if not all(ok for ok, _ in all_of_it)}
