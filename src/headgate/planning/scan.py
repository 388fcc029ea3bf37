"""Scan planning: from a request and a table's metadata to file scan tasks. Runs in a worker."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import msgspec
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntryStatus, ManifestFile
from pyiceberg.types import IcebergType

from headgate.errors import BadRequest, PlanNotFound, PlanTaskNotFound
from headgate.limits import (
    PLAN_ANSWER_BYTES,
    PLAN_INLINE_FILES_MAX,
    PLAN_INLINE_MANIFESTS_MAX,
    PLAN_RESIDUALS_BYTES_MAX,
    PLAN_TASKS_BYTES_MAX,
)
from headgate.planning import filters, manifests, requests, table
from headgate.planning.content_files import content_file
from headgate.planning.deletes import DeleteIndex
from headgate.planning.files import OpenFiles
from headgate.planning.manifests import Entry
from headgate.planning.partitions import comparable_partition
from headgate.planning.pruning import Pruning
from headgate.planning.table import Snapshot, Table
from headgate.planning.tokens import (
    VERSION,
    Pinned,
    pack,
    plan_id,
    shown,
    unpack_plan,
    unpack_task,
)

TASK_BYTES = 400  # of one file without its residual, about


def plan(files: OpenFiles, metadata: bytes, request: bytes) -> Iterator[bytes]:
    """PlanTableScanResult, always completed: pyiceberg cannot wait."""
    parsed = table.parse(metadata)
    pinned = pin(parsed, requests.parse(request))
    answer = {"status": "completed", "plan-id": plan_id(pinned)}
    yield msgspec.json.encode(answer | Scan(parsed, pinned, files).result())


def fetch_plan(files: OpenFiles, metadata: bytes, id: bytes) -> Iterator[bytes]:
    """FetchPlanningResult: the same plan, made again."""
    parsed = table.parse(metadata)
    token = id.decode()
    pinned = unpack_plan(token)
    if pinned.filter is None or not _is_kept(parsed, pinned):
        raise PlanNotFound(f"Plan does not exist: {shown(token)}", why="it is over")
    yield msgspec.json.encode({"status": "completed"} | Scan(parsed, pinned, files).result())


def fetch_tasks(files: OpenFiles, metadata: bytes, task: bytes) -> Iterator[bytes]:
    """FetchScanTasksResult: the tasks of some manifests."""
    parsed = table.parse(metadata)
    token = task.decode()
    pinned = unpack_task(token)
    if not _is_kept(parsed, pinned):
        raise PlanTaskNotFound(f"Plan task does not exist: {shown(token)}", why="it is over")
    scan = Scan(parsed, pinned, files)
    yield msgspec.json.encode(scan.tasks([manifest for _, manifest in scan.chosen()]))


def pin(parsed: Table, request: requests.PlanRequest) -> Pinned:
    """What a request means at this moment."""
    snapshot = _wanted(parsed, request)
    schema = parsed.schema_id
    if request.use_snapshot_schema and snapshot and snapshot.schema_id is not None:
        schema = snapshot.schema_id
    if not parsed.has_schema(schema):
        raise BadRequest("Cannot plan the scan", why=f"the table has no schema {schema} any more")
    return Pinned(
        version=VERSION,
        snapshot=snapshot.snapshot_id if snapshot else None,
        start=request.start_snapshot_id,
        schema=schema,
        case_sensitive=request.case_sensitive is not False,
        filter=request.wanted_rows,
        stats=request.stats_fields or [],
        rows=request.min_rows_requested,
    )


def _wanted(parsed: Table, request: requests.PlanRequest) -> Snapshot | None:
    if request.end_snapshot_id is None:
        if request.snapshot_id is None:
            return parsed.current()
        return _known(parsed, request.snapshot_id)
    end = _known(parsed, request.end_snapshot_id)
    start = request.start_snapshot_id
    if start != end.snapshot_id and all(
        ancestor.parent_snapshot_id != start for ancestor in parsed.ancestors(end)
    ):
        raise BadRequest(
            f"Starting snapshot (exclusive) {start} is not a parent ancestor of "
            f"end snapshot {end.snapshot_id}"
        )
    return end


def _known(parsed: Table, id: int) -> Snapshot:
    snapshot = parsed.snapshot(id)
    if snapshot is None:
        raise BadRequest(f"Cannot find snapshot with ID {id}", why="the table has none of this id")
    return snapshot


def _is_kept(parsed: Table, pinned: Pinned) -> bool:
    """Whether what was pinned still exists: snapshots and schemas can be removed meanwhile."""
    if not parsed.has_schema(pinned.schema):
        return False
    return pinned.snapshot is None or parsed.snapshot(pinned.snapshot) is not None


@dataclass(frozen=True)
class DeleteSources:
    """What an index of deletes is made from. All of it counts: nobody gets another's index."""

    files: OpenFiles
    manifests: tuple[str, ...]
    shape: bytes
    pinned: Pinned
    make: Callable[[], DeleteIndex] = field(compare=False)

    def __hash__(self) -> int:
        return hash((self.manifests, self.shape))


@lru_cache(1)
def _delete_index(sources: DeleteSources) -> DeleteIndex:
    """Remembered, because all plan tasks of a large table need the same deletes, one by one."""
    return sources.make()


class Scan:
    """One scan of a snapshot, or of what was appended up to it."""

    def __init__(self, parsed: Table, pinned: Pinned, files: OpenFiles) -> None:
        self._table = parsed
        self._pinned = pinned
        self._files = files
        self._schema = parsed.schema_of(pinned.schema)
        self._pruning = Pruning(
            filters.parse(pinned.filter or b"true"),
            self._schema,
            parsed.specs,
            case_sensitive=pinned.case_sensitive,
        )

    def result(self) -> dict[str, Any]:
        """All tasks if they are few, else plan tasks for groups of manifests."""
        chosen = list(self._enough(self.chosen()))
        files = sum(live_files(manifest) for _, manifest in chosen)
        if files <= self._files_max and len(chosen) <= PLAN_INLINE_MANIFESTS_MAX:
            return self.tasks([manifest for _, manifest in chosen])
        return {"plan-tasks": list(self._plan_tasks(chosen))}

    @property
    def _files_max(self) -> int:
        """Fewer files than usual where a long filter comes back with each."""
        return min(
            PLAN_INLINE_FILES_MAX,
            PLAN_ANSWER_BYTES // (TASK_BYTES + len(self._pinned.filter or b"")),
        )

    def tasks(self, data: Sequence[ManifestFile]) -> dict[str, Any]:
        """The tasks of some manifests, with the delete files they refer to."""
        references: dict[tuple[str, int | None], int] = {}
        delete_files: list[dict[str, Any]] = []
        tasks = []
        rows = residuals = 0
        deletes = self._delete_index(data)
        for entry, partition in self._matching(data):
            task: dict[str, Any] = {"data-file": self._json(entry.file)}
            indexes = []
            for file in deletes.for_file(entry):
                key = (file.file_path, file[manifests.CONTENT_OFFSET])
                if key not in references:
                    references[key] = len(delete_files)
                    delete_files.append(self._json(file))
                indexes.append(references[key])
            if indexes:
                task["delete-file-references"] = indexes
            residual = self._pruning.residual(entry.file.spec_id, partition)
            task["residual-filter"] = residual
            tasks.append(task)
            residuals += len(bytes(residual))
            if residuals > PLAN_RESIDUALS_BYTES_MAX:
                raise _too_long(len(tasks))
            if not indexes and bytes(residual) == b"true":
                rows += entry.file.record_count
            if self._pinned.rows is not None and rows >= self._pinned.rows:
                break
        found: dict[str, Any] = {"file-scan-tasks": tasks}
        if delete_files:
            found["delete-files"] = delete_files
        return found

    def chosen(self) -> Iterator[tuple[int, ManifestFile]]:
        """The data manifests that may hold matching files, with their positions."""
        all_positions = range(len(self._manifests))
        for position in all_positions if self._pinned.manifests is None else self._pinned.manifests:
            manifest = self._manifests[position] if position in all_positions else None
            if manifest and manifest.content == ManifestContent.DATA and self._may_match(manifest):
                yield position, manifest

    def _may_match(self, manifest: ManifestFile) -> bool:
        if manifest.added_files_count == 0 and manifest.existing_files_count == 0:
            return False
        return self._pruning.may_match_manifest(manifest)

    @cached_property
    def _manifests(self) -> list[ManifestFile]:
        if self._pinned.snapshot is None:
            return []
        end = self._table.snapshot(self._pinned.snapshot)
        assert end is not None
        if self._pinned.start is None:
            return manifests.manifest_list(self._files, end)
        found: dict[str, ManifestFile] = {}
        for snapshot in self._appended:
            for manifest in manifests.manifest_list(self._files, snapshot):
                if manifest.added_snapshot_id in self._appended_ids:
                    found.setdefault(manifest.manifest_path, manifest)
        return list(found.values())

    @cached_property
    def _appended(self) -> list[Snapshot]:
        """The appends between the start, which is left out, and the end."""
        assert self._pinned.snapshot is not None
        end = self._table.snapshot(self._pinned.snapshot)
        assert end is not None
        found = []
        for snapshot in self._table.ancestors(end):
            if snapshot.snapshot_id == self._pinned.start:
                break
            if snapshot.appends:
                found.append(snapshot)
        return found

    @cached_property
    def _appended_ids(self) -> frozenset[int]:
        return frozenset(snapshot.snapshot_id for snapshot in self._appended)

    def _matching(self, data: Iterable[ManifestFile]) -> Iterator[tuple[Entry, tuple[Any, ...]]]:
        for manifest, read in manifests.read_ahead(self._files, data):
            for entry in manifests.entries(manifest, read()):
                if not entry.live or not self._is_in_range(entry):
                    continue
                partition = comparable_partition(entry.file.partition)
                if self._pruning.may_match(entry.file, partition):
                    yield entry, partition

    def _is_in_range(self, entry: Entry) -> bool:
        return self._pinned.start is None or (
            entry.status == ManifestEntryStatus.ADDED and entry.snapshot_id in self._appended_ids
        )

    def _delete_index(self, data: Sequence[ManifestFile]) -> DeleteIndex:
        """The deletes of the whole snapshot that can concern these manifests."""
        if self._pinned.start is not None or not data:
            return DeleteIndex((), self._table.specs)
        oldest = min(manifest.min_sequence_number for manifest in data)
        concerned = [
            manifest
            for manifest in self._manifests
            if manifest.content == ManifestContent.DELETES
            and manifest.sequence_number >= oldest
            and self._may_match(manifest)
        ]
        return _delete_index(
            DeleteSources(
                self._files,
                tuple(manifest.manifest_path for manifest in concerned),
                self._table.shape,
                msgspec.structs.replace(self._pinned, stats=[], rows=None, manifests=None),
                lambda: DeleteIndex(self._live_deletes(concerned), self._table.specs),
            )
        )

    def _live_deletes(self, concerned: Iterable[ManifestFile]) -> Iterator[Entry]:
        for manifest, read in manifests.read_ahead(self._files, concerned):
            for entry in manifests.entries(manifest, read()):
                partition = comparable_partition(entry.file.partition)
                if entry.live and self._pruning.may_match_partition(entry.file.spec_id, partition):
                    yield entry

    def _enough(
        self, chosen: Iterable[tuple[int, ManifestFile]]
    ) -> Iterator[tuple[int, ManifestFile]]:
        """All manifests, or the first ones if these certainly hold as many rows as are wanted."""
        certain = (
            self._pruning.passes_all
            and self._pinned.start is None
            and all(manifest.content == ManifestContent.DATA for manifest in self._manifests)
        )
        rows = 0
        for position, manifest in chosen:
            if certain and self._pinned.rows is not None and rows >= self._pinned.rows > 0:
                return
            rows += (manifest.added_rows_count or 0) + (manifest.existing_rows_count or 0)
            yield position, manifest

    def _plan_tasks(self, chosen: Sequence[tuple[int, ManifestFile]]) -> Iterator[str]:
        """Groups of manifests; larger ones if a long filter would be repeated too often."""
        size = len(pack(self._pinned))
        groups_max = max(1, PLAN_TASKS_BYTES_MAX // size)
        files_max = max(self._files_max, sum(live_files(m) for _, m in chosen) // groups_max)
        manifests_max = max(PLAN_INLINE_MANIFESTS_MAX, len(chosen) // groups_max)
        group: list[int] = []
        files = 0
        for position, manifest in chosen:
            if group and (len(group) >= manifests_max or files + live_files(manifest) > files_max):
                yield self._task(group)
                group, files = [], 0
            group.append(position)
            files += live_files(manifest)
        yield self._task(group)

    def _task(self, positions: list[int]) -> str:
        return pack(msgspec.structs.replace(self._pinned, manifests=positions))

    def _json(self, file: DataFile) -> dict[str, Any]:
        return content_file(file, self._partition_types(file.spec_id), self._stats)

    def _partition_types(self, spec_id: int) -> Sequence[IcebergType]:
        return self._types[spec_id]

    @cached_property
    def _types(self) -> dict[int, list[IcebergType]]:
        """Of each spec. Clients know only the current schema: what it lacks is unknown to them."""
        current = self._table.schema_of(self._table.schema_id)
        return {
            id: [field.field_type for field in spec.partition_type(current).fields]
            for id, spec in self._table.specs.items()
        }

    @cached_property
    def _stats(self) -> frozenset[int]:
        found = set()
        for name in self._pinned.stats:
            try:
                found.add(self._schema.find_field(name, self._pinned.case_sensitive).field_id)
            except ValueError:
                continue  # a metadata column, or one of another schema: there are none to send
        return frozenset(found)


def _too_long(files: int) -> BadRequest:
    return BadRequest(
        "The filter is too long to be sent back with every file",
        why=f"after {files} files the answer has more than {PLAN_RESIDUALS_BYTES_MAX >> 20} MB",
        fix="Use a shorter filter, or plan in the client",
    )


def live_files(manifest: ManifestFile) -> int:
    """As far as the manifest list knows; the oldest lists do not, so they count as large."""
    if manifest.added_files_count is None or manifest.existing_files_count is None:
        return PLAN_INLINE_FILES_MAX
    return int(manifest.added_files_count + manifest.existing_files_count)
