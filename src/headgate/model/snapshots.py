"""Snapshots of a table and the branches and tags that point at them."""

from collections.abc import Collection
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from headgate.errors import BadMetadata
from headgate.model.json_arrays import JsonArray
from headgate.model.json_values import Int32, Int64, Json, decode, encode, members

MAIN = "main"
RECENT_MAX = 128  # appended snapshots whose ids are kept apart, so that an append copies few

RefType = Literal["branch", "tag"]


class SnapshotHead(Struct, frozen=True, gc=False, rename="kebab"):
    """What tells one snapshot from another."""

    snapshot_id: Int64
    sequence_number: Int64 = 0


class Snapshot(Struct, frozen=True, rename="kebab"):
    """The fields of a snapshot that a commit looks at."""

    snapshot_id: Int64
    timestamp_ms: Int64
    sequence_number: Int64 = 0
    parent_snapshot_id: Int64 | None = None
    manifest_list: str | None = None
    manifests: list[str] | None = None
    summary: dict[str, str] | None = None
    schema_id: Int32 | None = None
    first_row_id: Int64 | None = None
    added_rows: Int64 | None = None
    key_id: str | None = None

    @property
    def has_parent(self) -> bool:
        """Some writers say -1 where others say nothing."""
        return self.parent_snapshot_id not in {None, -1}


class Ref(Struct, frozen=True, gc=False, rename="kebab"):
    """A branch or a tag."""

    snapshot_id: Int64
    type: RefType
    min_snapshots_to_keep: Int32 | None = None
    max_snapshot_age_ms: Int64 | None = None
    max_ref_age_ms: Int64 | None = None
    unknown: dict[str, Raw] = {}  # members of a file that this version does not know


class Snapshots(JsonArray):
    """The snapshots of a table, encoded. Which ids it has is found out once and then carried on."""

    __slots__ = ("_by_id", "_ids", "_newest", "_recent")

    def __init__(
        self,
        pieces: tuple[Json, ...] = (),
        last: Json | None = None,
        ids: frozenset[int] | None = None,
        recent: dict[int, Json] | None = None,
    ) -> None:
        super().__init__(pieces, last)
        self._ids = ids if pieces else frozenset()  # None until somebody asks
        self._recent = recent or {}
        self._by_id: dict[int, Json] | None = None
        self._newest = 0

    def with_snapshot(self, id: int, snapshot: Json) -> "Snapshots":
        """These snapshots and one more."""
        ids, recent = self._old_ids(), {**self._recent, id: snapshot}
        if len(recent) > RECENT_MAX:
            ids, recent = ids.union(recent), {}
        return Snapshots(self._with(snapshot), snapshot, ids, recent)

    def without(self, ids: Collection[int]) -> "Snapshots":
        """These snapshots but for some."""
        kept = {id: each for id, each in self._all().items() if id not in ids}
        pieces = (b",".join(kept.values()),) if kept else ()
        return Snapshots(pieces, None, frozenset(kept))

    def get(self, id: int) -> Json | None:
        """A snapshot, still encoded."""
        if id not in self:
            return None
        return self._recent.get(id) or self._all()[id]

    def __contains__(self, id: int) -> bool:
        return id in self._recent or id in self._old_ids()

    def newest_sequence_number(self) -> int:
        """The highest sequence number in the file these snapshots were read from."""
        self._old_ids()
        return self._newest

    def _old_ids(self) -> frozenset[int]:
        if self._ids is None:
            heads = self.read(SnapshotHead, "snapshots")
            ids = frozenset(head.snapshot_id for head in heads)
            if len(ids) != len(heads):
                raise BadMetadata("Invalid snapshots: two have the same id")
            self._newest = max(head.sequence_number for head in heads)
            self._ids = ids
        return self._ids

    def _all(self) -> dict[int, Json]:
        if self._by_id is None:
            heads = self.read(SnapshotHead, "snapshots")
            ids = (head.snapshot_id for head in heads)
            self._by_id = dict(zip(ids, self.elements(), strict=True))
        return self._by_id


NO_SNAPSHOTS = Snapshots()


def check_ref(name: str, ref: Ref) -> None:
    """Retention is positive, tags have none but an age, main is a branch."""
    if ref.type == "tag":
        if name == MAIN:
            raise BadMetadata("Cannot set main to a tag, it must be a branch")
        if ref.min_snapshots_to_keep is not None:
            raise BadMetadata("Tags do not support setting minSnapshotsToKeep")
        if ref.max_snapshot_age_ms is not None:
            raise BadMetadata("Tags do not support setting maxSnapshotAgeMs")
    if ref.min_snapshots_to_keep is not None and ref.min_snapshots_to_keep <= 0:
        raise BadMetadata("Min snapshots to keep must be greater than 0")
    if ref.max_snapshot_age_ms is not None and ref.max_snapshot_age_ms <= 0:
        raise BadMetadata("Max snapshot age must be greater than 0 ms")
    if ref.max_ref_age_ms is not None and ref.max_ref_age_ms <= 0:
        raise BadMetadata("Max reference age must be greater than 0")


def parse_refs(data: Json) -> dict[str, Ref]:
    """The refs of a metadata file by name."""
    return {name: _parse_ref(name, ref) for name, ref in members(data, "refs").items()}


def encode_refs(refs: dict[str, Ref]) -> bytes:
    """Refs as a metadata file has them."""
    return encode({name: _members(ref) for name, ref in refs.items()})


def ref_type(text: str) -> RefType:
    """Which kind of ref is meant, in any case of letters."""
    match text.lower():
        case "branch":
            return "branch"
        case "tag":
            return "tag"
    raise BadMetadata(f"Invalid snapshot ref type: {text[:80]}", fix="Use branch or tag")


def _parse_ref(name: str, data: Json) -> Ref:
    found = members(data, f"ref {name}")
    known = {member: value for member, value in found.items() if member in _REF_MEMBERS}
    type = ref_type(decode(known.pop("type", b"null"), str, f"type of ref {name}"))
    ref: Ref = decode(encode({**known, "type": type}), Ref, f"ref {name}")
    unknown = {member: value for member, value in found.items() if member not in _REF_MEMBERS}
    return msgspec.structs.replace(ref, unknown=unknown)


def _members(ref: Ref) -> dict[str, object]:
    values = {wire: getattr(ref, field) for wire, field in _REF_MEMBERS.items()}
    return {**{wire: value for wire, value in values.items() if value is not None}, **ref.unknown}


_REF_MEMBERS = {
    field.encode_name: field.name
    for field in msgspec.structs.fields(Ref)
    if field.name != "unknown"
}
