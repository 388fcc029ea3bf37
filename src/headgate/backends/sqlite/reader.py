"""All reading, on one connection and without threads: it takes microseconds."""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

import apsw

from headgate.backends.sqlite import failures
from headgate.backends.sqlite.connections import roll_back
from headgate.backends.sqlite.frozen import NoIndex
from headgate.backends.sqlite.own_files import OwnFiles
from headgate.backends.sqlite.wal_index import WalIndex
from headgate.kernel.records import Partition, Pointer, PointerKey, Row, ScannedRow
from headgate.limits import SQLITE_POINTERS_KNOWN_MAX

KEYS_PER_STATEMENT_MAX = 256  # longer texts are not kept in apsw's statement cache
SCAN_BATCH = 1_000
STRIPE_POSITIONS = 64  # partitions of a scan take turns at stripes of this many positions
STRIPES_PER_BATCH = SCAN_BATCH // STRIPE_POSITIONS
POSITION_END = (1 << 63) - 1


class Reader:
    """Reads, each current as of its call. Every cursor is read to its end at once: an open one
    would keep its snapshot, and with it the write-ahead log, alive."""

    def __init__(
        self,
        connection: apsw.Connection,
        index: WalIndex | NoIndex,
        files: OwnFiles,
        statements: dict[str, str],
        where: str,
    ) -> None:
        self._connection = connection
        self._index = index
        self._files = files
        self._is_frozen = isinstance(index, NoIndex)
        self._header = b""
        self._known: dict[tuple[PointerKey, ...], list[int | None]] = {}
        """What was read since a commit last changed the header."""
        self._execute = connection.cursor().execute
        self._statements = statements
        self._pointer_texts = _PointerTexts(statements["read_pointer"])
        self._fetch_texts = _FetchTexts(statements["fetch"])
        self._failed = f"{where} could not be read"

    def close(self) -> None:
        """Disconnect."""
        self._files.disconnect(self._connection)

    def pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        """The values of these pointers, as of one instant."""
        if self._is_frozen:
            self._files.check()  # a writer may come by another way, and pages change in place then
        else:
            self._files.check_now_and_then()
        header = self._index.header()  # first: what is read is at least as new
        if header != self._header or len(self._known) > SQLITE_POINTERS_KNOWN_MAX:
            self._known.clear()
            self._header = header
        asked = tuple(keys)
        known = self._known.get(asked)
        if known is None:
            known = self._known[asked] = self._read_pointers(keys)
        return known.copy()

    def _read_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        count = len(keys)
        if not 0 < count <= KEYS_PER_STATEMENT_MAX:
            return self._many_pointers(keys)
        bindings = tuple(chain.from_iterable(keys))
        return list(self._all(self._pointer_texts[count], bindings)[0])

    def rows(self, realm: str, ids: Collection[int]) -> list[Row]:
        """All rows of these ids."""
        wanted = list(set(ids))
        found: list[Row] = []
        for start in range(0, len(wanted), KEYS_PER_STATEMENT_MAX):
            piece = wanted[start : start + KEYS_PER_STATEMENT_MAX]
            found += map(Row._make, self._all(self._fetch_texts[len(piece)], (realm, *piece)))
        return found

    def pointers_from(self, realm: str | None, first: PointerKey) -> list[Pointer]:
        """The next pointers in key order, of one realm or of all, from this one on."""
        if realm is None:
            found = self._all(self._statements["scan_pointers"], (*first, SCAN_BATCH))
        else:
            statement = self._statements["scan_pointers_of_realm"]
            found = self._all(statement, (realm, first.name, SCAN_BATCH))
        return list(map(Pointer._make, found))

    def rows_from(self, first: int, partition: Partition) -> tuple[list[ScannedRow], int | None]:
        """The next rows of a partition from this position on, and where to go on, if anywhere."""
        found: list[ScannedRow] = []
        position = self._next_position(first)
        for _ in range(STRIPES_PER_BATCH):
            if position is None:
                break
            start, end = _stripe(position, partition)
            rows = self._all(self._statements["scan_rows"], (start, end, SCAN_BATCH))
            found += [ScannedRow(*row[1:]) for row in rows]
            if len(rows) == SCAN_BATCH:
                return found, rows[-1][0] + 1
            position = self._next_position(end)
        return found, position

    def _next_position(self, first: int) -> int | None:
        """The position of the first row from here on: what was deleted is skipped in one step."""
        position: int | None = self._all(self._statements["next_position"], (first,))[0][0]
        return position

    def _many_pointers(self, keys: Sequence[PointerKey]) -> list[int | None]:
        values: list[int | None] = []
        self._all("begin", ())
        try:
            for start in range(0, len(keys), KEYS_PER_STATEMENT_MAX):
                values += self._read_pointers(keys[start : start + KEYS_PER_STATEMENT_MAX])
        finally:
            roll_back(self._connection)
        return values

    def _all(self, statement: str, bindings: tuple[str | int, ...]) -> list[Any]:
        try:
            return self._execute(statement, bindings).fetchall()
        except apsw.Error as error:
            raise failures.certain(error, self._failed) from error


def _stripe(position: int, partition: Partition) -> tuple[int, int]:
    """What lies at or after this position and in one stripe of this partition, as [start, end).

    Stripes, not equal shares of what there is: partitions that are scanned at different times,
    while the store grows, must still fit together.
    """
    if partition.shares == 1:
        return position, POSITION_END
    stripe = position // STRIPE_POSITIONS
    own = stripe + (partition.share - stripe) % partition.shares
    return max(position, own * STRIPE_POSITIONS), (own + 1) * STRIPE_POSITIONS


class _PointerTexts(dict[int, str]):
    """Number of keys -> the statement that reads so many pointers as one row."""

    def __init__(self, statement: str) -> None:
        self._statement = statement

    def __missing__(self, count: int) -> str:
        self[count] = "select " + ",".join([f"({self._statement})"] * count)
        return self[count]


class _FetchTexts(dict[int, str]):
    """Number of ids -> the statement that fetches their rows."""

    def __init__(self, statement: str) -> None:
        self._statement = statement

    def __missing__(self, count: int) -> str:
        self[count] = self._statement.replace("(?)", f"({','.join('?' * count)})")
        return self[count]
