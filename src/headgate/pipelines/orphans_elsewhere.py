"""Files that tables of other catalogs refer to: the server knows, as it sees all of them, and
whoever looks for orphans may not."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from headgate.errors import OutcomeUnknown
from headgate.limits import REFERENCES_ASKED_BYTES_MAX, REFERENCES_ASKED_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from headgate.pipelines.server import Server


TRIES_MAX = 5
"""That a question may be lost in a row: a server may restart."""


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
        """The server is asked until it knows. It changes nothing, so a question of which nobody
        knows whether it arrived is asked again."""
        tries = 0
        while True:
            try:
                answer = msgspec.convert(self._server.post(self._path, {"paths": paths}), _Answer)
            except OutcomeUnknown:
                tries += 1
                if tries == TRIES_MAX:
                    raise
                continue
            if answer.is_known:
                return answer.referred
            tries = 0


def in_questions(paths: Iterable[str]) -> Iterator[list[str]]:
    """Paths in parts that a server takes at once."""
    some: list[str] = []
    length = 0
    for path in paths:
        size = len(path.encode())
        length += size
        if some and (len(some) == REFERENCES_ASKED_MAX or length > REFERENCES_ASKED_BYTES_MAX):
            yield some
            some, length = [], size
        some.append(path)
    if some:
        yield some
