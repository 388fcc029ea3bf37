"""How long purges may wait while tables of one schema, catalog or metalake are read. Pure but for
the clock."""

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
    """The seconds that a child may take to read so many tables in one go."""
    return READING_SECONDS + READING_SECONDS_PER_TABLE * tables


class ReadingBudget:
    """Charges reading times to schemas, and to the catalogs and metalakes that they lie in.

    Each of these has the same time. What a quick table takes is not charged, so the number of
    tables does not count, and a schema without slow tables is read whatever its neighbours take.
    A period begins with the first charge, and ends with all that was charged in it.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._spent: dict[tuple[object, ...], Spent] = {}
        self._pruned = clock.seconds()

    def charge(self, schema: SchemaKey, seconds: float) -> None:
        """Add the time that reading a table of a schema took, as far as the table was slow."""
        seconds -= READING_SECONDS_PER_TABLE
        if seconds <= 0:
            return
        now = self._clock.seconds()
        self._prune(now)
        for depth in range(1, len(schema) + 1):
            spent = self._of(schema[:depth], now)
            self._spent[schema[:depth]] = spent._replace(seconds=spent.seconds + seconds)

    def is_spent(self, schema: SchemaKey) -> bool:
        """Whether tables of a schema are not waited for: its time is used up; or that of its
        catalog or metalake is, and the schema has slow tables."""
        charged = self._of(schema, self._clock.seconds()).seconds
        return charged >= READING_SECONDS or (charged > 0 and self.is_short(*schema[:2]))

    def is_short(self, metalake: str, catalog: str) -> bool:
        """Whether the time of a catalog or its metalake is used up: then a table that is not known
        to be slow is waited for a short time only."""
        now = self._clock.seconds()
        keys: tuple[tuple[object, ...], ...] = ((metalake,), (metalake, catalog))
        return any(self._of(key, now).seconds >= READING_SECONDS for key in keys)

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
