"""What must hold at every step of a simulation, judged where it can be seen: at the database, and
where clients are answered."""

from collections.abc import Callable, Collection
from enum import Enum

import msgspec

from headgate.catalog.change_names import catalog_of
from headgate.catalog.openings import head_pointer
from headgate.catalog.stored_names import CATALOG_POINTER, IDS
from headgate.ids import time_ms
from headgate.kernel.kernel import Kernel
from headgate.kernel.objects import FieldDecoder, join
from headgate.kernel.realms import BY_ID, REALMS_KEY, Realm, RealmState
from headgate.kernel.records import EMPTY, PointerKey, Swap
from headgate.kernel.system import SYSTEM_REALM
from headgate.limits import TAIL_COMMITS
from headgate.purge.job_states import State
from headgate.purge.jobs import JobRow
from headgate.testing.manual_clock import START_MS
from headgate.testing.simulation.changes import THINGS, Change, changed_pointer
from headgate.testing.simulation.database import Database
from headgate.testing.simulation.loop import SimulatedLoop
from headgate.testing.simulation.processes import Process
from headgate.testing.simulation.reachability import Lost, Reachability

_realm = FieldDecoder(Realm)
PURGEABLE = frozenset({RealmState.PURGING, RealmState.PURGED})


class Rule(Enum):
    """What a simulation holds the product to."""

    READABLE = "every acknowledged commit is readable"
    LIVE = "nothing live is deleted"
    IDS = "no id is made twice"
    LOG = "logs have no gaps"
    HONEST = "what is told of a commit is true"
    PURGE = "a purge deletes only its own files, and only while its lease is valid"
    POINTER = "a catalog that is acknowledged has its pointer"
    REALM = "only the data of realms that are purged is deleted as a whole"
    FRESH = "a read shows all that was acknowledged before it"
    OPENS = "the store opens again"
    SOUND = "no background task dies"


class Broken(Exception):
    """A rule does not hold."""

    def __init__(self, rule: Rule, why: str, step: int) -> None:
        super().__init__(f"step {step}: {rule.value}: {why}")
        self.rule = rule
        self.why = why
        self.step = step


class Oracle:
    """Knows what happened, and judges what happens."""

    def __init__(self, loop: SimulatedLoop, database: Database, reachability: Reachability) -> None:
        self.broken: Broken | None = None
        self.is_over = False
        """Then nothing counts any more."""
        self.landed = 0
        self.recent: PointerKey | None = None
        """The pointer that clients changed last."""
        self.on_change: Callable[[Swap], None] = _nothing
        """Told of each change that lands."""
        self.acknowledged = 0
        self.refused = 0
        self.unknown = 0
        self.deleted = 0
        self.histories: dict[PointerKey, list[int]] = {}
        self.contents: dict[PointerKey, dict[bytes, int]] = {}
        """What the index of things of each pointer must hold: the numbers of things, by name."""
        self.reachability = reachability
        self._loop = loop
        self._database = database
        self._changes: dict[int, Change] = {}
        self._landed: dict[int, int] = {}
        self._not_made: set[int] = set()
        self._made_ids: set[int] = set()
        self._kept: dict[str, set[int]] = {}
        self._jobs: dict[str, set[tuple[str, int]]] = {}
        self.files_deleted = 0

    def fail(self, rule: Rule, why: str) -> Broken:
        """Take down that a rule does not hold; the first one counts. To be raised."""
        broken = Broken(rule, why, self._loop.steps)
        if self.broken is None and not self.is_over:
            self.broken = broken
        return broken

    # Ids

    def watch_ids(self, process: Process, kernel: Kernel) -> None:
        """Note each id that a kernel makes."""
        made, make, fail = self._made_ids, kernel.ids.next, self.fail

        def watched() -> int:
            id = make()
            if id in made:
                raise fail(Rule.IDS, f"{process} made {id} once more")
            made.add(id)
            return id

        kernel.ids.next = watched  # type: ignore[method-assign]

    # Commits, as clients see them

    def begin(self, change: Change) -> None:
        """A client is about to make a change."""
        self._changes[change.number] = change

    def told_made(self, change: Change) -> None:
        """A client was told that its change is made."""
        self.acknowledged += 1
        if change.number not in self._landed:
            raise self.fail(Rule.HONEST, f"{change} was acknowledged and is not made")

    def told_not_made(self, change: Change, error: Exception) -> None:
        """A client was told that its change is not made."""
        self.refused += 1
        self._not_made.add(change.number)
        if change.number in self._landed:
            raise self.fail(Rule.HONEST, f"{change} is made, and was refused: {error}")

    def told_nothing(self, _change: Change) -> None:
        """A client was told that the outcome is unknown."""
        self.unknown += 1

    # Writes, as the database sees them

    def swapped(self, process: Process, swap: Swap) -> None:
        """A pointer was swapped."""
        self._loop.note(swap.new)
        self.landed += 1
        key, history = swap.key, self.histories.setdefault(swap.key, [])
        try:
            head = self.reachability.head(key.realm, swap.new)
            self.reachability.check_new(key, swap.new)
            notes = self.reachability.notes(key.realm, head)
        except Lost as lost:
            raise self.fail(Rule.READABLE, f"{process} committed to {key.name}: {lost}") from lost
        tail = tuple(history[: -TAIL_COMMITS - 1 : -1])
        if head.seq != len(history) + 1 or head.tail != tail:
            raise self.fail(Rule.LOG, f"commit {swap.new} of {key} has number {head.seq}")
        history.append(swap.new)
        self._kept.setdefault(key.realm, set()).update({swap.new, head.spilled})
        if changed_pointer(key):
            self.recent = key
            self.on_change(swap)
            for note in notes:
                self._land(key, note)

    def deleting(self, process: Process, realm: str, ids: Collection[int]) -> None:
        """Rows are about to be deleted."""
        self.deleted += len(ids)
        self._loop.note(sum(ids))
        kept = self._kept.get(realm, set())
        lost = [id for id in ids if id in kept]
        if lost:
            raise self.fail(Rule.LOG, f"{process} deletes {self._described(realm, lost[0])}")
        live = self.reachability.live(realm)
        for id in ids:
            if id in live:
                why = f"{process} deletes {self._described(realm, id)} of {live[id].name}"
                raise self.fail(Rule.LIVE, why)
        self.reachability.forget(realm, ids)

    def deleting_pointers(self, process: Process, keys: Collection[PointerKey]) -> None:
        """Pointers are about to be deleted."""
        for key in keys:
            self._loop.note(len(key.name))
            catalog = catalog_of(key.name)
            if catalog is None or self._lists(key.realm, catalog):
                raise self.fail(Rule.POINTER, f"{process} deletes {key}, which is needed")
            self._forget(key)

    def deleting_realm(self, process: Process, realm: str) -> None:
        """Data of a realm is about to be deleted."""
        listed = self.realms().get(realm)
        if realm == SYSTEM_REALM or (listed is not None and listed.state not in PURGEABLE):
            state = listed.state.value if listed else "system"
            raise self.fail(Rule.REALM, f"{process} deletes realm {realm}, which is {state}")
        for key in [key for key in self.histories if key.realm == realm]:
            self._forget(key)
        self._kept.pop(realm, None)

    # Catalogs and purges

    def catalog_made(self, realm: str, id: int) -> None:
        """A client was told that a catalog is made."""
        if self._lists(realm, id) and self._database.pointer(_head(realm, id)) is None:
            raise self.fail(Rule.POINTER, f"catalog {id} of realm {realm} was acknowledged")

    def job_recorded(self, location: str, realm: str, id: int) -> None:
        """A commit that may be made records a purge job for this location."""
        self._jobs.setdefault(location, set()).add((realm, id))

    def deleting_file(self, process: Process, location: str, path: str) -> None:
        """A file of a table is about to be deleted."""
        self.files_deleted += 1
        for realm, id in self._jobs.get(location, ()):
            for row in self._database.rows_of(realm, id):
                job = self.reachability.types.decode(realm, join([row]))
                if isinstance(job, JobRow) and job.owner == repr(process):
                    if job.state == State.RUNNING and path.startswith(f"{location}/"):
                        return
                    raise self.fail(Rule.PURGE, f"{process} deletes {path}, it is {job.state}")
                why = f"{process} deletes {path}, and {getattr(job, 'owner', '')} has the job"
                raise self.fail(Rule.PURGE, why)
        raise self.fail(Rule.PURGE, f"{process} deletes {path}, and there is no job")

    def _lists(self, realm: str, catalog: int) -> bool:
        value = self._database.pointer(PointerKey(realm, CATALOG_POINTER)) or EMPTY
        return catalog.to_bytes(8, "big") in self.reachability.entries(realm, value, IDS)

    # Contents, at checkpoints

    def check_contents(self) -> None:
        """Read all that clients changed from the database, and compare it with what was made."""
        for key, wanted in self.contents.items():
            value = self._database.pointer(key)
            if value is None:
                raise self.fail(Rule.READABLE, f"pointer {key} is gone")
            try:
                found = self.reachability.entries(*key[:1], value, THINGS)
            except Lost as lost:
                raise self.fail(Rule.READABLE, f"{key.name}: {lost}") from lost
            read = {name: int.from_bytes(text[8:16], "big") for name, text in found.items()}
            if read != wanted:
                raise self.fail(Rule.READABLE, f"{key.name} holds {read}, not {wanted}")

    def realms(self) -> dict[str, Realm]:
        """The realms as the database has them."""
        value = self._database.pointer(REALMS_KEY)
        found = self.reachability.entries(SYSTEM_REALM, value or EMPTY, BY_ID)
        return {key.decode(): _realm.decode(text) for key, text in found.items()}

    def _land(self, key: PointerKey, note: bytes) -> None:
        number = msgspec.msgpack.decode(note)
        if not isinstance(number, int):
            return
        change = self._changes[number]
        if number in self._landed:
            raise self.fail(Rule.HONEST, f"{change} is made twice")
        if number in self._not_made:
            raise self.fail(Rule.HONEST, f"{change} is made, after it was refused")
        self._landed[number] = self._loop.steps
        change.apply(self.contents.setdefault(key, {}))

    def _forget(self, key: PointerKey) -> None:
        history = self.histories.pop(key, [])
        kept = self._kept.get(key.realm, set())
        for id in history:
            kept -= {id, self.reachability.head(key.realm, id).spilled}
        self.contents.pop(key, None)

    def _described(self, realm: str, id: int) -> str:
        rows = self._database.rows_of(realm, id)
        kind = rows[0].type if rows else "object"
        age = self._loop.now - (time_ms(id) - START_MS) / 1_000
        return f"{kind} {id} of realm {realm}, which is {age:.0f} s old"


def _nothing(_swap: Swap) -> None:
    """Ignore it."""


def _head(realm: str, catalog: int) -> PointerKey:
    return PointerKey(realm, head_pointer(catalog))
