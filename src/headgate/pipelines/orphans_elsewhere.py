"""Files that tables of other catalogs refer to: the server knows, as it sees all of them, and
whoever looks for orphans may not."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from headgate.limits import ORPHANS_ASKED_AT_ONCE, ORPHANS_ASKED_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from headgate.pipelines.server import Server


class _Answer(msgspec.Struct, rename="kebab"):
    referred: list[str]
    is_known: bool


class Elsewhere:
    """Takes away from orphans of a catalog what others need."""

    def __init__(self, server: Server, catalog: str) -> None:
        self._server = server
        names = quote(server.metalake, safe=""), quote(catalog, safe="")
        self._path = "/management/v1/metalakes/{}/catalogs/{}/references".format(*names)
        self.kept = 0
        """How many files were needed."""

    def learn(self) -> None:
        """Let the server look at all catalogs: the first look may take long."""
        self._referred([])

    def without(self, orphans: pa.Table) -> pa.Table:
        """Those of these that tables of other catalogs do not refer to now."""
        import pyarrow as pa
        import pyarrow.compute as pc

        needed = [
            path
            for some in in_questions(orphans["path"].to_pylist())
            for path in self._referred(some)
        ]
        if not needed:
            return orphans
        left = orphans.filter(pc.invert(pc.is_in(orphans["path"], pa.array(needed, pa.string()))))
        self.kept += orphans.num_rows - left.num_rows
        return left

    def _referred(self, paths: list[str]) -> list[str]:
        """The server is asked until it knows."""
        while True:
            answer = msgspec.convert(self._server.post(self._path, {"paths": paths}), _Answer)
            if answer.is_known:
                return answer.referred


def in_questions(paths: Iterable[str]) -> Iterator[list[str]]:
    """Paths in parts that a server takes at once."""
    some: list[str] = []
    length = 0
    for path in paths:
        length += len(path)
        if some and (len(some) == ORPHANS_ASKED_AT_ONCE or length > ORPHANS_ASKED_BYTES_MAX):
            yield some
            some, length = [], len(path)
        some.append(path)
    if some:
        yield some
