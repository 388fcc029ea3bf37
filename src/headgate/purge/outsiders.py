"""What is known of the tables of a catalog: which refer to files outside of their places."""

import asyncio
import sys
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from headgate.catalog.entities import Kind, decode_entry
from headgate.catalog.naming import place_at
from headgate.catalog.ports import Roots
from headgate.catalog.purging import PURGE, can_come_back, decode_job, is_job
from headgate.catalog.stored_names import NAMES
from headgate.catalog.walks import unhurried
from headgate.kernel.index import HeadView
from headgate.limits import REFERENCE_TABLE_SECONDS_MAX, REFERENCE_WAITING_SECONDS_MAX
from headgate.model.names import Levels
from headgate.purge.reading_budget import SchemaKey
from headgate.purge.schemas import tables_of
from headgate.purge.surveyor import Outside, Referrer, Surveyed

Schema = int | Levels
"""The id of a schema; of tables that are dropped and can come back, its name."""


class Outsider(NamedTuple):
    """A table that refers to files outside of its places, or of which not all could be read."""

    table: Surveyed
    outside: Outside
    again: float
    """When it is to be read once more, by the stopwatch."""
    schema: SchemaKey
    """That it was in when it was read."""

    @property
    def is_whole(self) -> bool:
        """Whether all of it could be read, or is gone for good."""
        return not self.outside.unclear

    def referrer(
        self, *, holds_up: bool = False, is_checked: bool = True, is_awaited: bool = False
    ) -> Referrer:
        """As it is asked which files it refers to. One of another schema has the time that it took
        before, and some more."""
        seconds = REFERENCE_TABLE_SECONDS_MAX
        if not holds_up:
            seconds = min(seconds, REFERENCE_WAITING_SECONDS_MAX + 2 * self.outside.seconds)
        # What was not read to its end has the digest of its beginning.
        is_checked = holds_up or (is_checked and self.is_whole)
        digest = self.outside.digest
        schema = repr(tuple(self.schema))
        return Referrer(self.table, digest, holds_up, is_checked, seconds, is_awaited, schema)


class Changes(NamedTuple):
    """Objects of the entries of tables that changed, and the schemas of those that are there."""

    gone: AbstractSet[int] = frozenset()
    come: Mapping[int, Schema] = {}
    recalled: AbstractSet[int] = frozenset()
    """Of those that were dropped and could come back: they did, or cannot any more."""
    waiting: Mapping[int, Schema] = {}
    """Of those that are dropped now and can come back."""
    is_whole: bool = False
    """All tables that there are came, or are waiting."""


class Known:
    """What is known of the tables of a catalog, by the objects of their entries."""

    def __init__(self) -> None:
        self.head: HeadView | None = None
        self.plain: set[int] = set()
        """Those that refer to nothing outside."""
        self.outsiders: dict[int, Outsider] = {}
        self.waiting: set[int] = set()
        """Those that are dropped, and can come back."""
        self.unknown: set[int] = set()
        """Those that are not read yet."""
        self.doubted: set[int] = set()
        """Those of which not even manifests are known."""
        self.late: set[int] = set()
        """Those of the outsiders that are still to be read, in the background."""
        self.schemas: dict[int, Schema] = {}
        """The schema of each table."""
        self.again = float("inf")
        """When something of it is to be read once more, by the stopwatch."""
        self.own: Roots = ()
        """Places that the catalog had: what lies elsewhere was outside."""
        self.below: Roots = ()
        """Where it was read: elsewhere may be what could not be."""
        self.settled = 0
        """The last head of which all is known."""
        self.learning = asyncio.Lock()
        self._schema: tuple[int, Levels, set[int]] = (0, (), set())
        """The tables of the schema that was asked about last, under a head."""

    @property
    def referring(self) -> list[Outsider]:
        """Those that refer to something outside."""
        return [one for one in self.outsiders.values() if not one.outside.is_nothing]

    def is_all(self, head: int, own: Roots, below: Roots, now: float) -> bool:
        """Whether all is known of the catalog as it is under this head, with these places, and as
        far as it can be read there."""
        is_whole = self.again == float("inf") or (self.below == below and now < self.again)
        return self.settled == head and self.own == own and not self.unknown and is_whole

    def forget(self) -> None:
        """Nothing of the catalog comes back."""
        there = {*self.plain, *self.outsiders, *self.unknown}
        self.replace(Changes(gone=there, recalled=self.waiting, is_whole=True))

    def replace(self, changes: Changes) -> None:
        """Take over what changed."""
        waiting = {*(self.waiting - changes.recalled), *changes.waiting}
        left = {*changes.gone, *self.waiting}.difference(changes.come, waiting)
        for known in (self.plain, self.unknown, self.doubted, self.late):
            known.difference_update(left)
        for object in left:
            self.outsiders.pop(object, None)
        self.waiting = waiting
        self._assign(left, changes)
        for new in (changes.come, waiting):
            self.unknown.update(set(new).difference(self.plain, self.outsiders))

    def _assign(self, left: Iterable[int], changes: Changes) -> None:
        """Keep the schemas of tables."""
        come = {**changes.waiting, **changes.come}
        if changes.is_whole:  # there may be a million
            self.schemas = come
            return
        for object in left:
            self.schemas.pop(object, None)
        self.schemas.update(come)

    def learn(self, object: int, one: Outsider, *, is_late: bool = False) -> None:
        """Take over what a table refers to; `is_late`: as far as it was read."""
        self.unknown.discard(object)
        if is_late:
            self.late.add(object)
        else:
            self.doubted.discard(object)
            self.late.discard(object)
        if one.outside.is_nothing and not one.outside.unread and one.is_whole:
            self.plain.add(object)
            self.outsiders.pop(object, None)
        else:
            self.plain.discard(object)
            self.outsiders[object] = one
            self.again = min(self.again, one.again)

    async def in_schema(self, schema: Levels) -> dict[int, Outsider]:
        """Those of one schema, by the objects of their entries."""
        if self.head is None or not self.outsiders:
            return {}
        if self._schema[:2] != (self.head.id, schema):
            self._schema = self.head.id, schema, await tables_of(self.head, schema)
        there = self._schema[2]
        return {object: one for object, one in self.outsiders.items() if object in there}

    def read_again(self, tables: Iterable[Surveyed]) -> None:
        """Read these once more with the next look."""
        again = set(tables)
        for object, one in self.outsiders.items() if again else ():
            if one.table in again and object not in self.late:
                self.outsiders[object] = one._replace(again=0.0)
                self.again = 0.0

    def forget_unread(self, own: Roots, below: Roots, now: float) -> None:
        """Those that are to be read once more are not known: as it is time, or it is elsewhere that
        they can be read. With other places, all are."""
        if self.own != own:
            self.own = own
            self.unknown |= {*self.plain, *self.outsiders}
        until = now if self.below == below else sys.float_info.max
        self.below = below
        due = {object for object, one in self.outsiders.items() if one.again <= until}
        self.unknown |= due
        rest = [one.again for object, one in self.outsiders.items() if object not in due]
        self.again = min(rest, default=float("inf"))

    def doubt(self, referrers: Iterable[Referrer]) -> None:
        """These tables do not refer to what they did, although they are the same: their files were
        changed behind our back."""
        tables = {one.table for one in referrers}
        doubted = {object for object, one in self.outsiders.items() if one.table in tables}
        self.doubted |= doubted
        self.unknown |= doubted


async def changes_between(before: HeadView, head: HeadView) -> Changes:
    """What changed from one head to another, at the cost of what changed."""
    names = await before.index(NAMES).difference(head.index(NAMES))
    jobs = await before.index(PURGE).difference(head.index(PURGE))
    return Changes(
        gone=set(_tables((key, old) for key, old, _ in names)),
        come=_tables((key, new) for key, _, new in names),
        recalled={one for key, old, _ in jobs for one in _waiting(key, old)},
        waiting=dict(one for key, _, new in jobs for one in _waiting(key, new).items()),
    )


async def all_tables(head: HeadView) -> Changes:
    """All that there is, a chunk at a time."""
    names, jobs = head.index(NAMES).scan(), head.index(PURGE).scan()
    come: dict[int, Schema] = {}
    waiting: dict[int, Schema] = {}
    async for entry in unhurried(names):
        come.update(_tables([entry]))
    async for key, value in unhurried(jobs):
        waiting.update(_waiting(key, value))
    return Changes(come=come, waiting=waiting, is_whole=True)


def _tables(entries: Iterable[tuple[bytes, bytes | None]]) -> dict[int, Schema]:
    """The objects of those of these entries that are tables, with the ids of their schemas."""
    decoded = [(key, decode_entry(value)) for key, value in entries if value is not None]
    return {
        entry.object: place_at(key).parent for key, entry in decoded if entry.kind is Kind.TABLE
    }


def _waiting(key: bytes, value: bytes | None) -> dict[int, Schema]:
    """The object of a table that is dropped and can come back, if this is the job of one, with the
    name of its schema."""
    if value is None or not is_job(key):
        return {}
    _, job = decode_job(key, value)
    return {job.object: job.table.namespace} if can_come_back(job) else {}
