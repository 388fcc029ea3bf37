"""How long purges may wait while tables of one schema, catalog or metalake are read. Pure but for
the clock."""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.clock import Clock
from headgate.limits import READING_SECONDS, READING_SECONDS_PER_TABLE, REFERENCE_PERIOD_SECONDS
from headgate.model.names import Levels


class SchemaKey(NamedTuple):
    """Identifies a schema in the store; each prefix of it identifies what the schema lies in."""

    metalake: str
    """The id of its realm."""
    catalog: str
    """The name of its pointer."""
    schema: int | Levels
    """Its id; of a table that is dropped and can come back, the name of the schema."""


class Spent(NamedTuple):
    """Seconds that were spent since a moment."""

    since: float
    seconds: float


def allowance(tables: int) -> float:
    """The seconds that reading so many tables may take in one period."""
    return READING_SECONDS + READING_SECONDS_PER_TABLE * tables


class ReadingBudget:
    """Charges reading times to schemas, and to the catalogs and metalakes that they lie in.

    A period begins with the first charge, and ends with all that was charged in it.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._spent: dict[tuple[object, ...], Spent] = {}
        self._pruned = clock.seconds()

    def charge(self, schema: SchemaKey, seconds: float) -> None:
        """Add the time that reading tables of a schema took."""
        if seconds <= 0:
            return
        now = self._clock.seconds()
        self._prune(now)
        for depth in range(1, len(schema) + 1):
            spent = self._of(schema[:depth], now)
            self._spent[schema[:depth]] = spent._replace(seconds=spent.seconds + seconds)

    def is_spent(self, schema: SchemaKey, tables: Sequence[int]) -> bool:
        """Whether an allowance is used up: that of the metalake, the catalog or the schema, which
        have so many tables, in this order."""
        now = self._clock.seconds()
        return any(
            self._of(schema[:depth], now).seconds >= allowance(count)
            for depth, count in enumerate(tables, 1)
        )

    def _of(self, key: tuple[object, ...], now: float) -> Spent:
        spent = self._spent.get(key)
        is_over = spent is None or now - spent.since >= REFERENCE_PERIOD_SECONDS
        return Spent(now, 0.0) if spent is None or is_over else spent

    def _prune(self, now: float) -> None:
        """Forget periods that are over: schemas come and go."""
        if now - self._pruned >= REFERENCE_PERIOD_SECONDS:
            self._pruned = now
            self._spent = {
                key: spent
                for key, spent in self._spent.items()
                if now - spent.since < REFERENCE_PERIOD_SECONDS
            }
