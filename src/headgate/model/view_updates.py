"""Changes of a view's metadata: the updates that a commit may bring, and what they do."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from headgate.errors import BadMetadata, DuplicateDialect
from headgate.limits import VIEW_UPDATES_MAX
from headgate.model import json_values, schemas
from headgate.model.json_values import Int32, Object
from headgate.model.tagged_values import check_count
from headgate.model.view_metadata import (
    FORMAT_VERSION,
    LogEntry,
    ViewMetadata,
    ViewVersion,
    check_format_version,
    read_version,
    schema_id,
)

HISTORY_PROPERTY = "version.history.num-entries"
HISTORY_VERSIONS = 10  # kept unless that property says otherwise
DROP_DIALECT_PROPERTY = "replace.drop-dialect.allowed"
LAST_ADDED = -1
ID_MAX = 2**31 - 1
WHAT = "update of a view"


@dataclass
class _Draft:
    """The view as the updates have changed it so far."""

    metadata: ViewMetadata
    now_ms: int
    last_schema_id: int | None = None
    last_version_id: int | None = None
    new_version_ids: set[int] = field(default_factory=set)
    log_entry: LogEntry | None = None  # of the last change of the current version only

    def change(self, **fields: object) -> None:
        self.metadata = replace(self.metadata, **fields)


class _Action(Struct):
    action: str


class _AssignUuid(Struct):
    uuid: str

    def apply(self, draft: _Draft) -> None:
        if self.uuid.lower() != draft.metadata.view_uuid.lower():
            raise BadMetadata("Cannot reassign uuid")


class _UpgradeFormatVersion(Struct, rename="kebab"):
    format_version: Int32

    def apply(self, draft: _Draft) -> None:
        if self.format_version < draft.metadata.format_version:
            raise BadMetadata(f"Cannot downgrade v{FORMAT_VERSION} view to v{self.format_version}")
        check_format_version(self.format_version)


class _AddSchema(Struct):
    schema: Object

    def apply(self, draft: _Draft) -> None:
        _add_schema(draft, self.schema)


class _SetLocation(Struct):
    location: str

    def apply(self, draft: _Draft) -> None:
        draft.change(location=self.location)


class _SetProperties(Struct):
    updates: dict[str, str] | None = None
    updated: dict[str, str] | None = None  # as older clients say it

    def apply(self, draft: _Draft) -> None:
        updates = self.updates or self.updated or {}
        draft.change(properties={**draft.metadata.properties, **updates})


class _RemoveProperties(Struct):
    removals: set[str] | None = None
    removed: set[str] | None = None  # as older clients say it

    def apply(self, draft: _Draft) -> None:
        removals = self.removals or self.removed or set()
        kept = {k: v for k, v in draft.metadata.properties.items() if k not in removals}
        draft.change(properties=kept)


class _AddViewVersion(Struct, rename="kebab"):
    view_version: Object

    def apply(self, draft: _Draft) -> None:
        _add_version(draft, read_version(self.view_version))


class _SetCurrentViewVersion(Struct, rename="kebab"):
    view_version_id: Int32

    def apply(self, draft: _Draft) -> None:
        _set_current(draft, self.view_version_id)


_Update = (
    _AssignUuid
    | _UpgradeFormatVersion
    | _AddSchema
    | _SetLocation
    | _SetProperties
    | _RemoveProperties
    | _AddViewVersion
    | _SetCurrentViewVersion
)
_UPDATES: dict[str, type[_Update]] = {
    "assign-uuid": _AssignUuid,
    "upgrade-format-version": _UpgradeFormatVersion,
    "add-schema": _AddSchema,
    "set-location": _SetLocation,
    "set-properties": _SetProperties,
    "remove-properties": _RemoveProperties,
    "add-view-version": _AddViewVersion,
    "set-current-view-version": _SetCurrentViewVersion,
}


def apply(metadata: ViewMetadata, raw_list: Sequence[object], *, now_ms: int) -> ViewMetadata:
    """The view after all updates, the same object if they change nothing."""
    check_count(len(raw_list), VIEW_UPDATES_MAX)
    draft = _Draft(metadata, now_ms)
    for raw in raw_list:
        _read(raw).apply(draft)
    if draft.log_entry:
        draft.change(version_log=(*draft.metadata.version_log, draft.log_entry))
    if draft.metadata == metadata:
        return metadata
    _check_dialects_kept(metadata.current_version, draft.metadata)
    return _trimmed(draft.metadata, draft.new_version_ids)


def check_version(version: ViewVersion) -> None:
    """A version says something, and each dialect once."""
    if not version.representations:
        raise BadMetadata("Invalid view version: it has no representations")
    seen: set[str] = set()
    for dialect in version.dialects:
        if dialect in seen:
            raise DuplicateDialect(
                f"Invalid view version: Cannot add multiple queries for dialect {dialect}"
            )
        seen.add(dialect)


def history_versions(properties: dict[str, str]) -> int:
    """How many versions the view keeps."""
    text = properties.get(HISTORY_PROPERTY, str(HISTORY_VERSIONS))
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number <= 0:
        raise BadMetadata(f"{HISTORY_PROPERTY} must be positive but was {text[:80]}")
    return number


def _read(raw: object) -> _Update:
    value = json_values.builtins(raw, WHAT)
    action = json_values.convert(value, _Action, WHAT).action
    kind = _UPDATES.get(action.lower())
    if not kind:
        raise BadMetadata(f"Cannot apply update {action[:80]} to a view")
    update: _Update = json_values.convert(value, kind, f"{action}, an update of a view")
    return update


def _add_schema(draft: _Draft, schema: Object) -> None:
    """An equal schema is not added again; the version that follows may refer to either as last."""
    schemas.columns(schema)
    known = draft.metadata.schemas
    id = next((schema_id(each) for each in known if _same_schema(each, schema)), None)
    if id is None:
        id = _checked_id(max(draft.metadata.schema_ids) + 1)
        draft.change(schemas=(*known, {**schema, "schema-id": id}))
    draft.last_schema_id = id


def _same_schema(one: Object, other: Object) -> bool:
    return {**one, "schema-id": 0} == {**other, "schema-id": 0}


def _add_version(draft: _Draft, version: ViewVersion) -> None:
    """An equal version is not added again. A new one gets the id it asks for, unless a later
    version has that already: its client did not see the newest ones."""
    if version.schema_id == LAST_ADDED:
        if draft.last_schema_id is None:
            raise BadMetadata("Cannot set last added schema: no schema has been added")
        version = replace(version, schema_id=draft.last_schema_id)
    if version.schema_id not in draft.metadata.schema_ids:
        raise BadMetadata(f"Cannot add version with unknown schema: {version.schema_id}")
    check_version(version)
    known = draft.metadata.versions
    same = next((each for each in known if _same_version(each, version)), None)
    if same:
        draft.last_version_id = same.version_id
        return
    id = _checked_id(max(version.version_id, max(draft.metadata.version_ids) + 1))
    draft.change(versions=(*known, replace(version, version_id=id)))
    draft.last_version_id = id
    draft.new_version_ids.add(id)


def _checked_id(id: int) -> int:
    """Without this one request could make a view that nobody can read."""
    if id > ID_MAX:
        raise BadMetadata(f"Invalid view: there is no id after {ID_MAX}")
    return id


def _same_version(one: ViewVersion, other: ViewVersion) -> bool:
    """Whether two versions mean the same, whenever and under whatever id they were made."""
    return one == replace(other, version_id=one.version_id, timestamp_ms=one.timestamp_ms)


def _set_current(draft: _Draft, id: int) -> None:
    if id == LAST_ADDED:
        if draft.last_version_id is None:
            raise BadMetadata("Cannot set last version id: no current version id has been set")
        id = draft.last_version_id
    if id == draft.metadata.current_version_id:
        return
    if id not in draft.metadata.version_ids:
        raise BadMetadata(f"Cannot set current version to unknown version: {id}")
    is_new = id in draft.new_version_ids
    timestamp_ms = draft.metadata.version(id).timestamp_ms if is_new else draft.now_ms
    draft.change(current_version_id=id)
    draft.log_entry = LogEntry(version_id=id, timestamp_ms=timestamp_ms)


def _check_dialects_kept(previous: ViewVersion, metadata: ViewMetadata) -> None:
    if metadata.properties.get(DROP_DIALECT_PROPERTY, "false").lower() == "true":
        return
    before, after = set(previous.dialects), set(metadata.current_version.dialects)
    if not before <= after:
        raise BadMetadata(
            f"Cannot replace view due to loss of view dialects ({DROP_DIALECT_PROPERTY}=false)",
            why=f"previous dialects are {sorted(before)}, new dialects are {sorted(after)}",
            fix=f"Say the view in all of these, or set {DROP_DIALECT_PROPERTY}=true",
        )


def _trimmed(metadata: ViewMetadata, new_ids: set[int]) -> ViewMetadata:
    """Without its oldest versions, and without the log up to the last of those it names."""
    history = history_versions(metadata.properties)
    keep = max(history, len(new_ids | {metadata.current_version_id}))
    if len(metadata.versions) <= keep:
        return metadata
    others = sorted(set(metadata.version_ids) - {metadata.current_version_id})
    kept = {metadata.current_version_id, *others[len(others) - keep + 1 :]}
    log: list[LogEntry] = []
    for entry in metadata.version_log:
        if entry.version_id in kept:
            log.append(entry)
        else:
            log.clear()  # a history has no gaps
    versions = tuple(each for each in metadata.versions if each.version_id in kept)
    return replace(metadata, versions=versions, version_log=tuple(log))
