"""What tables refer to, asked of a child that may end over one of them."""

from collections.abc import AsyncGenerator
from typing import cast

import msgspec
import pytest

from headgate.errors import WorkerEnded
from headgate.purge.surveyor import Outside, Surveyed, Surveyor
from headgate.workers.pool import WorkerPool


class Mortal:
    """A child that ends when it reads some tables."""

    def __init__(self, *deadly: str) -> None:
        self.deadly = set(deadly)
        self.calls = 0

    async def stream(
        self, _job: str, _files: bytes, asked: bytes, _seconds: bytes, **_options: object
    ) -> AsyncGenerator[bytes]:
        self.calls += 1
        for table in msgspec.msgpack.decode(asked, type=list[Surveyed]):
            if table.metadata_location in self.deadly:
                raise WorkerEnded("The request was not answered", why="the worker process ended")
            yield b""
            yield msgspec.msgpack.encode(Outside(digest=table.metadata_location.encode()))


@pytest.mark.parametrize("deadly", [[], ["/t5"], ["/t0", "/t7"]])
async def test_a_child_that_ends_over_a_table_is_an_answer_for_that_one(deadly: list[str]) -> None:
    """All others are read, at the cost of few more children."""
    child = Mortal(*deadly)
    surveyor = Surveyor(cast("WorkerPool", child), lambda _roots: None)
    tables = [Surveyed(f"/t{number}", ()) for number in range(8)]

    found = await surveyor.survey(tables, ())

    assert [one.unread for one in found if one.unclear] == [(name,) for name in deadly]
    assert [one.digest.decode() for one in found if not one.unclear] == [
        table.metadata_location for table in tables if table.metadata_location not in deadly
    ]
    assert child.calls == 1 + 6 * len(deadly) - 2 * (len(deadly) > 1)
