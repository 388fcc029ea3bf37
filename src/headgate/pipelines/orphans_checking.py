"""A second look at the catalog, after the listing.

A file may be committed at any time, also one that was written long ago. So what was listed is
compared with tables as they are *after* the listing: whatever was committed until then is no
orphan, and only tables that changed since the first look have to be read again. A file that is
committed later than that was written by somebody who took longer than the age that was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from headgate.pipelines.bounds import ORPHANS_LOOKS_MAX
from headgate.pipelines.orphans_places import Owner, Places
from headgate.pipelines.orphans_references import References, find_references
from headgate.pipelines.orphans_subjects import PURGE, State, States, Subject
from headgate.pipelines.orphans_survey import doubt_of, owners_of, subjects_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from headgate.pipelines.server import Server
    from headgate.storage.options import StorageOptions

WENT = "it was dropped or renamed meanwhile"
UNSETTLED = "it may belong to a table that gets another name all the time"


class Seen(NamedTuple):
    """What a catalog had at the first look."""

    subjects: Sequence[Subject]
    states: States

    def again(self, now: Sequence[Subject]) -> list[Subject]:
        """Those of these that have to be looked at: what a purge leads to does not change."""
        return [
            msgspec.structs.replace(one, metadata_location=self._location(one))
            for one in now
            if one.kind != PURGE or one.identity not in self.states
        ]

    def merged(self, now: Sequence[Subject], states: States) -> dict[tuple[str, ...], State]:
        """What all are now: what did not change is as it was."""
        found = {}
        for one in now:
            state = states.get(one.identity)
            if state is None or state.is_same:
                state = self.states.get(one.identity)
            if state is not None:
                found[one.identity] = state
        return found

    def owners(self, now: Sequence[Subject], states: States) -> Iterator[Owner]:
        """Who has which places, after a second look. What is not there any more may have another
        name by now, which came too late for the list."""
        merged = self.merged(now, states)
        yield from owners_of(now, merged)
        for one in self.subjects:
            if one.identity in self.states and one.identity not in merged:
                places = self.states[one.identity].places
                yield from (Owner(place, str(one.name), WENT) for place in places)

    def _location(self, subject: Subject) -> str:
        if subject.kind == PURGE:
            return subject.metadata_location
        seen = self.states.get(subject.identity)
        return seen.metadata_location if seen else ""


@dataclass
class Look:
    """What a catalog has at a later look; what did not change tells nothing else."""

    subjects: list[Subject] = field(default_factory=list)
    states: dict[tuple[str, ...], State] = field(default_factory=dict)
    references: list[References] = field(default_factory=list)
    is_settled: bool = False
    """Whether nothing can have been missed because its name changed meanwhile."""

    def hashes(self) -> DataFrame:
        """Of all files that what changed refers to."""
        first, *more = (one.hashes for one in self.references)
        return reduce(lambda one, other: one.union(other), more, first)

    def let_go(self) -> None:
        """Nobody needs it any more."""
        for one in self.references:
            one.let_go()


class Checking:
    """Takes away from orphans what is none by now."""

    def __init__(
        self, spark: SparkSession, server: Server, catalog: str, options: StorageOptions
    ) -> None:
        self._spark = spark
        self._server = server
        self._catalog = catalog
        self._options = options
        self.doubt = ""
        """Why what lies in nobody's place was kept; empty if it was not."""

    def still(self, orphans: pa.Table, seen: Seen, roots: Sequence[str]) -> pa.Table:
        """Those of these that nobody refers to now either."""
        import pyarrow as pa
        import pyarrow.compute as pc

        look = self._look(seen)
        try:
            keys = orphans["key"]
            if any(not state.is_same for state in look.states.values()):
                keys = self._without(orphans, look.hashes())
            doubt = doubt_of(look.subjects, seen.merged(look.subjects, look.states))
            owners = seen.owners(look.subjects, look.states)
            doubt = doubt or ("" if look.is_settled else UNSETTLED)
            self.doubt = doubt or self.doubt
            places = Places(roots, owners, doubt)
            left = [key for key in keys.to_pylist() if not _is_kept(places, key)]
            return orphans.filter(pc.is_in(orphans["key"], pa.array(left, pa.string())))
        finally:
            look.let_go()

    def _look(self, seen: Seen) -> Look:
        """All that the catalog has now. Names change while they are listed, and before what they
        name is loaded: so they are listed until none of those that came new is gone."""
        look = Look()
        for number in range(ORPHANS_LOOKS_MAX):
            now = subjects_of(self._server, self._catalog)
            look.subjects = list({one.identity: one for one in (*look.subjects, *now)}.values())
            new = [one for one in seen.again(now) if one.identity not in look.states]
            if not new:
                look.is_settled = True
                break
            found = find_references(self._spark, self._server, self._options, new)
            look.references.append(found)
            look.states |= found.states
            look.is_settled = len(found.states) == len(new)
            if number and look.is_settled:
                break
        return look

    def _without(self, orphans: pa.Table, hashes: DataFrame) -> pa.ChunkedArray:
        from pyspark.sql.functions import xxhash64

        listed = self._spark.createDataFrame(orphans.select(["key"]), "key string")
        hashed = listed.withColumn("hash", xxhash64("key"))
        return hashed.join(hashes, "hash", "left_anti").select("key").toArrow()["key"]


def _is_kept(places: Places, key: str) -> bool:
    owner = places.owner_of(key)
    return owner is None or bool(owner.kept)
