"""How long purges wait for a store that does not answer. Pure but for the clock."""

from headgate.clock import Clock
from headgate.errors import InvalidInput, StorageAwaited
from headgate.limits import OUTAGE_PAUSE_SECONDS, OUTAGE_SECONDS_MAX, REFERENCE_PERIOD_SECONDS
from headgate.model.locations import place_of

Store = tuple[str, str]
"""Scheme and bucket; all local files are one store."""


def store_of(location: str) -> Store:
    """The store in which a file lies."""
    try:
        return place_of(location)[:2]
    except InvalidInput:  # such a file cannot be read, and all of them count as one store
        return "", ""


def awaited() -> StorageAwaited:
    """The error of a purge that waits for a store. It names no table: that may be of any tenant."""
    return StorageAwaited(
        "a storage does not answer in which other tables lie",
        why="these may need files of this one, so nothing is deleted yet",
        fix="It is tried again soon, and goes on without what cannot be read after "
        f"{OUTAGE_SECONDS_MAX / 60:g} minutes",
    )


class _Outage:
    """A time in which a store did not answer."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.ended = began
        self.is_over = False

    def has_ended(self, now: float) -> bool:
        """Whether the store answered since, or was not asked for long."""
        return self.is_over or now - self.ended > OUTAGE_SECONDS_MAX


class Outages:
    """Remembers since when stores fail.

    Each failure counts for at least the pause of a postponed purge, so a store that fails and
    answers in turns is not waited for any longer than one that is away.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._of: dict[Store, list[_Outage]] = {}
        self._pruned = clock.seconds()

    def failed(self, store: Store) -> None:
        """A store did not answer."""
        now = self._clock.seconds()
        self._prune(now)
        outages = self._recent(store)
        if not outages or outages[-1].has_ended(now):
            outages.append(_Outage(now))
        outages[-1].ended = now + OUTAGE_PAUSE_SECONDS
        self._of[store] = outages

    def answered(self, store: Store) -> None:
        """A store answered."""
        for outage in self._of.get(store, [])[-1:]:
            outage.is_over = True

    def is_failing(self, store: Store) -> bool:
        """Whether a store did not answer when it was asked last."""
        now = self._clock.seconds()
        return any(not outage.has_ended(now) for outage in self._of.get(store, ()))

    def is_waited_for(self, store: Store) -> bool:
        """Whether a purge waits for a store if that does not answer now."""
        now = self._clock.seconds()
        since = now - REFERENCE_PERIOD_SECONDS
        used = 0.0
        for outage in self._recent(store):
            ended = outage.ended if outage.has_ended(now) else now
            used += max(0.0, ended - max(outage.began, since))
        return used < OUTAGE_SECONDS_MAX

    def _recent(self, store: Store) -> list[_Outage]:
        """The outages of the last period. The present one is among them, as a store that was not
        asked for so long counts as one that may have answered."""
        since = self._clock.seconds() - REFERENCE_PERIOD_SECONDS
        return [one for one in self._of.get(store, ()) if one.ended > since]

    def _prune(self, now: float) -> None:
        """Forget stores that did not fail in the last period: locations come and go."""
        if now - self._pruned >= REFERENCE_PERIOD_SECONDS:
            self._pruned = now
            self._of = {store: recent for store in self._of if (recent := self._recent(store))}
