"""A table's snapshots, by its metadata file: which of them expire, and what changed since when.

What expires is worked out as Iceberg's own procedure does it, so that a dry run tells the truth.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from headgate.amounts import INT64_MAX, whole_number

MAIN = "main"
BRANCH = "branch"
REF_AGE = "history.expire.max-ref-age-ms"
_CHANGED = ("added-records", "deleted-records", "added-position-deletes", "added-equality-deletes")
_FOREVER_MS = 2**63 - 1


class Snapshot(msgspec.Struct, frozen=True, rename="kebab"):
    """What is known of one state of a table without opening a file of it."""

    snapshot_id: int
    timestamp_ms: int
    parent_snapshot_id: int | None = None
    summary: dict[str, str] = {}

    def count(self, name: str) -> int:
        """A number of its summary; 0 if it does not say."""
        text = self.summary.get(name, "")
        return whole_number(text, INT64_MAX) or 0

    @property
    def changed_records(self) -> int:
        """How many rows it added or deleted; a rewrite changes none."""
        if self.summary.get("operation") == "replace":
            return 0
        return sum(map(self.count, _CHANGED))


class Ref(msgspec.Struct, frozen=True, rename="kebab"):
    """A branch or a tag."""

    snapshot_id: int
    type: str
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None


class Statistics(msgspec.Struct, frozen=True, rename="kebab"):
    """A file of statistics."""

    snapshot_id: int


class Metadata(msgspec.Struct, frozen=True, rename="kebab"):
    """The part of a metadata file that upkeep reads."""

    format_version: int
    default_spec_id: int = 0
    default_sort_order_id: int = 0
    properties: dict[str, str] = {}
    current_snapshot_id: int | None = None
    snapshots: list[Snapshot] = []
    refs: dict[str, Ref] = {}
    statistics: list[Statistics] = []
    metadata_log: list[Any] = []

    def number(self, name: str, default: int) -> int:
        """A property that is a number above 0; the default if there is none such."""
        text = self.properties.get(name, "").strip()
        return whole_number(text, INT64_MAX) or default

    @property
    def by_id(self) -> dict[int, Snapshot]:
        """Its snapshots by their ids."""
        return {one.snapshot_id: one for one in self.snapshots}

    @property
    def current(self) -> Snapshot | None:
        """The state that readers see; None if nothing was ever written."""
        return self.by_id.get(self.current_snapshot_id or -1)

    @property
    def all_refs(self) -> dict[str, Ref]:
        """Its branches and tags; `main` need not be written down."""
        if self.current is None or MAIN in self.refs:
            return self.refs
        return {**self.refs, MAIN: Ref(self.current.snapshot_id, BRANCH)}


class Expiry(NamedTuple):
    """When snapshots expire."""

    now_ms: int
    older_than_ms: int
    keep: int
    """So many of each branch stay, however old."""


class Expiring(NamedTuple):
    """What an expiry takes away."""

    snapshots: frozenset[int]
    refs: frozenset[str]


def expiring(table: Metadata, expiry: Expiry) -> Expiring:
    """What goes. Branches and tags keep what they hold, unless they are too old themselves."""
    by_id = table.by_id
    kept_refs = {
        name: ref
        for name, ref in table.all_refs.items()
        if name == MAIN or _is_young(by_id.get(ref.snapshot_id), ref, table, expiry.now_ms)
    }
    kept = {ref.snapshot_id for ref in kept_refs.values()}
    led_to = set(kept)
    for ref in kept_refs.values():
        if ref.type == BRANCH:
            line = list(ancestors(by_id, ref.snapshot_id))
            led_to |= {one.snapshot_id for one in line}
            kept |= _kept_of_branch(line, ref, expiry)
    kept |= {
        one.snapshot_id
        for one in table.snapshots
        if one.snapshot_id not in led_to and one.timestamp_ms >= expiry.older_than_ms
    }
    return Expiring(frozenset(by_id.keys() - kept), frozenset(table.refs.keys() - kept_refs.keys()))


def ancestors(by_id: Mapping[int, Snapshot], id: int | None) -> Iterator[Snapshot]:
    """A snapshot and those before it, as far as they are known."""
    seen: set[int] = set()
    while id is not None and id in by_id and id not in seen:
        seen.add(id)
        yield by_id[id]
        id = by_id[id].parent_snapshot_id


def changed_since_statistics(table: Metadata) -> int | None:
    """How many rows were changed since there were statistics; None if there are none."""
    known = {one.snapshot_id for one in table.statistics}
    changed = 0
    for snapshot in ancestors(table.by_id, table.current_snapshot_id):
        if snapshot.snapshot_id in known:
            return changed
        changed += snapshot.changed_records
    return None


def _is_young(snapshot: Snapshot | None, ref: Ref, table: Metadata, now_ms: int) -> bool:
    most = ref.max_ref_age_ms
    if most is None:
        most = table.number(REF_AGE, _FOREVER_MS)
    return snapshot is not None and now_ms - snapshot.timestamp_ms <= most


def _kept_of_branch(line: list[Snapshot], ref: Ref, expiry: Expiry) -> set[int]:
    """Those of a branch that stay, from its newest on: the first that goes takes all before it."""
    age_ms, least = ref.max_snapshot_age_ms, ref.min_snapshots_to_keep
    older_than_ms = expiry.older_than_ms if age_ms is None else expiry.now_ms - age_ms
    keep = expiry.keep if least is None else least
    kept: set[int] = set()
    for one in line:
        if len(kept) >= keep and one.timestamp_ms < older_than_ms:
            break
        kept.add(one.snapshot_id)
    return kept
